"""Rectangular blocks of a grid's cells, with sums over blocks and block values for each cell."""

import numpy as np
from jaxtyping import Float, Int, Shaped

__all__ = ["block_starts", "block_sums", "spread"]


def block_starts(m: int, blocks: int) -> Int[np.ndarray, " {blocks}"]:
    """Return the index of the first cell of each block, shape (blocks,).

    A row of m cells is divided into ``blocks`` blocks of nearly equal width.

    Examples
    --------
    >>> block_starts(7, 3)
    array([0, 2, 4])
    """
    return np.arange(blocks) * m // blocks


def block_sums(
    values: Shaped[np.ndarray, "m m"], first: Int[np.ndarray, " b"]
) -> Float[np.ndarray, "b b"]:
    """Return the sum of the values of the cells in each block of a grid.

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
    """Return an array with the value of the block that each cell of a grid is in, shape (m, m).

    ``values`` has a value for each block. Along either axis, block i is ``cells[i]`` cells wide,
    and m is the sum of ``cells``.

    Examples
    --------
    >>> spread(np.array([[1, 2], [3, 4]]), np.array([1, 2]))
    array([[1, 2, 2],
           [3, 4, 4],
           [3, 4, 4]])
    """
    return np.repeat(np.repeat(values, cells, axis=0), cells, axis=1)
