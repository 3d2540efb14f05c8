"""A wavelet matrix, which finds, for many ranges of items, those items that rank below a limit."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

__all__ = ["Level", "levels"]


class Level(NamedTuple):
    """One level of a wavelet matrix, which sorts the items by one bit of their ranks.

    Parameters
    ----------
    order : ndarray of int, shape (n,)
        The stable permutation that puts items whose bit is 0 before items whose bit is 1.
    zeros : int
        The number of items whose bit is 0.
    first, last : ndarray of int, shape (q,)
        For each of q queries, the half-open range in which the query's items with bit 0 lie after
        the permutation.
    below : ndarray of bool, shape (q,)
        Whether all items of this range are known to rank below the limit of the query. If not,
        later levels decide for each item.
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
    """Yield the levels of a wavelet matrix, which find the items that rank below a limit.

    A query asks for the items of a range that rank below a limit. Each such item lies in the range
    ``Level.first`` to ``Level.last`` of exactly one level at which ``Level.below`` is true for the
    query. One level is held in memory at a time.

    Examples
    --------
    >>> one = np.array([1])
    >>> parts = levels(np.array([3, 0, 2, 1]), first=0 * one, last=3 * one, limit=3 * one)
    >>> sum(int((part.last - part.first)[part.below].sum()) for part in parts)
    2

    Notes
    -----
    F. Claude, G. Navarro and A. Ordóñez, "The wavelet matrix", Information Systems 47, 2015.
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
