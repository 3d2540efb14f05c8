"""Noisy counts of a binary tree's nodes, made to agree."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["fitted_leaves"]


def fitted_leaves(
    counts: Mapping[int, NDArray], variances: Mapping[int, float]
) -> NDArray[np.float64]:
    """The leaves' counts that fit noisy counts of nodes best, shape (c,).

    Parameters
    ----------
    counts : mapping of int to ndarray, shape (ceil(c / 2^k),)
        For the leaves, 0, and any other level k: counts of each 2^k leaves in a row, of which the
        last node may have fewer.
    variances : mapping of int to float
        Of the noise at these levels, in any unit.

    Examples
    --------
    >>> fitted_leaves({0: np.array([1, 2, 3]), 2: np.array([12])}, {0: 1, 2: 1})
    array([2.5, 3.5, 4.5])

    Notes
    -----
    Weighted least squares in one pass up, where a node's count is averaged with its children's sum
    by their precision, and one down, where what the children lack is shared out by variance.
    """
    value = np.asarray(counts[0], float)
    variance = np.full(len(value), float(variances[0]))
    below = []
    for level in range(1, (len(value) - 1).bit_length() + 1):
        below.append((value, variance))
        value, variance = _pairs(value), _pairs(variance)
        if level in counts:
            weight = variance / (variance + variances[level])
            value = value + weight * (counts[level] - value)
            variance = weight * variances[level]
    for children, spread in below[::-1]:
        lacking = (value - _pairs(children)) / _pairs(spread)
        value = children + spread * lacking.repeat(2)[: len(children)]
    return value


def _pairs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.add.reduceat(values, np.arange(0, len(values), 2))
