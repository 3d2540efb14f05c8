"""A wavelet matrix: counts and sums below limits for many queries at once."""

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
        Stable permutation that puts the items without the bit before those with the bit.
    zeros : int
        The number of items without the bit.
    first, last : ndarray of int, shape (q,)
        Each query's items without the bit are ``first`` to ``last`` after the permutation.
    below : ndarray of bool, shape (q,)
        Whether these items all rank below the query's limit; otherwise none of them is settled.
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
    """Yield the levels of a wavelet matrix that find each query's items of a rank below ``limit``.

    Every item that a query looks for lies between ``first`` and ``last`` of exactly one level whose
    ``below`` is true for the query. One level is held in memory at a time.

    Parameters
    ----------
    rank : ndarray of int, shape (n,)
        Ranks of the items, from 0.
    first, last : ndarray of int, shape (q,)
        Half-open ranges of items, one for each query.
    limit : ndarray of int, shape (q,)
        The rank below which items are looked for.

    Yields
    ------
    Level
        The permutation is relative to the level before.

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
