"""Exact counts of the points in many boxes."""

import numpy as np
from jaxtyping import Float, Int

from snhkit.errors import InputError
from snhkit.geometry.points import Points
from snhkit.geometry.queries import RangeQueries
from snhkit.geometry.wavelet import levels

__all__ = ["count_in_boxes", "exact_counts"]


def exact_counts(points: Points, queries: RangeQueries) -> Int[np.ndarray, " q"]:
    """Return the true number of points in each box, shape (q,): the paper's f(q).

    Parameters
    ----------
    points : Points
        The points to count.
    queries : RangeQueries
        q half-open boxes in the same region.

    Returns
    -------
    ndarray of int, shape (q,)
        The number of points in each box.

    Raises
    ------
    InputError
        If the points lie in another region than the boxes.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=10)
    >>> exact_counts(Points(city, [[1, 1], [2, 1]]), RangeQueries(city, [1], [0], [1], [5]))
    array([1])
    """
    if points.region != queries.region:
        raise InputError(
            "exact_counts: the points lie in another region than the boxes; make "
            "both with the same Region."
        )
    return count_in_boxes(points.xy, queries.x, queries.y, queries.x1, queries.y1)


def count_in_boxes(
    xy: Float[np.ndarray, "n 2"],
    x0: Float[np.ndarray, " q"],
    y0: Float[np.ndarray, " q"],
    x1: Float[np.ndarray, " q"],
    y1: Float[np.ndarray, " q"],
) -> Int[np.ndarray, " q"]:
    """Return the number of points in each half-open box, shape (q,); bounds may be infinite.

    The counts come from a wavelet matrix of the ranks of the points by y, in the order of x. One
    level of the matrix is held in memory at a time, so the memory grows with n + q. There are
    log2(n) levels, each of which takes a few array operations.
    """
    by_x = np.argsort(xy[:, 0], kind="stable")
    x, y = xy[by_x, 0], xy[by_x, 1]
    y_sorted = np.sort(y)
    ranks = np.empty(len(xy), np.int64)
    ranks[np.argsort(y, kind="stable")] = np.arange(len(xy))
    first, last = np.searchsorted(x, x0), np.searchsorted(x, x1)
    last = np.maximum(first, last)
    below_high = _ranked_below(ranks, first, last, np.searchsorted(y_sorted, y1))
    below_low = _ranked_below(ranks, first, last, np.searchsorted(y_sorted, y0))
    return np.maximum(below_high - below_low, 0)


def _ranked_below(
    ranks: Int[np.ndarray, " n"],
    first: Int[np.ndarray, " q"],
    last: Int[np.ndarray, " q"],
    limit: Int[np.ndarray, " q"],
) -> Int[np.ndarray, " q"]:
    """Return how many of ``ranks[first[i]:last[i]]`` are below ``limit[i]``, for each i."""
    if np.all(limit == 0) or np.all(limit == len(ranks)):  # none or all, as for half-planes
        return np.where(limit == 0, 0, last - first)
    found = np.zeros(len(first), np.int64)
    for level in levels(ranks, first, last, limit):
        found += np.where(level.below, level.last - level.first, 0)
    return found
