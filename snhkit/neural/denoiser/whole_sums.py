"""Sums of whole numbers over boxes without any rounding but the last."""

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Grid, RangeQueries, SummedArea

__all__ = ["MOST", "WholeSums"]

MOST = 2**53
"""What a grid's numbers may add up to: floating point holds whole numbers up to here."""

_CHUNK = 65_536  # boxes at a time
_BITS = 20  # of the part of a cell below a box's edge
_AREA = 2 ** (2 * _BITS)  # parts of a cell


class WholeSums:
    """Sums over boxes of numbers that are whole, not negative, and add up to ``MOST`` at most.

    The edges of a box are taken to a millionth of a cell, or so, and each sum is the floating-point
    number nearest to the exact one. So a box never holds less than a box inside it.

    Parameters
    ----------
    grid : Grid
        The cells.
    layers : ndarray, shape (t, m, m)
        Numbers of the cells; several are asked in one go.

    Examples
    --------
    >>> from snhkit.geometry import Grid, Region
    >>> city = Region.around(lat=0, lon=0, side_m=2)
    >>> table = WholeSums(Grid(city, 2), np.array([[[1, 2], [3, 2**52]]]))
    >>> table.sums(RangeQueries(city, x=[0, 0.5], y=[0, 0], width=[1, 1], height=[2, 1]))
    array([[3., 2.]])
    """

    def __init__(self, grid: Grid, layers: NDArray) -> None:
        self.grid = grid
        self.tables = np.stack([SummedArea(grid, values).table.ravel() for values in layers])
        self._few = self.tables.max() * _AREA < 2**62
        if self._few:
            self.tables = self.tables.astype(np.int64)

    def sums(self, queries: RangeQueries) -> NDArray[np.float64]:
        """The sums over each box, shape (t, q); what lies outside the region counts nothing."""
        parts = [self._sums(part) for part in queries.chunks(_CHUNK)]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(self.tables), 0))

    def _sums(self, q: RangeQueries) -> NDArray[np.float64]:
        i, u = self._steps(q.x, q.width)
        j, v = self._steps(q.y, q.height)
        i, u = i[:, None], u[:, None]
        row = self.grid.m + 1
        at = i * row + j
        around = [self.tables[:, at + step] for step in (0, 1, row, row + 1)]
        if self._few:
            return _difference(around, u.astype(np.int64), v.astype(np.int64)) / _AREA
        # Exact, but modulo 2**64; the other sum, which is nearly right, says what is left out.
        parts = _difference([a.astype(np.uint64) for a in around], u, v)
        about = _difference(around, u.astype(float), v.astype(float))
        rounds = np.rint((about - parts.astype(float)) / 2.0**64)
        whole = (parts // _AREA).astype(float) + rounds * (2**64 // _AREA)
        return whole + (parts % _AREA).astype(float) / _AREA

    def _steps(
        self, low: NDArray[np.float64], width: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Cells and parts of their widths below both ends along an axis, each of shape (2, q)."""
        cells = np.stack([low, low + width]) / self.grid.cell_m
        cells = np.minimum(np.maximum(cells, 0), self.grid.m)
        steps = np.rint(cells * 2**_BITS).astype(np.int64)
        cell = np.minimum(steps >> _BITS, self.grid.m - 1)
        return cell, (steps - (cell << _BITS)).astype(np.uint64)


def _difference(around: list[NDArray], u: NDArray, v: NDArray) -> NDArray:
    """Sums over boxes, (t, q), times ``_AREA``, from the tables around their corners.

    Each of the four in ``around`` has shape (t, 2, 2, q).
    """
    one = u.dtype.type(2**_BITS)
    low = around[0] * (one - v) + around[1] * v
    high = around[2] * (one - v) + around[3] * v
    upto = low * (one - u) + high * u
    return (upto[:, 1, 1] - upto[:, 0, 1]) - (upto[:, 1, 0] - upto[:, 0, 0])
