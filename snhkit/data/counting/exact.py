"""Exact counts of records in files; the files are read again if counts in memory do not suffice."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, Histogram, Partition, Points, RangeQueries, Region
from snhkit.geometry.dyadic import numbers_at
from snhkit.geometry.histogram import Cells, refuse_unproven
from snhkit.geometry.partition import CellLookup
from snhkit.geometry.strata import By

if TYPE_CHECKING:
    from snhkit.data.counting.counters import Draw

_DRAWN = 100_000  # about as many records are drawn for ``ExactCounts.some``

FINE_DEPTH = 12
"""How often the fine grid halves the region along each axis; it has 4,096 by 4,096 cells."""


def fine_grid(region: Region) -> Grid:
    """Return the grid of 4,096 by 4,096 cells over a region."""
    return Grid(region, 1 << FINE_DEPTH)


class ExactCounts:
    """Exact counts of records that stay in files or in a frame, a ``snhkit.privacy.CountSource``.

    Records are counted in a fine grid once; for cells that are no unions of its cells, ``read``
    reads and counts all of them again.
    """

    max_depth = FINE_DEPTH

    def __init__(
        self, region: Region, read: "Callable[[Cells | RangeQueries | Draw], Any]",
        divide: "Callable[[By], Callable[[], Iterator[ExactCounts]]] | None" = None,
        tz: str | None = None, n: int | None = None,
    ) -> None:  # fmt: skip
        self.region, self._read, self._divide = region, read, divide
        self.tz = tz  # of the clock on which strata divide the records
        self._n = int(self._fine[1].sum(dtype=np.int64)) if n is None else n

    @cached_property
    def _fine(self) -> tuple[NDArray[np.int32], NDArray[np.integer]]:
        """The numbers, ascending, and counts of the cells of the fine grid that hold records."""
        counts = self._read(fine_grid(self.region))
        at = np.flatnonzero(counts).astype(np.int32)
        return at, counts[at]

    def _squares(
        self, depth: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.integer]]:
        """Return the column, the row and the count of parts of squares of a quadtree."""
        at, counts = self._fine
        up = FINE_DEPTH - depth
        row = at.astype(np.int64) & ((1 << FINE_DEPTH) - 1)
        return at.astype(np.int64) >> FINE_DEPTH + up, row >> up, counts

    def n(self) -> int:
        """Return the number of records."""
        return self._n

    def count(self, cells: Cells) -> Histogram:
        """Return the number of records in each cell of a grid or a partition."""
        refuse_unproven(cells)
        self.region.refuse_other(cells.region, "scan: the cells")
        if isinstance(cells, Grid):
            depth = cells.m.bit_length() - 1
            if cells.m != 1 << depth or depth > FINE_DEPTH:
                found = self._read(cells)
            else:
                column, row, counts = self._squares(depth)
                found = np.bincount(column << depth | row, counts, cells.m**2)
            return Histogram(cells, found.astype(np.int64).reshape(cells.m, cells.m))
        if isinstance(cells, Partition) and _of_fine_cells(cells):
            column, row, counts = self._squares(FINE_DEPTH)
            edges = fine_grid(cells.region).edges()
            corners = np.stack([edges[column], edges[row]], axis=1)
            found = np.bincount(CellLookup(cells).of(corners), counts, len(cells))
        else:
            found = self._read(cells)
        return Histogram(cells, found.astype(np.int64))

    def squares(self, depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which squares of a quadtree hold records, and how many; see ``CountSource``."""
        if not 0 <= depth <= FINE_DEPTH:
            raise InputError(f"scan: the depth must be from 0 to {FINE_DEPTH}, not {depth}.")
        column, row, counts = self._squares(depth)
        number, which = np.unique(numbers_at(column, row), return_inverse=True)
        return number, np.bincount(which, counts).astype(np.int64)

    def boxes(self, queries: RangeQueries) -> NDArray[np.int64]:
        """Return the number of records in each of q boxes, shape (q,); the boxes may overlap."""
        self.region.refuse_other(queries.region, "scan: the boxes")
        return self._read(queries).astype(np.int64)

    def strata(self, by: By) -> "Callable[[], Iterator[ExactCounts]]":
        """Return a function that divides the records into counts for each stratum, in one pass."""
        if self._divide is None:
            raise InputError("these counts are of a stratum, which cannot be divided again.")
        return self._divide(by)

    @cached_property
    def some(self) -> Points:
        """About 100,000 of the records, chosen at random by a public seed, or all if they are less.

        Only evaluations may use them, and only those of all records of a source.
        """
        from snhkit.data.counting.counters import Collector, Draw  # these need Arrow

        found = Collector(self.region)
        found.merge(self._read(Draw(self.region, min(1.0, _DRAWN / max(self.n(), 1)))))
        return found.points()


def _of_fine_cells(cells: Partition) -> bool:
    """Return whether all edges of a partition are edges of the fine grid."""
    edges = fine_grid(cells.region).edges()
    return all(np.isin(side, edges).all() for side in (cells.x0, cells.y0, cells.x1, cells.y1))
