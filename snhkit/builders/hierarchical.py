"""The hierarchical grid (HB2D): nested grids with the least average variance of all boxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import MAX_CELLS_PER_SIDE, publish
from snhkit.builders.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.checks import whole
from snhkit.geometry import Grid, Region
from snhkit.geometry.grid import block_sums
from snhkit.models.grid_model import GridModel
from snhkit.models.variance import BlockNoise
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

_MAX_FACTOR = 64
# The default width is that of Identity for this share of epsilon. On two cities and at three
# epsilons the resulting error for squares of 25 to 100 m was within 5 % of the least; a share of
# one half gave cells that were too narrow for these squares and for large boxes.
_CELL_SHARE = 0.25


@dataclass(frozen=True)
class HierarchicalGrid:
    """Noisy counts of a few nested grids, made consistent by least squares.

    Each grid divides the cells of the coarser one before it into b by b cells, and epsilon is
    divided equally among the grids, usually two or three. A large box is then a sum of few large
    cells instead of very many small ones, so its noise is smaller. The branching factor b and the
    number of grids minimise the average variance over all boxes. The best choice depends only on
    the number of finest cells and on the kind of noise.

    Parameters
    ----------
    cell_m : float, "auto" or None
        The width of the finest cells in metres, made a little smaller so that the grids are nested.
        None and "auto" choose the width as ``Identity`` does for a grid with a quarter of epsilon.
    b : int, optional
        The branching factor, at least 2. By default the best one is used.

    Raises
    ------
    InputError
        If ``cell_m`` is not one of these values, or ``b`` is not a whole number of at least 2.

    Examples
    --------
    >>> HierarchicalGrid().sides(440)
    (55, 440)
    >>> HierarchicalGrid(b=3).sides(440)
    (49, 147, 441)
    >>> HierarchicalGrid().sides(10)
    (10,)

    Notes
    -----
    Qardaji, Yang and Li, "Understanding Hierarchical Methods for Differentially Private
    Histograms", PVLDB 2013: equal shares of epsilon, no count of the whole region, and the b with
    the least average variance (Sec. 4). This implementation computes the average variance exactly,
    in two dimensions and after least squares.
    """

    cell_m: Width = None
    b: int | None = None
    gaussian: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width(self.cell_m)
        if self.b is not None:
            whole("b", self.b, least=2)

    def sides(self, m: int, exponent: int = 2) -> tuple[int, ...]:
        """Return the number of cells per side of each grid, from the coarsest to the finest.

        ``m`` is the wanted number for the finest, which may get a few more; ``exponent`` is 2 for
        Laplace noise, 1 for Gaussian noise (see ``Terms.exponent``).
        """
        trees = [(int(m),)]
        for b in range(2, _MAX_FACTOR + 1) if self.b is None else [int(self.b)]:
            cuts, top = 0, m
            while top > 1:
                cuts += 1
                top = -(-m // b**cuts)
                trees.append(tuple(top * b**level for level in range(cuts + 1)))
        fitting = [tree for tree in trees if tree[-1] <= MAX_CELLS_PER_SIDE]
        return min(fitting, key=partial(average_variance, exponent=exponent))

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``cell_m`` makes more cells than a grid may have."""
        given_grid(region, self.cell_m)

    def build(self, private: Measurements) -> Release:
        """Return a release of consistent noisy counts of the finest grid."""
        exponent = private.exponent
        share = _CELL_SHARE ** (exponent / 2)
        sides = self.sides(chosen_grid(private, self.cell_m, share).m, exponent)
        shares = [Fraction(1, len(sides))] * len(sides)
        return publish(self, private, measured(private, sides, shares))


def average_variance(sides: tuple[int, ...], exponent: int = 2) -> float:
    """Return the mean variance of the answers for all boxes of whole cells."""
    even = [1.0] * len(sides)
    noise_model = BlockNoise.consistent(sides, even, [len(sides) ** exponent * one for one in even])
    # The extents of a box along x and y are independent, so the mean of their product is the
    # product of their means.
    means = np.array([_mean_square(sides[-1], blocks) for blocks in noise_model.blocks])
    return float(means @ np.array(noise_model.weights) @ means)


def _mean_square(m: int, blocks: int) -> float:
    """Return the mean of X_b (see ``BlockNoise``) over all intervals of whole cells."""
    g = m // blocks
    before = np.arange(blocks) * float(g)
    after = m - g - before
    covering = (before + 1) * (after + 1) * g**2
    one_end_inside = (before + after + 2) * ((g - 1) * g * (2 * g - 1) / 6)
    both_inside = (g - 1) ** 2 * ((g - 1) ** 2 - 1) / 12
    total = (covering + one_end_inside + both_inside).sum() / g
    return float(total / (m * (m + 1) / 2))


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

    Weighted least squares in two passes (Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of
    differentially private histograms through consistency", PVLDB 2010, Sec. 4).
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
