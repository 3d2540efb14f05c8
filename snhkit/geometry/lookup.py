"""A search for the cell of a partition that contains a given position."""

import math

import numpy as np
from jaxtyping import Float, Int

from snhkit.geometry.grid import Grid
from snhkit.geometry.partition import Partition

__all__ = ["CellLookup"]

_MAX_SIDE = 2048


class CellLookup:
    """A table that finds the cell of a partition that contains each given position.

    For every square of an auxiliary grid, the table lists the few cells that overlap the square. A
    position in the square is then compared with the edges of these cells.

    Parameters
    ----------
    cells : Partition
        The partition, whose cells are searched.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=4)
    >>> halves = Partition(city, [0, 0], [0, 1], [4, 4], [1, 4])
    >>> CellLookup(halves).of(np.array([[3.0, 0.5], [3.0, 1.0]]))
    array([0, 1])
    """

    def __init__(self, cells: Partition) -> None:
        wanted = 2 ** math.ceil(math.log2(max(len(cells), 64)) / 2 + 1)
        self._cells = cells
        self._grid = grid = Grid(cells.region, min(wanted, _MAX_SIDE))
        edges = grid.edges()
        low_x, low_y = (np.searchsorted(edges, a, "right") - 1 for a in (cells.x0, cells.y0))
        high_x, high_y = (np.searchsorted(edges, a, "left") for a in (cells.x1, cells.y1))
        wide, tall = high_x - low_x, high_y - low_y
        cell = np.repeat(np.arange(len(cells), dtype=np.int32), wide * tall)
        nth = np.arange(cell.size) - np.repeat(np.cumsum(wide * tall) - wide * tall, wide * tall)
        square = (low_x[cell] + nth // tall[cell]) * grid.m + low_y[cell] + nth % tall[cell]
        order = np.argsort(square, kind="stable")
        self._listed = cell[order]
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
