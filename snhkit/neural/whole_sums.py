"""Sums of whole numbers over boxes without any rounding but the last."""

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import RangeQueries
from snhkit.geometry.grid import SummedArea

__all__ = ["MOST", "WholeSums"]

MOST = 2**53
"""What a grid's numbers may add up to: floating point holds whole numbers up to here."""

_BITS = 20  # of the part of a cell below a box's edge
_AREA = 2 ** (2 * _BITS)  # parts of a cell


class WholeSums(SummedArea):
    """Sums over boxes of numbers that are whole, not negative, and add up to ``MOST`` at most.

    The edges of a box are taken to a millionth of a cell, or so, and each sum is the floating-point
    number nearest to the exact one. So a box never holds less than a box inside it.

    Examples
    --------
    >>> from snhkit.geometry import Grid, Region
    >>> city = Region.around(lat=0, lon=0, side_m=2)
    >>> table = WholeSums(Grid(city, 2), np.array([[1, 2], [3, 2**52]]))
    >>> table.sums(RangeQueries(city, x=[0, 0.5], y=[0, 0], width=[1, 1], height=[2, 1]))
    array([3., 2.])
    """

    def _sums(self, q: RangeQueries) -> NDArray[np.float64]:
        i, u = self._steps(np.stack([q.x, q.x + q.width])[:, None])
        j, v = self._steps(np.stack([q.y, q.y + q.height]))
        row = self.grid.m + 1
        at = i * row + j + np.array([0, 1, row, row + 1])[:, None, None, None]
        around = self.table.ravel()[at]
        # Exact, but modulo 2**64; the other sum, which is nearly right, says what is left out.
        parts = _difference(around.astype(np.uint64), u.astype(np.uint64), v.astype(np.uint64))
        about = _difference(around, u.astype(float), v.astype(float))
        rounds = np.rint((about - parts.astype(float)) / 2.0**64)
        whole = (parts // _AREA).astype(float) + rounds * (2**64 // _AREA)
        return whole + (parts % _AREA).astype(float) / _AREA

    def _steps(self, at: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cell and parts of its width below a coordinate."""
        cells = np.clip(at / self.grid.cell_m, 0, self.grid.m)
        steps = np.rint(cells * 2**_BITS).astype(np.int64)
        cell = np.minimum(steps >> _BITS, self.grid.m - 1)
        return cell, steps - (cell << _BITS)


def _difference(around: NDArray, u: NDArray, v: NDArray) -> NDArray:
    """Sums over boxes, times ``_AREA``, from the table around their corners, (4, 2, 2, q)."""
    one = u.dtype.type(2**_BITS)
    low = around[0] * (one - v) + around[1] * v
    high = around[2] * (one - v) + around[3] * v
    upto = low * (one - u) + high * u
    return (upto[1, 1] - upto[0, 1]) - (upto[1, 0] - upto[0, 0])
