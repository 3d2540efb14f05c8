"""Answers from irregular cells, taking each to be uniform inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Partition, RangeQueries, Region
from snhkit.geometry.densities import DensityTable
from snhkit.models.cell_noise import CellNoise
from snhkit.models.unknown_noise import unknown_variance

__all__ = ["PartitionModel"]


@dataclass(frozen=True, eq=False)
class PartitionModel:
    """Irregular cells with estimated counts.

    Parameters
    ----------
    partition : Partition
        The cells, made without looking at records but through noise.
    values : ndarray, shape (c,)
        Estimated counts.
    noise : CellNoise, optional
        What is known of their noise.
    """

    partition: Partition
    values: NDArray
    noise: CellNoise | None = None
    kind: ClassVar[str] = "partition"

    @property
    def region(self) -> Region:
        """Where it can be asked."""
        return self.partition.region

    def cells(self) -> Partition:
        """Its own cells."""
        return self.partition

    def additive(self) -> "PartitionModel":
        """Itself."""
        return self

    @cached_property
    def _table(self) -> DensityTable:
        return DensityTable(self.partition, self.values)

    def answer(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Sums over the boxes, shape (q,); part of a cell counts as its share of the area."""
        return self._table.sums(queries)

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Variance of the noise in each answer, shape (q,); nan if its noise is not known."""
        if self.noise is None:
            return unknown_variance(queries)
        return self.noise.of(self.partition, queries)

    @property
    def separate(self) -> bool:
        """Whether each cell is known to have noise of its own."""
        return self.noise is not None and self.noise.coarse is None

    def arrays(self) -> dict[str, NDArray]:
        """Edges in metres, shape (c, 4): x0, y0, x1, y1; the counts; and what their noise needs."""
        p = self.partition
        edges = np.stack([p.x0, p.y0, p.x1, p.y1], axis=1)
        told = {} if self.noise is None else self.noise.arrays()
        return {"edges": edges, "values": self.values} | told

    def settings(self) -> dict[str, Any]:
        """What is known of its noise."""
        return {} if self.noise is None else {"noise": self.noise.settings()}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PartitionModel":
        """Rebuild from a file; that the cells are a partition is proven again."""
        others = {name: a for name, a in arrays.items() if name not in ("edges", "values")}
        told = settings.get("noise")
        if told is not None and not isinstance(told, dict):
            raise InputError(f"noise must be a JSON object, not {str(told)[:60]!r}.")
        if len(arrays) != len(others) + 2 or (others and told is None):
            raise InputError(f"a partition has 'edges' and 'values', not {sorted(arrays)}.")
        edges, values = arrays["edges"], arrays["values"]
        if edges.ndim != 2 or edges.shape[1] != 4 or values.shape != edges.shape[:1]:
            raise InputError(
                f"edges must have shape (c, 4) and values (c,), not {edges.shape}, {values.shape}."
            )
        noise = None if told is None else CellNoise.restore(others, told)
        return cls(Partition(region, *edges.T), values, noise)
