"""Regular grids: counts of points in cells, sums of values over boxes, and blocks of cells."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Shaped
from numpy.typing import NDArray

from snhkit.checks import positive, whole
from snhkit.errors import InputError
from snhkit.geometry.histogram import Histogram, proven
from snhkit.geometry.points import Points
from snhkit.geometry.queries import RangeQueries
from snhkit.geometry.region import Region

MAX_CELLS = 2**26
_MAX_SIDE = math.isqrt(MAX_CELLS)


@proven
@dataclass(frozen=True)
class Grid:
    """A region divided into ``m`` by ``m`` square cells, which are equal and half-open.

    Parameters
    ----------
    region : Region
        The region that is divided into cells.
    m : int
        The number of cells per side, at most 8,192.

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
    A grid is the paper's C, and ``cell_m`` is the paper's rho (Sec. 4.1).
    """

    region: Region
    m: int

    def __post_init__(self) -> None:
        m = whole("Grid: m", self.m, least=1, most=_MAX_SIDE)
        object.__setattr__(self, "m", m)

    @classmethod
    def of_width(cls, region: Region, cell_m: float) -> "Grid":
        """Return the coarsest grid of a region with cells at most ``cell_m`` metres wide.

        Raises
        ------
        InputError
            If the grid would have more than 8,192 cells per side.
        """
        positive("cell_m", cell_m, unit="metres")
        # If the width divides the side, a rounding error must not add another cell.
        needed = max(1.0, region.side_m / cell_m * (1 - 1e-12))
        if needed > _MAX_SIDE:
            raise InputError(
                f"cell_m = {cell_m:g} metres cuts the region into {needed:,.0f} cells per side; "
                f"at most {_MAX_SIDE:,} are possible. Give a larger cell_m."
            )
        return cls(region, math.ceil(needed))

    @property
    def cell_m(self) -> float:
        """The width of a cell in metres."""
        return self.region.side_m / self.m

    def count(self, points: Points) -> Histogram:
        """Return the number of points in each cell."""
        self.region.refuse_other(points.region, "Grid: the points")
        flat = np.bincount(self.cell_numbers(points.xy), minlength=self.m * self.m)
        return Histogram(self, flat.reshape(self.m, self.m))

    def cell_numbers(self, xy: Float[np.ndarray, "n 2"]) -> Int[np.ndarray, " n"]:
        """Return the number of the cell that contains each of n positions, shape (n,).

        The cell in column i and row j, both from 0, has the number i m + j.
        """
        edges = self.edges()
        i, j = (_below(edges, axis, self.m) for axis in xy.T)
        i *= self.m
        i += j
        return i

    def edges(self) -> Float[np.ndarray, " {self.m}+1"]:
        """Return the edges of the cells along either axis, in metres, shape (m + 1,)."""
        return np.linspace(0, self.region.side_m, self.m + 1)

    def corners(self) -> Float[np.ndarray, "{self.m**2} 2"]:
        """Return the cells' lower-left corners in metres, in the order of the cell numbers.

        The shape is (m * m, 2).
        """
        edge = self.edges()[:-1]
        return np.stack(np.meshgrid(edge, edge, indexing="ij"), axis=-1).reshape(-1, 2)

    def boxes(self) -> RangeQueries:
        """Return the cells as m * m boxes, in the order of the cell numbers."""
        low, width = self.corners(), np.full(self.m**2, self.cell_m)
        return RangeQueries(self.region, low[:, 0], low[:, 1], width, width)


def _below(
    edges: Float[np.ndarray, " e"], at: Float[np.ndarray, " n"], m: int
) -> Int[np.ndarray, " n"]:
    """Return the index, from 0 to m - 1, of each coordinate's cell along one axis."""
    found = np.minimum((at * (m / edges[-1])).astype(np.int64), m - 1)
    # Rounding of the quotient may move a place across an edge, so places are compared with edges.
    found -= at < edges[found]
    found += at >= edges[1:][found]
    return found


class SummedArea:
    """Sums, over any boxes, of values that are spread evenly over the cells of a grid.

    Each cell contributes its value, times the share of the cell's area that the box covers.

    Parameters
    ----------
    grid : Grid
        The grid of m by m cells.
    values : ndarray, shape (m, m)
        One number for each cell.

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

    def sums(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the sum over each box, shape (q,); parts outside the region count as 0."""
        return queries.summed(self.grid.region, self._sums)

    def _sums(self, q: RangeQueries) -> Float[np.ndarray, " {len(q)}"]:
        (i, u), (j, v) = self._place(q.x, q.x1), self._place(q.y, q.y1)
        west_south, west_north, east_south, east_north = self._upto(
            (i[:, None], u[:, None]), (j, v)
        ).reshape(4, -1)
        # In this order a box without area gets exactly 0.
        return (east_north - west_north) - (east_south - west_south)

    def _place(
        self, low: Float[np.ndarray, " q"], high: Float[np.ndarray, " q"]
    ) -> tuple[Int[np.ndarray, "2 q"], Float[np.ndarray, "2 q"]]:
        """Return the cell at each end of q intervals along an axis, and the place there, 0 to 1."""
        t = np.stack([low, high]) / self.grid.cell_m
        t = np.minimum(np.maximum(t, 0), self.grid.m)
        cell = np.minimum(t.astype(np.int64), self.grid.m - 1)
        return cell, t - cell

    def _upto(self, x: tuple, y: tuple) -> NDArray[np.float64]:
        """Return bilinear interpolations of the table: the sums over [0, x) by [0, y)."""
        (i, u), (j, v) = x, y
        flat, row = self.table.ravel(), self.grid.m + 1
        at = i * row + j
        low = flat[at] * (1 - v) + flat[at + 1] * v
        at += row
        high = flat[at] * (1 - v) + flat[at + 1] * v
        return low * (1 - u) + high * u


def numbered(
    sizes: Int[np.ndarray, " g"],
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """Return each item's group and its number in it, from 0, given the groups' sizes."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]


def block_starts(m: int, blocks: int) -> Int[np.ndarray, " {blocks}"]:
    """Return the first cell of each of ``blocks`` blocks of nearly equal width in a row of m."""
    return np.arange(blocks) * m // blocks


def block_sums(
    values: Shaped[np.ndarray, "m m"], first: Int[np.ndarray, " b"]
) -> Float[np.ndarray, "b b"]:
    """Return the sum of the values of the cells in each block; blocks begin at ``first``."""
    rows = np.add.reduceat(values.astype(float, copy=False), first, axis=0)
    return np.add.reduceat(rows, first, axis=1)


def spread(
    values: Shaped[np.ndarray, "b b"], cells: Int[np.ndarray, " b"]
) -> Shaped[np.ndarray, "m m"]:
    """Return for each cell the value of its block; along an axis, block i has ``cells[i]``."""
    return np.repeat(np.repeat(values, cells, axis=0), cells, axis=1)
