"""A model that estimates counts of boxes from counts of rectangular cells of any sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Partition, RangeQueries, Region
from snhkit.geometry.partition import DensityTable
from snhkit.models.model import OwnSums
from snhkit.models.variance import CellNoise, unknown_variance


@dataclass(frozen=True, eq=False)
class PartitionModel(OwnSums):
    """A model of estimated counts of rectangular cells, each spread evenly inside its cell."""

    partition: Partition
    values: NDArray
    noise_model: CellNoise | None = None
    kind: ClassVar[str] = "partition"

    @property
    def region(self) -> Region:
        """The region that the model covers."""
        return self.partition.region

    def cells(self) -> Partition:
        """Return the partition of the model."""
        return self.partition

    @cached_property
    def _table(self) -> DensityTable:
        return DensityTable(self.partition, self.values)

    def answer(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the estimated number of records in each of q boxes, shape (q,).

        A box that covers a fraction of a cell's area contains that fraction of the cell's count.
        """
        return self._table.sums(queries)

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the noise variance of each answer, shape (q,); nan if ``noise_model`` is None."""
        if self.noise_model is None:
            return unknown_variance(queries)
        return self.noise_model.of(self.partition, queries)

    @property
    def separate(self) -> bool:
        """Whether the counts of different cells are known to have independent noise."""
        return self.noise_model is not None and self.noise_model.coarse is None

    def arrays(self) -> dict[str, NDArray]:
        """Return the cells' edges, the counts, and the arrays of ``noise_model``, for a file.

        The edges x0, y0, x1, y1 of the cells are in metres, shape (c, 4).
        """
        p = self.partition
        edges = np.stack([p.x0, p.y0, p.x1, p.y1], axis=1)
        told = {} if self.noise_model is None else self.noise_model.arrays()
        return {"edges": edges, "values": self.values} | told

    def settings(self) -> dict[str, Any]:
        """Return the settings of ``noise_model`` for a file; empty if ``noise_model`` is None."""
        return {} if self.noise_model is None else {"noise": self.noise_model.settings()}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PartitionModel":
        """Return the model that a file describes; InputError says which array is wrong."""
        others = {name: a for name, a in arrays.items() if name not in ("edges", "values")}
        told = settings.get("noise")
        if told is not None and not isinstance(told, dict):
            raise InputError(f"the setting 'noise' must be a JSON object, not {str(told)[:60]!r}.")
        if len(arrays) != len(others) + 2 or (others and told is None):
            raise InputError(
                f"a partition must have the arrays 'edges' and 'values', not {sorted(arrays)}."
            )
        edges, values = arrays["edges"], arrays["values"]
        if edges.ndim != 2 or edges.shape[1] != 4 or values.shape != edges.shape[:1]:
            raise InputError(
                "the array 'edges' must have shape (c, 4) and the array 'values' shape (c,), not "
                f"{edges.shape} and {values.shape}."
            )
        noise_model = None if told is None else CellNoise.restore(others, told)
        return cls(Partition(region, *edges.T), values, noise_model)
