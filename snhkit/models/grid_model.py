"""A model that estimates counts of boxes from counts of a grid's cells."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.models.model import OwnSums
from snhkit.models.variance import AxisNoise, BlockNoise, GridNoise, unknown_variance

_NOISES: dict[str, type[GridNoise]] = {noise.kind: noise for noise in (BlockNoise, AxisNoise)}


@dataclass(frozen=True, eq=False)
class GridModel(OwnSums):
    """A model of estimated counts of m by m cells, each spread evenly inside its cell.

    >>> city = Region.around(lat=0, lon=0, side_m=4)
    >>> grid = Grid(city, 2)
    >>> model = GridModel(grid, np.array([[1, 2], [3, 4]]), BlockNoise.independent(2, 8.0))
    >>> boxes = RangeQueries(city, x=[0, 0], y=[0, 0], width=[4, 1], height=[4, 2])
    >>> model.answer(boxes), model.noise_variance(boxes)
    (array([10. ,  0.5]), array([32.,  2.]))
    """

    grid: Grid
    values: NDArray  # records, shape (m, m)
    noise_model: GridNoise | None = None  # of ``values``; None if it is unknown
    kind: ClassVar[str] = "grid"

    @property
    def region(self) -> Region:
        """The region that the model covers."""
        return self.grid.region

    def cells(self) -> Grid:
        """Return the grid of the model."""
        return self.grid

    @cached_property
    def _table(self) -> SummedArea:
        return SummedArea(self.grid, self.values)

    def answer(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the estimated number of records in each of q boxes, shape (q,).

        A box that covers a fraction of a cell's area contains that fraction of the cell's count.
        """
        return self._table.sums(queries)

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the noise variance of each answer, shape (q,); nan if ``noise_model`` is None."""
        if self.noise_model is None:
            return unknown_variance(queries)
        # Where terms cancel, rounding may leave a negative number.
        return np.maximum(self.noise_model.variance(self.grid, queries), 0)

    @property
    def separate(self) -> bool:
        """Whether the counts of different cells are known to have independent noise."""
        return self.noise_model is not None and self.noise_model.separate(self.grid)

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays for a file: the counts, and the arrays of ``noise_model``.

        Whole numbers are returned as 32-bit integers if these can represent them.
        """
        whole = np.issubdtype(self.values.dtype, np.integer)
        fits = whole and -(2**31) < self.values.min(initial=0) <= self.values.max(initial=0) < 2**31
        values = self.values.astype(np.int32) if fits else self.values
        return {"values": values} | ({} if self.noise_model is None else self.noise_model.arrays())

    def settings(self) -> dict[str, Any]:
        """Return the settings of ``noise_model`` for a file; empty if ``noise_model`` is None."""
        if self.noise_model is None:
            return {}
        return {"noise": {"kind": self.noise_model.kind} | self.noise_model.settings()}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "GridModel":
        """Return the model that a file describes; InputError says which array is wrong."""
        if "values" not in arrays:
            raise InputError(
                f"a grid must have an array 'values'; the file holds the arrays {sorted(arrays)}."
            )
        values = arrays["values"]
        if values.ndim != 2 or values.shape[0] != values.shape[1]:
            raise InputError(f"the array 'values' must be square, not of shape {values.shape}.")
        grid = Grid(region, len(values))
        others = {name: array for name, array in arrays.items() if name != "values"}
        told = settings.get("noise")
        if told is None:
            if others:
                raise InputError(
                    "the settings describe no noise, so 'values' must be the only array; remove "
                    f"{sorted(others)}."
                )
            return cls(grid, values)
        if not isinstance(told, dict):
            raise InputError(f"the setting 'noise' must be a JSON object, not {str(told)[:60]!r}.")
        kind = str(told.get("kind"))
        if kind not in _NOISES:
            raise InputError(
                f"the kind of noise {kind[:60]!r} is unknown to this version of snhkit."
            )
        return cls(grid, values, _NOISES[kind].restore(grid, others, told))
