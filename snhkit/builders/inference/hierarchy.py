"""Nested grids, counted with noise and made to agree by least squares."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import Terms
from snhkit.geometry import Grid, Points
from snhkit.geometry.blocks import block_sums
from snhkit.models.grid_model import GridModel
from snhkit.models.grid_noise import BlockNoise
from snhkit.privacy import Spend, noise_variance, noisy_histogram

__all__ = ["consistent", "measured"]


def measured(
    records: Points, sides: Sequence[int], shares: Sequence[Fraction], terms: Terms
) -> tuple[GridModel, tuple[Spend, ...]]:
    """The finest of nested grids, by counts of all of them, and what they cost.

    Parameters
    ----------
    records : Points
        What is counted.
    sides : sequence of int
        Cells a side of each grid, from the coarsest; each divides the next.
    shares : sequence of Fraction
        Of the epsilon that is left, one a grid; they add up to 1.
    terms : Terms
        What may be spent.
    """
    grids = [Grid(records.region, side) for side in sides]
    sensitivity = terms.unit.sensitivity
    bought = [
        noisy_histogram(grid.count(records), terms.epsilon * share, sensitivity, terms.entropy)
        for grid, share in zip(grids, shares, strict=True)
    ]
    spends = tuple(spend for _, spend in bought)
    assumed = [float(share) ** -2 for share in shares]
    values = consistent([counts for counts, _ in bought], assumed)
    variances = [noise_variance(spend.epsilon, sensitivity) for spend in spends]
    return GridModel(grids[-1], values, BlockNoise.consistent(sides, assumed, variances)), spends


def consistent(levels: Sequence[NDArray], variances: Sequence[float]) -> NDArray[np.float64]:
    """The smallest cells' counts that fit noisy counts of nested grids best, shape (m, m).

    Parameters
    ----------
    levels : sequence of ndarray, shape (side, side)
        Noisy counts, from the coarsest grid; each side divides the next.
    variances : sequence of float
        Of each grid's noise, in any unit.

    Examples
    --------
    >>> consistent([np.array([[18]]), np.array([[1, 2], [3, 4]])], [1, 1])
    array([[2.6, 3.6], [4.6, 5.6]])

    Notes
    -----
    Weighted least squares, in one pass up, where a cell's count is averaged with the sum of its
    parts' by their precision, and one down, where what its parts lack is shared out (Hay,
    Rastogi, Miklau and Suciu, "Boosting the accuracy of differentially private histograms
    through consistency", PVLDB 2010, Sec. 4).
    """
    best, variance = [np.asarray(levels[-1], float)], float(variances[-1])
    for own, spread in zip(levels[-2::-1], variances[-2::-1], strict=True):
        cut = len(best[-1]) // len(own)
        of_sum = cut**2 * variance
        weight = of_sum / (of_sum + spread)
        best.append(weight * own + (1 - weight) * block_sums(best[-1], cut))
        variance = weight * spread
    counts = best.pop()
    while best:
        below = best.pop()
        cut = len(below) // len(counts)
        lacking = (counts - block_sums(below, cut)) / cut**2
        counts = below + lacking.repeat(cut, axis=0).repeat(cut, axis=1)
    return counts
