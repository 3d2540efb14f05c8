"""Partitions into rectangular cells of any sizes, and sums of their values over boxes."""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int, Real
from numpy.typing import ArrayLike, NDArray

from snhkit.errors import InputError
from snhkit.geometry.counts import count_in_boxes, levels
from snhkit.geometry.grid import Grid, numbered
from snhkit.geometry.histogram import Histogram, proven
from snhkit.geometry.points import Points
from snhkit.geometry.queries import RangeQueries
from snhkit.geometry.region import Region

MAX_DEPTH = 24
"""The largest depth of a quadtree at which the edges of squares are distinct as floats."""

_MAX_SIDE = 2048


@proven
@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """A region divided into half-open rectangles, the cells [x0, x1) by [y0, y1).

    Parameters
    ----------
    region : Region
        The region that is divided into cells.
    x0, y0, x1, y1 : array, shape (c,)
        The edges of c cells in metres. Two neighbouring cells must have exactly equal numbers for
        the edge that they share.

    Raises
    ------
    InputError
        If the cells leave a gap, overlap, or extend beyond the region.

    Examples
    --------
    >>> city = Region.around(lat=0, lon=0, side_m=4)
    >>> halves = Partition(city, [0, 0], [0, 1], [4, 4], [1, 4])
    >>> halves.count(Points(city, [[3, 0], [3, 1], [0, 3]])).counts
    array([1, 2])

    Notes
    -----
    The constructor proves that the cells cover the region and do not overlap. Put +1 on the
    lower-left and the upper-right corner of each cell, and -1 on the other two corners. These
    numbers determine how many cells cover each position. Every position is therefore covered once
    if and only if the numbers at each position add up to 0, except at the corners of the region,
    where they add up to +1 at the lower left and the upper right and to -1 at the other two.
    """

    region: Region
    x0: Float[np.ndarray, " c"]
    y0: Float[np.ndarray, " c"]
    x1: Float[np.ndarray, " c"]
    y1: Float[np.ndarray, " c"]
    _corners: "_Corners" = field(init=False)

    def __init__(
        self, region: Region, x0: ArrayLike, y0: ArrayLike, x1: ArrayLike, y1: ArrayLike
    ) -> None:
        edges = [np.asarray(a, np.float64) for a in (x0, y0, x1, y1)]
        if len({a.shape for a in edges}) > 1 or edges[0].ndim != 1 or not edges[0].size:
            raise InputError(
                "Partition: x0, y0, x1 and y1 must have equal lengths of at least 1, "
                f"not {[a.shape for a in edges]}."
            )
        for name, a in zip(("x0", "y0", "x1", "y1"), edges, strict=True):
            # A read-only copy, so that the proof stays valid.
            a = a.copy()
            a.flags.writeable = False
            object.__setattr__(self, name, a)
        object.__setattr__(self, "region", region)
        flat = ~((self.x0 < self.x1) & (self.y0 < self.y1))
        if flat.any():
            raise InputError(
                f"Partition: cell {np.flatnonzero(flat)[0]} (counted from 0) has a width or "
                "height that is not positive; remove the cell."
            )
        corners = _Corners(self)
        corners.prove_tiling(region.side_m)
        object.__setattr__(self, "_corners", corners)

    @classmethod
    def split(cls, grid: Grid, pieces: NDArray[np.int64]) -> "Partition":
        """Return the partition that divides every cell of a grid into equal pieces.

        Parameters
        ----------
        grid : Grid
            The grid of m by m cells.
        pieces : ndarray of int, shape (m, m)
            The number of pieces, at least 1, along a side of each cell. The pieces of a cell are
            consecutive in the partition, column by column from the west.

        Examples
        --------
        >>> city = Region.around(lat=0, lon=0, side_m=4)
        >>> Partition.split(Grid(city, 2), np.array([[1, 2], [1, 1]])).x1
        array([2., 1., 1., 2., 2., 4., 4.])
        """
        if pieces.shape != (grid.m, grid.m) or not (pieces >= 1).all():
            raise InputError(
                "Partition.split: pieces must hold whole numbers from 1, in the shape "
                f"({grid.m}, {grid.m})."
            )
        k = pieces.ravel()
        cell, nth = numbered(k**2)
        k = k[cell]
        edges = grid.edges()
        x0, x1 = _pieces(edges, cell // grid.m, nth // k, k)
        y0, y1 = _pieces(edges, cell % grid.m, nth % k, k)
        return cls(grid.region, x0, y0, x1, y1)

    @classmethod
    def dyadic(
        cls,
        region: Region,
        depth: Int[np.ndarray, " c"],
        column: Int[np.ndarray, " c"],
        row: Int[np.ndarray, " c"],
    ) -> "Partition":
        """Return the partition into c quadtree squares, by depth, and column and row from 0."""
        if not ((depth >= 0) & (depth <= MAX_DEPTH)).all():
            raise InputError(
                f"Partition.dyadic: depths must be from 0 to {MAX_DEPTH}, but they run from "
                f"{depth.min()} to {depth.max()}."
            )
        finest = MAX_DEPTH - depth
        low = np.stack([column << finest, row << finest])
        high = low + (1 << finest)
        # Division by a power of two is exact, so a shared edge is the same number at every depth.
        (x0, y0), (x1, y1) = (region.side_m * (a / 2.0**MAX_DEPTH) for a in (low, high))
        return cls(region, x0, y0, x1, y1)

    def __len__(self) -> int:
        return len(self.x0)

    def __repr__(self) -> str:
        return f"Partition({len(self):,} cells)"

    @property
    def areas(self) -> Float[np.ndarray, " c"]:
        """The area of each cell in square metres, shape (c,)."""
        return (self.x1 - self.x0) * (self.y1 - self.y0)

    def count(self, points: Points) -> Histogram:
        """Return the number of points in each cell."""
        self.region.refuse_other(points.region, "Partition: the points")
        counts = count_in_boxes(points.xy, self.x0, self.y0, self.x1, self.y1)
        return Histogram(self, counts)

    def boxes(self) -> RangeQueries:
        """Return one box for each cell, in the order of the cells."""
        return RangeQueries(self.region, self.x0, self.y0, self.x1 - self.x0, self.y1 - self.y0)

    def corner_sums(
        self, weight: Real[np.ndarray, " c"]
    ) -> tuple[Float[np.ndarray, "p 2"], Float[np.ndarray, " p"]]:
        """Return the corners, shape (p, 2) in metres, at which signed weights do not cancel.

        Every cell adds its weight at its lower-left and upper-right corners, and subtracts it at
        the other two. The sums, also returned, are the mixed second differences of the step
        function that has the value ``weight[k]`` on cell k, and 0 outside the region.
        """
        return self._corners.sums(weight)

    @cached_property
    def cell_table(self) -> "DensityTable":
        """The sums over boxes of 1 for each cell, which is spread evenly over the cell."""
        return DensityTable(self, np.ones(len(self)))


def _pieces(
    edges: NDArray[np.float64], cell: NDArray, piece: NDArray, pieces: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges of pieces along an axis; the last ends exactly at its cell's upper edge."""
    low, high = edges[cell], edges[cell + 1]
    start = low + (high - low) * (piece / pieces)
    end = low + (high - low) * ((piece + 1) / pieces)
    return start, np.where(piece + 1 == pieces, high, end)


class _Corners:
    """The distinct corners of the cells of a partition, ordered by x and then by y."""

    def __init__(self, cells: Partition) -> None:
        x = np.concatenate([cells.x0, cells.x0, cells.x1, cells.x1])
        y = np.concatenate([cells.y0, cells.y1, cells.y0, cells.y1])
        self.order = np.lexsort((y, x))
        x, y = x[self.order], y[self.order]
        new = np.ones(x.size, bool)
        new[1:] = (x[1:] != x[:-1]) | (y[1:] != y[:-1])
        self.start = np.flatnonzero(new)
        self.xy = np.stack([x[new], y[new]], axis=1)

    def sums(self, weight: NDArray) -> tuple[NDArray[np.float64], NDArray]:
        """Return the corners where signed weights (see ``Partition.corner_sums``) do not cancel."""
        signed = np.concatenate([weight, -weight, -weight, weight])[self.order]
        total = np.add.reduceat(signed, self.start)
        return self.xy[total != 0], total[total != 0]

    def prove_tiling(self, side: float) -> None:
        """Raise InputError unless the cells cover each position in the square exactly once."""
        at, left = self.sums(np.ones(self.order.size // 4, np.int64))
        expected = [[0.0, 0.0, 1], [0.0, side, -1], [side, 0.0, -1], [side, side, 1]]
        if np.column_stack([at, left]).tolist() != expected:
            raise InputError(
                "Partition: the cells do not tile the region: they leave a gap, overlap, or reach "
                "out of it. Neighbours must share exactly the same edge coordinates, and outer "
                f"edges must be exactly 0 and {side:g}."
            )


class DensityTable:
    """Sums, over any boxes, of c values that are spread evenly over the cells of a partition.

    With w the mixed second differences of value / area at the corners of cells, the sum up to (X,
    Y) is that of w (X - x) (Y - y) over corners to the lower left: expanded, four sums over
    corners.
    """

    def __init__(self, partition: Partition, values: NDArray) -> None:
        if values.shape != (len(partition),):
            raise InputError(
                f"DensityTable: values must have shape ({len(partition)},), not {values.shape}."
            )
        self.region = partition.region
        corner, w = partition.corner_sums(values / partition.areas)
        # Coordinates relative to the centre make the products, and so their rounding errors,
        # smaller.
        x, y = (corner - self.region.side_m / 2).T
        self._x, self._y = corner.T
        self._weights = np.stack([w, w * x, w * y, w * x * y])

    def sums(self, queries: RangeQueries) -> Float[np.ndarray, " q"]:
        """Return the sum over each box, shape (q,); parts outside the region count as 0."""
        return queries.summed(self.region, self._sums)

    def _sums(self, q: RangeQueries) -> Float[np.ndarray, " q"]:
        q = q.clipped()
        x = np.concatenate([q.x1, q.x1, q.x, q.x])
        y = np.concatenate([q.y1, q.y, q.y1, q.y])
        ne, se, nw, sw = self._upto(x, y).reshape(4, -1)
        return (ne - se) - (nw - sw)  # in this order a box without area gets exactly 0

    def _upto(
        self, x: Float[np.ndarray, " p"], y: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, " p"]:
        """Return the sum of spread values over [0, x) by [0, y) for p pairs (x, y), shape (p,)."""
        heights = np.unique(y)
        rank = np.searchsorted(heights, self._y, side="right")
        below_some = rank < len(heights)
        first = np.searchsorted(self._x[below_some], x)
        w, wx, wy, wxy = _dominated(
            rank[below_some],
            self._weights[:, below_some],
            first,
            np.searchsorted(heights, y, side="right"),
        )
        x, y = x - self.region.side_m / 2, y - self.region.side_m / 2
        return (w * y - wy) * x - (wx * y - wxy)


def _dominated(
    rank: Int[np.ndarray, " n"],
    weights: Float[np.ndarray, "k n"],
    last: Int[np.ndarray, " q"],
    limit: Int[np.ndarray, " q"],
) -> Float[np.ndarray, "k q"]:
    """Return sums of the first ``last[i]`` items ranked below ``limit[i]``, for k weights."""
    found = np.zeros((len(weights), len(last)))
    upto = np.zeros((len(weights), len(rank) + 1))
    for level in levels(rank, np.zeros_like(last), last, limit):
        weights, asked = weights[:, level.order], level.below
        np.cumsum(weights[:, : level.zeros], axis=1, out=upto[:, 1 : level.zeros + 1])
        found[:, asked] += upto[:, level.last[asked]] - upto[:, level.first[asked]]
    return found


class CellLookup:
    """A table that finds the cell of a position among the few that overlap its square."""

    def __init__(self, cells: Partition) -> None:
        wanted = 2 ** math.ceil(math.log2(max(len(cells), 64)) / 2 + 1)
        self._cells = cells
        self._grid = grid = Grid(cells.region, min(wanted, _MAX_SIDE))
        edges = grid.edges()
        low_x, low_y = (np.searchsorted(edges, a, "right") - 1 for a in (cells.x0, cells.y0))
        high_x, high_y = (np.searchsorted(edges, a, "left") for a in (cells.x1, cells.y1))
        wide, tall = high_x - low_x, high_y - low_y
        cell, nth = numbered(wide * tall)
        square = (low_x[cell] + nth // tall[cell]) * grid.m + low_y[cell] + nth % tall[cell]
        order = np.argsort(square, kind="stable")
        self._listed = cell[order].astype(np.int32)
        self._first = np.searchsorted(square[order], np.arange(grid.m**2))

    def of(self, xy: Float[np.ndarray, "n 2"]) -> Int[np.ndarray, " n"]:
        """Return the index of the cell that contains each of n positions, shape (n,)."""
        cells, found = self._cells, np.empty(len(xy), np.int64)
        at, x, y = np.arange(len(xy)), xy[:, 0], xy[:, 1]
        place = self._first[self._grid.cell_numbers(xy)]
        while at.size:
            cell = self._listed[place]
            within = (x >= cells.x0[cell]) & (x < cells.x1[cell])
            within &= (y >= cells.y0[cell]) & (y < cells.y1[cell])
            found[at[within]] = cell[within]
            rest = ~within
            at, x, y, place = at[rest], x[rest], y[rest], place[rest] + 1
        return found
