"""How much is measured for a figure of the paper's evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Effort"]


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Parameters
    ----------
    epsilons : sequence of str
        Values of epsilon.
    seeds : sequence of int
        Research seeds.
    queries : int
        Squares of each measurement.
    most : int
        Largest number of records of a data set; larger ones are thinned.
    steps : int
        Training steps of the paper's fully connected network.
    """

    epsilons: Sequence[str]
    seeds: Sequence[int]
    queries: int
    most: int
    steps: int

    @classmethod
    def of(cls, quick: bool) -> "Effort":
        """Return the effort of a quick or of a full run."""
        if quick:
            return cls(("0.05", "0.2", "0.8"), (0,), 1_500, 60_000, 150)
        return cls(("0.05", "0.1", "0.2", "0.4", "0.8"), (0, 1, 2), 5_000, 10**9, 2_500)
