"""The extent of the measurements for a figure of the paper's evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Effort"]


@dataclass(frozen=True)
class Effort:
    """The methods, settings and sample sizes for measuring a figure of the paper."""

    further: Sequence[str]  # methods besides those that the paper compares
    epsilons: Sequence[str]
    seeds: Sequence[int]
    queries: int
    most: int  # records; of a larger data set, a random sample is used
    steps: int  # of the paper's network, which its authors train for 10,000 epochs on a GPU
    batch: int

    @classmethod
    def of(cls, quick: bool) -> "Effort":
        """Return the settings of a quick measurement if ``quick``, else of a full one."""
        if quick:
            return cls((), ("0.05", "0.2", "0.8"), (0,), 1_500, 60_000, 200, 2_048)
        further = ("quadtree", "hb2d", "privelet", "hdmm")
        epsilons = ("0.05", "0.1", "0.2", "0.4", "0.8")
        return cls(further, epsilons, (0, 1, 2), 5_000, 10**9, 1_000, 4_096)

    def with_one_seed(self) -> "Effort":
        """Return the same effort with the first seed only, for networks that train for minutes."""
        return replace(self, seeds=self.seeds[:1])

    @property
    def training(self) -> dict[str, Any]:
        """Arguments of ``Networks.paper`` that shorten the training of its networks."""
        return {
            "steps": self.steps,
            "batch": self.batch,
            "learning_rate": 0.002,
            "schedule": "cosine",
        }
