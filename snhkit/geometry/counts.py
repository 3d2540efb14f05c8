"""Exact counts of the points in many boxes, and the errors of answers beside them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from snhkit.geometry.points import Points
from snhkit.geometry.queries import RangeQueries
from snhkit.metrics import relative_errors

_FEW = 64  # boxes


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
    queries.region.refuse_other(points.region, "exact_counts: the points")
    return count_in_boxes(points.xy, queries.x, queries.y, queries.x1, queries.y1)


def count_in_boxes(
    xy: Float[np.ndarray, "n 2"],
    x0: Float[np.ndarray, " q"],
    y0: Float[np.ndarray, " q"],
    x1: Float[np.ndarray, " q"],
    y1: Float[np.ndarray, " q"],
) -> Int[np.ndarray, " q"]:
    """Return the number of points in each half-open box; bounds may be infinite.

    A wavelet matrix of the ranks by y, in the order of x, takes log2(n) steps for all boxes. A few
    boxes are counted one by one, which is quicker than to sort the points.
    """
    if len(x0) <= min(_FEW, len(xy) // 1_000):
        x, y = np.ascontiguousarray(xy.T)
        sides = zip(x0, y0, x1, y1, strict=True)
        inside = ((x >= a) & (x < c) & (y >= b) & (y < d) for a, b, c, d in sides)
        return np.array([np.count_nonzero(one) for one in inside], np.int64)
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


def overlapping_pairs(bounds: Float[np.ndarray, "n 4"]) -> int:
    """Return how many pairs of n boxes (west, south, east, north) overlap or touch, unlisted.

    All pairs, less those with one box to the left of the other or below it; pairs for which both
    hold were subtracted twice.
    """
    west, south, east, north = bounds.T
    left = np.searchsorted(np.sort(east), west).sum()
    below = np.searchsorted(np.sort(north), south).sum()
    low = np.full(len(west), -np.inf)
    both = count_in_boxes(np.stack([east, north], axis=1), low, low, west, south).sum()
    both += count_in_boxes(np.stack([east, -south], axis=1), low, low, west, -north).sum()
    return len(west) * (len(west) - 1) // 2 - int(left + below - both)


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


class Level(NamedTuple):
    """One level of a wavelet matrix, which sorts n items by one bit of their ranks.

    ``order`` puts the items whose bit is 0, ``zeros`` in number, before the others. After it, those
    of query i lie in ``first[i]`` to ``last[i]``; if ``below[i]``, all of them rank below its
    limit.
    """

    order: Int[np.ndarray, " n"]
    zeros: int
    first: Int[np.ndarray, " q"]
    last: Int[np.ndarray, " q"]
    below: Bool[np.ndarray, " q"]


def levels(
    rank: Int[np.ndarray, " n"],
    first: Int[np.ndarray, " q"],
    last: Int[np.ndarray, " q"],
    limit: Int[np.ndarray, " q"],
) -> Iterator[Level]:
    """Yield the levels of a wavelet matrix that find, for q ranges, the items ranked below a limit.

    Each such item lies in ``Level.first`` to ``last`` of exactly one level where ``below`` is true
    (Claude, Navarro and Ordóñez, "The wavelet matrix", Information Systems 47, 2015).
    """
    largest = max(int(rank.max(initial=0)), int(limit.max(initial=0)))
    for bit in range(largest.bit_length() - 1, -1, -1):
        zero = (rank >> bit & 1) == 0
        zeros_before = np.concatenate([[0], np.cumsum(zero)])
        zeros = int(zeros_before[-1])
        below = (limit >> bit & 1).astype(bool)
        a, b = zeros_before[first], zeros_before[last]
        order = np.concatenate([np.flatnonzero(zero), np.flatnonzero(~zero)])
        yield Level(order, zeros, a, b, below)
        rank = rank[order]
        first = np.where(below, zeros + first - a, a)
        last = np.where(below, zeros + last - b, b)


@dataclass(frozen=True, eq=False, repr=False)
class Asked:
    """q boxes with their true counts, with which the answers of releases are compared."""

    boxes: RangeQueries
    counts: NDArray[np.int64]  # shape (q,), for the owner of the records only
    n: int  # records in all

    @classmethod
    def of(cls, truth: Points, boxes: RangeQueries) -> "Asked":
        """Return boxes with the number of records of ``truth`` in each box."""
        return cls(boxes, exact_counts(truth, boxes), len(truth))

    def relative_error(self, answers: NDArray[np.float64]) -> float:
        """Return the mean relative error of answers, shape (q,), with the smoothing of the paper.

        An error is divided by the true count, or by 0.1 % of ``n`` if the count is smaller.
        """
        return _mean(relative_errors(answers, self.counts, self.n))

    def absolute_error(self, answers: NDArray[np.float64]) -> float:
        """Return the mean absolute error of answers, shape (q,), in records."""
        return _mean(np.abs(answers - self.counts))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
