"""Blocks of a grid's cells: where they start, sums over them, and their values in each cell."""

import numpy as np
from jaxtyping import Float, Int, Shaped

__all__ = ["block_starts", "block_sums", "spread"]


def block_starts(m: int, blocks: int) -> Int[np.ndarray, " {blocks}"]:
    """Return the first cells of blocks of nearly equal width among m cells, shape (blocks,).

    Examples
    --------
    >>> block_starts(7, 3)
    array([0, 2, 4])
    """
    return np.arange(blocks) * m // blocks


def block_sums(
    values: Shaped[np.ndarray, "m m"], first: Int[np.ndarray, " b"]
) -> Float[np.ndarray, "b b"]:
    """Return the sums over blocks, given their first cells along either axis.

    Parameters
    ----------
    values : ndarray, shape (m, m)
        One number for each cell.
    first : ndarray of int, shape (b,)
        The first cells of the blocks, ascending from 0.

    Returns
    -------
    ndarray, shape (b, b)
        One sum for each block.

    Examples
    --------
    >>> block_sums(np.arange(16).reshape(4, 4), np.array([0, 2]))
    array([[10., 18.],
           [42., 50.]])
    """
    rows = np.add.reduceat(values.astype(float, copy=False), first, axis=0)
    return np.add.reduceat(rows, first, axis=1)


def spread(
    values: Shaped[np.ndarray, "b b"], cells: Int[np.ndarray, " b"]
) -> Shaped[np.ndarray, "m m"]:
    """Return the value of each cell's block; block i is ``cells[i]`` cells wide along either axis.

    Examples
    --------
    >>> spread(np.array([[1, 2], [3, 4]]), np.array([1, 2]))
    array([[1, 2, 2],
           [3, 4, 4],
           [3, 4, 4]])
    """
    return np.repeat(np.repeat(values, cells, axis=0), cells, axis=1)
