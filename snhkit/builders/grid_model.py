"""Answers from a grid of noisy counts, taking cells to be uniform inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.geometry.grid import SummedArea

__all__ = ["GridModel"]


@dataclass(frozen=True, eq=False)
class GridModel:
    """A grid of estimated counts.

    Parameters
    ----------
    grid : Grid
        The cells.
    values : ndarray, shape (m, m)
        Estimated counts.
    """

    grid: Grid
    values: NDArray
    kind: ClassVar[str] = "grid"

    @property
    def region(self) -> Region:
        """Where it can be asked."""
        return self.grid.region

    def cells(self) -> Grid:
        """Its own cells."""
        return self.grid

    def parts(self) -> Grid:
        """Its own cells."""
        return self.grid

    @cached_property
    def _table(self) -> SummedArea:
        return SummedArea(self.grid, self.values)

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Sums over the boxes, shape (q,); part of a cell counts as its share of the area."""
        return self._table.sums(queries)

    def arrays(self) -> dict[str, NDArray]:
        """The counts, in 32 bits where they fit."""
        fits = self.values.size == 0 or np.abs(self.values).max() < 2**31
        whole = np.issubdtype(self.values.dtype, np.integer)
        return {"values": self.values.astype(np.int32) if fits and whole else self.values}

    def settings(self) -> dict[str, Any]:
        """Nothing: the counts say it all."""
        return {}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "GridModel":
        """Rebuild from a file."""
        if set(arrays) != {"values"}:
            raise InputError(f"a grid has one array, 'values', not {sorted(arrays)}.")
        values = arrays["values"]
        if values.ndim != 2 or values.shape[0] != values.shape[1]:
            raise InputError(f"the array of a grid must be square, not {values.shape}.")
        return cls(Grid(region, len(values)), values)
