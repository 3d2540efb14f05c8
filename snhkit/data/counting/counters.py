"""Counters of the records in boxes, and in cells other than those of a grid."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.grid_counter import GridCounter
from snhkit.data.reading.defects import possible
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region, exact_counts
from snhkit.geometry.histogram import Cells
from snhkit.geometry.lookup import CellLookup

__all__ = ["BoxCounter", "CellCounter", "PartitionCounter", "PlaceCounter", "counter_of"]


class PlaceCounter:
    """Base class of counters that convert each position exactly from degrees to metres.

    Parameters
    ----------
    region : Region
        The region in which records are counted.
    size : int
        The number of cells or boxes.
    """

    def __init__(self, region: Region, size: int) -> None:
        self.region = region
        self.total = np.zeros(size, np.int64)

    def add(
        self,
        lat: NDArray[np.float64],
        lon: NDArray[np.float64],
        person: NDArray[np.int64] | None = None,
        time: NDArray[np.int64] | None = None,
    ) -> tuple[int, NDArray[np.int64]]:
        """Count positions given in degrees.

        Returns
        -------
        inside : int
            The number of positions in the region.
        unusable : ndarray of int
            The indices of the positions that are not valid degrees.
        """
        usable, _, xy = self.inside(lat, lon)
        self.add_places(xy)
        return len(xy), np.flatnonzero(~usable)

    def inside(
        self, lat: NDArray[np.float64], lon: NDArray[np.float64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
        """Return which of n positions in degrees lie in the region, and these positions in metres.

        Returns
        -------
        usable : ndarray of bool, shape (n,)
            Whether each position is valid in degrees.
        inside : ndarray of bool, shape (u,)
            Whether each of the u usable positions is in the region.
        xy : ndarray, shape (k, 2)
            The k positions in the region, in metres from its lower-left corner.
        """
        usable = possible(lat, lon)
        xy = self.region.to_xy(lat[usable], lon[usable])
        inside = self.region.contains(xy)
        return usable, inside, xy[inside]

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n positions that all lie in the region, given in metres, shape (n, 2)."""
        raise NotImplementedError

    def merge(self, other: "PlaceCounter") -> None:
        """Add the counts of another counter of the same cells."""
        self.total += other.total


class PartitionCounter(PlaceCounter):
    """Counter of the records in each cell of a partition into rectangles.

    Parameters
    ----------
    lookup : CellLookup
        Finds the cell of each position.
    cells : Partition
        The cells.
    """

    def __init__(self, lookup: CellLookup, cells: Partition) -> None:
        super().__init__(cells.region, len(cells))
        self._lookup = lookup

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n positions that all lie in the region, given in metres, shape (n, 2)."""
        np.add.at(self.total, self._lookup.of(xy), 1)


class CellCounter(PlaceCounter):
    """Counter of the records in each cell of any partition that has a method ``count``.

    Parameters
    ----------
    cells : Cells
        The cells.
    """

    def __init__(self, cells: Cells) -> None:
        super().__init__(cells.region, cells.count(Points(cells.region, [])).counts.size)
        self._cells = cells

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n positions that all lie in the region, given in metres, shape (n, 2)."""
        self.total += self._cells.count(Points(self.region, xy)).counts.ravel()


class BoxCounter(PlaceCounter):
    """Counter of the records in each of several boxes, which may overlap.

    Parameters
    ----------
    queries : RangeQueries
        The boxes.
    """

    def __init__(self, queries: RangeQueries) -> None:
        super().__init__(queries.region, len(queries))
        self._queries = queries

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n positions that all lie in the region, given in metres, shape (n, 2)."""
        self.total += exact_counts(Points(self.region, xy), self._queries)


def counter_of(what: Cells | RangeQueries) -> Callable[[], GridCounter | PlaceCounter]:
    """Return a function that makes a new counter of cells or boxes.

    The counter's attribute ``total`` holds the counts.

    Parameters
    ----------
    what : Grid, Partition, PolygonPartition or RangeQueries
        The cells or boxes to count.
    """
    if isinstance(what, Grid):
        return lambda: GridCounter(what)
    if isinstance(what, Partition):
        lookup = CellLookup(what)
        return lambda: PartitionCounter(lookup, what)
    if isinstance(what, RangeQueries):
        return lambda: BoxCounter(what)
    return lambda: CellCounter(what)
