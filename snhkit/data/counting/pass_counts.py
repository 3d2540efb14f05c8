"""Exact counts of records in files; the files are read again if counts in memory do not suffice."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.fine import FINE_DEPTH, FineCounts, fine_grid
from snhkit.errors import InputError
from snhkit.geometry import Grid, Histogram, Partition, RangeQueries, Region
from snhkit.geometry.histogram import Cells, is_proven

__all__ = ["PassCounts"]


class PassCounts(ABC):
    """Base class of counts of records in files; it implements ``snhkit.privacy.CountSource``.

    The constructor reads all records, counts them in a fine grid of 4,096 by 4,096 cells, and keeps
    these counts in memory. If the cells of a grid, partition or quadtree are unions of fine cells,
    the counts in memory are added. For all other cells, all records are read again.

    Parameters
    ----------
    region : Region
        The region in which records are counted.
    """

    max_depth = FINE_DEPTH

    def __init__(self, region: Region) -> None:
        self._region = region
        self._fine = FineCounts(self._total(fine_grid(region)))

    @abstractmethod
    def _total(self, what: Cells | RangeQueries) -> NDArray[np.integer]:
        """Read all records; return their number in each cell or box, as a one-dimensional array."""

    @property
    def region(self) -> Region:
        """The region in which records are counted."""
        return self._region

    def n(self) -> int:
        """Return the number of records."""
        return self._fine.total

    def count(self, cells: Cells) -> Histogram:
        """Return the number of records in each cell of a grid or a partition."""
        if not is_proven(cells):
            raise InputError(
                "only cells that are proven not to overlap can be counted: Grid, Partition or "
                f"PolygonPartition, not a {type(cells).__name__}."
            )
        if cells.region != self._region:
            raise InputError(
                "scan: the records lie in another region than the cells; make the cells "
                "with the region that was given to scan."
            )
        if isinstance(cells, Partition) and _of_fine_cells(cells):
            return Histogram(cells, self._fine.partition(cells))
        if not isinstance(cells, Grid):
            return Histogram(cells, self._total(cells).astype(np.int64))
        depth = cells.m.bit_length() - 1
        if cells.m == 1 << depth and depth <= FINE_DEPTH:
            counts = self._fine.grid(depth)
        else:
            counts = self._total(cells).astype(np.int64)
        return Histogram(cells, counts.reshape(cells.m, cells.m))

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
        if not 0 <= depth <= FINE_DEPTH:
            raise InputError(f"scan: the depth must be from 0 to {FINE_DEPTH}, not {depth}.")
        return self._fine.squares(depth)

    def boxes(self, queries: RangeQueries) -> NDArray[np.int64]:
        """Return the number of records in each of q boxes, shape (q,); the boxes may overlap."""
        if queries.region != self._region:
            raise InputError(
                "scan: the records lie in another region than the boxes; make the boxes "
                "with the region that was given to scan."
            )
        return self._total(queries).astype(np.int64)


def _of_fine_cells(cells: Partition) -> bool:
    """Return whether all edges of a partition are edges of the fine grid."""
    edges = fine_grid(cells.region).edges()
    return all(np.isin(side, edges).all() for side in (cells.x0, cells.y0, cells.x1, cells.y1))
