"""Sums over square blocks of a grid's cells."""

from numpy.typing import NDArray

__all__ = ["block_sums"]


def block_sums(values: NDArray, k: int) -> NDArray:
    """Return the sums over blocks of ``k`` by ``k`` cells.

    Parameters
    ----------
    values : ndarray, shape (..., m, m)
        One number for each cell; ``k`` divides m.
    k : int
        Cells along a side of a block.

    Returns
    -------
    ndarray, shape (..., m / k, m / k)
        One sum for each block.

    Raises
    ------
    ValueError
        If ``k`` does not divide m.

    Examples
    --------
    >>> import numpy as np
    >>> block_sums(np.arange(16).reshape(4, 4), 2)
    array([[10, 18],
           [42, 50]])
    """
    *layers, rows, columns = values.shape
    return values.reshape(*layers, rows // k, k, columns // k, k).sum(axis=(-3, -1))
