"""Consistent estimates from noisy counts of a binary tree's nodes."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["fitted_leaves"]


def fitted_leaves(
    counts: Mapping[int, NDArray], variances: Mapping[int, float]
) -> NDArray[np.float64]:
    """Return the counts of a binary tree's c leaves that fit noisy counts of its nodes best.

    Examples
    --------
    >>> fitted_leaves({0: np.array([1, 2, 3]), 2: np.array([12])}, {0: 1, 2: 1})
    array([2.5, 3.5, 4.5])

    Notes
    -----
    Weighted least squares in two passes. Upwards, a node's count is averaged with its children's
    sum, weighted by precision. Downwards, the difference between a node's estimate and its
    children's sum is divided among the children in proportion to their variances.
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
    for children, child_variance in below[::-1]:
        difference = (value - _pairs(children)) / _pairs(child_variance)
        value = children + child_variance * difference.repeat(2)[: len(children)]
    return value


def _pairs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of consecutive pairs; a last value without a partner stays as it is."""
    return np.add.reduceat(values, np.arange(0, len(values), 2))
