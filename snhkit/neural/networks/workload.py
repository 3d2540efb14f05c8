"""Workload weights of training squares: how many expected queries a square overlaps."""

import numpy as np
from jaxtyping import Float, Int

from snhkit.geometry import RangeQueries

__all__ = ["overlaps"]


def overlaps(
    workload: RangeQueries, at: Float[np.ndarray, " g"], size: float
) -> Int[np.ndarray, "g g"]:
    """Return how many expected queries each of g by g squares overlaps: the paper's w (Sec. 4.2).

    Parameters
    ----------
    workload : RangeQueries
        The expected queries, the paper's Q_W.
    at : ndarray, shape (g,)
        The lower edges of the squares along either axis, ascending, in metres.
    size : float
        The side of the squares in metres.

    Returns
    -------
    ndarray of int, shape (g, g)
        Entry (i, j) is the number of boxes that overlap the square whose lower-left corner is
        (at[i], at[j]).

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> q_w = RangeQueries(city, [0, 20], [0, 0], [10, 10], [10, 10])
    >>> overlaps(q_w, np.array([5.0, 10.0]), 11.0)
    array([[1, 0],
           [1, 0]])
    """
    # Each expected query adds 1 to a rectangle of entries of the result. The changes are written at
    # the rectangle's four corners, and cumulative sums along both axes turn them into entries.
    steps = np.zeros((len(at) + 1,) * 2, np.int64)
    west, east = _reach(at, workload.x, workload.width, size)
    south, north = _reach(at, workload.y, workload.height, size)
    for i, j, sign in ((west, south, 1), (east, south, -1), (west, north, -1), (east, north, 1)):
        np.add.at(steps, (i, j), sign)
    return steps[:-1, :-1].cumsum(axis=0).cumsum(axis=1)


def _reach(
    at: Float[np.ndarray, " g"],
    low: Float[np.ndarray, " q"],
    width: Float[np.ndarray, " q"],
    size: float,
) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " q"]]:
    """Return the first and last (exclusive) index of the squares that overlap each interval.

    Along one axis, the squares begin at ``at`` and have side ``size``. The intervals begin at
    ``low`` and have length ``width``.
    """
    return np.searchsorted(at, low - size, side="right"), np.searchsorted(at, low + width)
