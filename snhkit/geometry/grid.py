"""A regular grid: counting points into it and answering boxes from it."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry.points import Points
from snhkit.geometry.queries import RangeQueries
from snhkit.geometry.region import Region

if TYPE_CHECKING:
    from snhkit.geometry.partition import Partition

__all__ = ["Grid", "Histogram", "Merged", "SummedArea"]

MAX_CELLS = 2**26
_CHUNK = 65_536  # boxes at a time: their corners stay in cache


@dataclass(frozen=True)
class Grid:
    """A region cut into ``m`` by ``m`` equal, half-open, non-overlapping cells.

    Parameters
    ----------
    region : Region
        What is cut.
    m : int
        Cells a side, at most 8,192.

    Examples
    --------
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> grid = Grid.of_width(city, 30)
    >>> grid.m, grid.cell_m
    (4, 25.0)
    >>> grid.count(Points(city, [[1, 1], [99, 99], [99, 98]])).counts[[0, 3], [0, 3]]
    array([1, 2])

    Notes
    -----
    The paper's C; ``cell_m`` is its rho (Sec. 4.1).
    """

    region: Region
    m: int

    def __post_init__(self) -> None:
        if isinstance(self.m, bool) or not isinstance(self.m, (int, np.integer)):
            raise InputError(f"Grid: m must be a whole number of cells a side, not {self.m!r}.")
        if not 1 <= self.m <= math.isqrt(MAX_CELLS):
            raise InputError(
                f"Grid: {self.m:,} cells a side asked for; "
                f"between 1 and {math.isqrt(MAX_CELLS):,} are possible."
            )

    @classmethod
    def of_width(cls, region: Region, cell_m: float) -> "Grid":
        """Cells as wide as possible up to ``cell_m`` metres that tile the region."""
        if not (math.isfinite(cell_m) and cell_m > 0):
            raise InputError(f"cell_m must be a positive number of metres, not {cell_m}.")
        # A width that divides the side must not be refined by a rounding error.
        return cls(region, max(1, math.ceil(region.side_m / cell_m * (1 - 1e-12))))

    @property
    def cell_m(self) -> float:
        """Width of a cell in metres."""
        return self.region.side_m / self.m

    def count(self, points: Points) -> "Histogram":
        """Count the points of each cell."""
        if points.region != self.region:
            raise InputError("Grid: the points lie in another region than the grid.")
        # Against the edges themselves: x / cell_m may round to below an edge's own number.
        i, j = np.searchsorted(self.edges()[:-1], points.xy.T, side="right") - 1
        flat = np.bincount(i * self.m + j, minlength=self.m * self.m)
        return Histogram(self, flat.reshape(self.m, self.m))

    def edges(self) -> NDArray[np.float64]:
        """Where cells begin and end along either axis, in metres, shape (m + 1,)."""
        return np.linspace(0, self.region.side_m, self.m + 1)

    def corners(self) -> NDArray[np.float64]:
        """Lower-left corners in metres, shape (m * m, 2), x-major like the counts."""
        edge = self.edges()[:-1]
        return np.stack(np.meshgrid(edge, edge, indexing="ij"), axis=-1).reshape(-1, 2)

    def boxes(self) -> RangeQueries:
        """The cells as boxes, in the order of ``corners``."""
        low, width = self.corners(), np.full(self.m**2, self.cell_m)
        return RangeQueries(self.region, low[:, 0], low[:, 1], width, width)


@dataclass(frozen=True, eq=False, repr=False)
class Histogram:
    """True counts of the cells of a partition; each point is in exactly one cell.

    Only this type may claim parallel composition, and only ``Grid.count`` and ``Partition.count``
    make it, and ``merged`` from theirs.

    Parameters
    ----------
    partition : Grid, Partition or Merged
        The cells.
    counts : ndarray of int, shape (m, m) or (c,)
        For a grid ``counts[i, j]`` is for the i-th column from the west and j-th row from the
        south; otherwise one number a cell.
    """

    partition: Union[Grid, "Partition", "Merged"]
    counts: NDArray[np.int64]

    def merged(self, group: NDArray[np.int64]) -> "Histogram":
        """Counts of unions of cells, shape (groups,): each cell is in the one group named for it.

        Parameters
        ----------
        group : ndarray of int, in the shape of ``counts``
            The groups' numbers, from 0; chosen without looking at records but through noise.

        Raises
        ------
        InputError
            If not every cell is given one whole number from 0.

        Examples
        --------
        >>> city = Region.around(lat=0, lon=0, side_m=2)
        >>> four = Grid(city, 2).count(Points(city, [[0, 0], [1, 0], [1, 1]]))
        >>> four.merged(np.array([[0, 0], [1, 0]])).counts
        array([2, 1])
        """
        if group.shape != self.counts.shape or group.dtype.kind not in "iu" or group.min() < 0:
            raise InputError(
                f"merged: give each of the {self.counts.shape} cells a whole number from 0."
            )
        sums = np.zeros(int(group.max()) + 1, np.int64)
        np.add.at(sums, group.ravel(), self.counts.ravel())
        return Histogram(Merged(self.partition, group), sums)


@dataclass(frozen=True, eq=False, repr=False)
class Merged:
    """Unions of a partition's cells, which are a partition again.

    Parameters
    ----------
    cells : Grid, Partition or Merged
        What was put together.
    group : ndarray of int
        For each cell the number of its union.
    """

    cells: Union[Grid, "Partition", "Merged"]
    group: NDArray[np.int64]


class SummedArea:
    """Sums over any boxes of a grid's values, taking part of a cell's value for part of its area.

    Parameters
    ----------
    grid : Grid
        The cells.
    values : ndarray, shape (m, m)
        One number a cell.

    Examples
    --------
    >>> city = Region.around(lat=0, lon=0, side_m=2)
    >>> table = SummedArea(Grid(city, 2), np.array([[1, 2], [3, 4]]))
    >>> table.sums(RangeQueries(city, x=[0, 0.5], y=[0, 0], width=[2, 1], height=[2, 1]))
    array([10.,  2.])
    """

    def __init__(self, grid: Grid, values: NDArray) -> None:
        if values.shape != (grid.m, grid.m):
            raise InputError(f"values must have shape ({grid.m}, {grid.m}), not {values.shape}.")
        self.grid = grid
        self.table = np.zeros((grid.m + 1, grid.m + 1))
        np.cumsum(np.cumsum(values, axis=0, dtype=float), axis=1, out=self.table[1:, 1:])

    def sums(self, queries: RangeQueries) -> NDArray[np.float64]:
        """The sum over each box, shape (q,); what lies outside the region counts nothing."""
        if queries.region != self.grid.region:
            raise InputError("the boxes are given in another region than the one asked.")
        parts = [self._sums(part) for part in queries.chunks(_CHUNK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _sums(self, q: RangeQueries) -> NDArray[np.float64]:
        (i, u), (j, v) = self._place(q.x, q.width), self._place(q.y, q.height)
        west_south, west_north, east_south, east_north = self._upto(
            (i[:, None], u[:, None]), (j, v)
        ).reshape(4, -1)
        # In this order a box without area gets exactly 0.
        return (east_north - west_north) - (east_south - west_south)

    def _place(
        self, low: NDArray[np.float64], width: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Cell and fraction of it below both ends along an axis, each of shape (2, q)."""
        t = np.stack([low, low + width]) / self.grid.cell_m
        t = np.minimum(np.maximum(t, 0), self.grid.m)
        cell = np.minimum(t.astype(np.int64), self.grid.m - 1)
        return cell, t - cell

    def _upto(self, x: tuple, y: tuple) -> NDArray[np.float64]:
        """Sum over [0, x) by [0, y): bilinear between the table's entries, which is exact."""
        (i, u), (j, v) = x, y
        flat, row = self.table.ravel(), self.grid.m + 1
        at = i * row + j
        low = flat[at] * (1 - v) + flat[at + 1] * v
        at += row
        high = flat[at] * (1 - v) + flat[at + 1] * v
        return low * (1 - u) + high * u
