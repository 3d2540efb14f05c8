"""Sums over many cells are known well: let a cleaned grid agree with them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["block_starts", "block_sums", "reconciled", "settled"]

_STEPS, _CLOSE = 30, 1e-6


def reconciled(
    clean: NDArray[np.float64], noisy: NDArray, variance: float, levels: Sequence[int]
) -> NDArray[np.float64]:
    """Cleaned counts, settled so that their sums over blocks come near the noisy ones.

    Level by level, each block moves towards its noisy sum as far as the noise of that sum does not
    explain the differences of its level. Without noise, what comes out has the noisy sums of the
    last level.

    Parameters
    ----------
    clean : ndarray, shape (s * m, s * m)
        Estimated counts of cells cut into s by s parts, not negative.
    noisy : ndarray, shape (m, m)
        Noisy counts of the cells.
    variance : float
        Of the noise of one cell.
    levels : sequence of int
        Blocks a side, at most m, in the order in which they are taken.

    Returns
    -------
    ndarray, shape (s * m, s * m)
        Not negative.

    Examples
    --------
    >>> reconciled(np.full((2, 2), 1.0), np.array([[9, 0], [2, 1]]), 0.0, [1, 2])
    array([[9., 0.],
           [2., 1.]])

    Notes
    -----
    The weight t / (t + v) of a noisy sum with noise variance v is that of a positive-part
    James-Stein estimate; t is the mean over the level of the squared difference less v.
    """
    m, split = len(noisy), len(clean) // len(noisy)
    for blocks in levels:
        first = block_starts(m, blocks)
        cells = np.diff(first, append=m)
        noise = variance * np.outer(cells, cells)
        ours, wanted = block_sums(clean, first * split), block_sums(noisy, first)
        excess = max(float(np.mean((wanted - ours) ** 2 - noise)), 0.0)
        if not excess:
            continue
        trust = excess / (excess + noise)
        target = np.maximum((1 - trust) * ours + trust * wanted, 0)
        clean = settled(clean, first * split, ours, target)
    return clean


def settled(
    values: NDArray, first: NDArray[np.int64], sums: NDArray[np.float64], target: NDArray
) -> NDArray[np.float64]:
    """Values whose sums over blocks become the target; even parts of it where there are none.

    What is missing is added in proportion. What is too much is taken off evenly, from no value
    more than it has: a spike among many little numbers keeps its height.

    Parameters
    ----------
    values : ndarray, shape (m, m)
        Not negative.
    first : ndarray of int, shape (b,)
        The blocks' first cells along either axis.
    sums, target : ndarray, shape (b, b)
        Over the blocks: what they are, and what they shall be.
    """
    cells = np.diff(first, append=len(values))
    if (sums > target).any():
        off = _surplus(values, first, sums, target)
        values = np.maximum(values - _spread(off, cells), 0.0)
        sums = block_sums(values, first)
    empty = sums == 0
    whole = np.where(empty, np.outer(cells, cells), sums)
    # Shares, not factors: no share overflows.
    return (values + _spread(empty, cells)) / _spread(whole, cells) * _spread(target, cells)


def _surplus(
    values: NDArray, first: NDArray[np.int64], sums: NDArray[np.float64], target: NDArray
) -> NDArray[np.float64]:
    """What to take off each value of a block, by Newton's steps, which never go too far."""
    cells = np.diff(first, append=len(values))
    off, left, many = np.zeros_like(sums), sums, np.outer(cells, cells).astype(float)
    for _ in range(_STEPS):
        off = off + np.maximum(left - target, 0) / np.maximum(many, 1)
        above = values - _spread(off, cells)
        left, many = block_sums(np.maximum(above, 0), first), block_sums(above > 0, first)
        if (left - target <= _CLOSE * target).all():
            break
    return off


def block_starts(m: int, blocks: int) -> NDArray[np.int64]:
    """The first of m cells in each of the blocks, which are as equal as they can be."""
    return np.arange(blocks) * m // blocks


def block_sums(values: NDArray, first: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums over blocks that start at these cells along either axis."""
    rows = np.add.reduceat(values.astype(float), first, axis=0)
    return np.add.reduceat(rows, first, axis=1)


def _spread(values: NDArray, cells: NDArray[np.int64]) -> NDArray:
    """Each block's number in each of its cells, of which there are so many along either axis."""
    return np.repeat(np.repeat(values, cells, axis=0), cells, axis=1)
