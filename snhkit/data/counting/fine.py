"""Counts of records in a fine grid, whose sums are the counts of coarser grids and quadtrees."""

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Grid, Partition, Region
from snhkit.geometry.dyadic import numbers_at
from snhkit.geometry.lookup import CellLookup

__all__ = ["FINE_DEPTH", "FineCounts", "fine_grid"]

FINE_DEPTH = 12
"""How often the fine grid halves the region along each axis; it has 4,096 by 4,096 cells."""


def fine_grid(region: Region) -> Grid:
    """Return the grid of 4,096 by 4,096 cells over a region."""
    return Grid(region, 1 << FINE_DEPTH)


class FineCounts:
    """Numbers of records in the cells of a grid of 4,096 by 4,096 cells.

    Cells are numbered from 0, column by column: the cell in column i from the west and row j from
    the south has the number i * 4096 + j. Empty cells are not stored if this saves memory.

    Parameters
    ----------
    counts : ndarray of int, shape (4096 * 4096,)
        The number of records in each cell, in the order of the cells' numbers.
    """

    def __init__(self, counts: NDArray[np.integer]) -> None:
        held = np.count_nonzero(counts)
        if held * (counts.itemsize + np.dtype(np.int32).itemsize) < counts.nbytes:
            self._at: NDArray[np.int32] | None = np.flatnonzero(counts).astype(np.int32)
            self._counts = counts[self._at]
        else:
            self._at, self._counts = None, counts

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self._counts.sum(dtype=np.int64))

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the cells that hold records, ascending, and their counts."""
        if self._at is not None:
            return self._at.astype(np.int64), self._counts.astype(np.int64)
        at = np.flatnonzero(self._counts)
        return at, self._counts[at].astype(np.int64)

    def grid(self, depth: int) -> NDArray[np.int64]:
        """Return the counts of a grid of 2^depth cells per side, shape (4^depth,), by column."""
        at, counts = self.occupied()
        column, row = _coarser(at, depth)
        total = np.zeros(1 << 2 * depth, np.int64)
        np.add.at(total, column << depth | row, counts)
        return total

    def partition(self, cells: Partition) -> NDArray[np.int64]:
        """Return the counts of c cells, shape (c,), which are unions of cells of the fine grid."""
        at, counts = self.occupied()
        edges = fine_grid(cells.region).edges()
        column, row = _coarser(at, FINE_DEPTH)
        total = np.zeros(len(cells), np.int64)
        corners = np.stack([edges[column], edges[row]], axis=1)
        np.add.at(total, CellLookup(cells).of(corners), counts)
        return total

    def squares(self, depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which squares of a quadtree hold records, and the number of records in each.

        The tree divides the region into 2^depth by 2^depth squares.

        Returns
        -------
        number : ndarray of int, shape (s,)
            The s squares that hold records, ascending, as numbered by
            ``snhkit.geometry.dyadic.square_of``.
        count : ndarray of int, shape (s,)
            The number of records in each of these squares.
        """
        at, counts = self.occupied()
        number, which = np.unique(numbers_at(*_coarser(at, depth)), return_inverse=True)
        total = np.zeros(number.size, np.int64)
        np.add.at(total, which, counts)
        return number, total


def _coarser(at: NDArray[np.int64], depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    up = FINE_DEPTH - depth
    return at >> FINE_DEPTH + up, (at & ((1 << FINE_DEPTH) - 1)) >> up
