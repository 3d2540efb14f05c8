"""Noisy counts of nested grids, made consistent by least squares."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Grid
from snhkit.geometry.blocks import block_sums
from snhkit.models.grid_model import GridModel
from snhkit.models.grid_noise import BlockNoise
from snhkit.privacy import Measurements

__all__ = ["consistent", "measured"]


def measured(private: Measurements, sides: Sequence[int], shares: Sequence[Fraction]) -> GridModel:
    """Measure nested grids for all that is left to spend, and return a model of the finest grid."""
    grids, left = [Grid(private.region, side) for side in sides], private.left
    levels = [private.histogram(g, left * s) for g, s in zip(grids, shares, strict=True)]
    relative_variances = [float(share) ** -private.exponent for share in shares]
    values = consistent([level.values for level in levels], relative_variances)
    variances = [level.variance for level in levels]
    noise = BlockNoise.consistent(sides, relative_variances, variances)
    return GridModel(grids[-1], values, noise)


def consistent(levels: Sequence[NDArray], variances: Sequence[float]) -> NDArray[np.float64]:
    """Return the counts of the finest grid that fit noisy counts of nested grids best.

    Examples
    --------
    >>> consistent([np.array([[18]]), np.array([[1, 2], [3, 4]])], [1, 1])
    array([[2.6, 3.6], [4.6, 5.6]])

    Notes
    -----
    Weighted least squares in two passes (Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of
    differentially private histograms through consistency", PVLDB 2010, Sec. 4). The parts
    of a cell are its cells in the next finer grid. Upwards, a cell's count is averaged with the sum
    of its parts, weighted by precision. Downwards, the difference between a cell's estimate and the
    sum of its parts is divided equally among the parts.
    """
    best, variance = [np.asarray(levels[-1], float)], float(variances[-1])
    for own, own_variance in zip(levels[-2::-1], variances[-2::-1], strict=True):
        cut = len(best[-1]) // len(own)
        sums = block_sums(best[-1], np.arange(0, len(best[-1]), cut))
        sum_variance = cut**2 * variance
        weight = sum_variance / (sum_variance + own_variance)
        best.append(weight * own + (1 - weight) * sums)
        variance = weight * own_variance
    counts = best.pop()
    while best:
        below = best.pop()
        cut = len(below) // len(counts)
        sums = block_sums(below, np.arange(0, len(below), cut))
        difference = (counts - sums) / cut**2
        counts = below + difference.repeat(cut, axis=0).repeat(cut, axis=1)
    return counts
