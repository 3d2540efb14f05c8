"""HB2D: nested grids, cut by the factor that leaves the least noise over all boxes."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from snhkit.builders.base import MOST_CELLS, Terms, publish, whole
from snhkit.builders.inference.hierarchy import measured
from snhkit.builders.width.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.geometry import Points, Region
from snhkit.models.grid_noise import BlockNoise
from snhkit.release import Release

__all__ = ["HierarchicalGrid", "average_variance"]

_LARGEST_FACTOR = 64
# Of epsilon. Measured on two cities and three epsilons: within 5 % of the best width for squares of
# 25 to 100 m, where a half gives cells too narrow for these and for large boxes.
_CELL_SHARE = 0.25


@dataclass(frozen=True)
class HierarchicalGrid:
    """Noisy counts of a few nested grids, made to agree by least squares.

    Epsilon is shared evenly among two or three grids, each of which cuts the cells of the one
    before it into b by b. A large box then adds up a few large cells instead of very many small
    ones, so its noise is smaller. The factor b and the number of grids are those that leave the
    least noise on average over all boxes, which depends on the finest grid only.

    Parameters
    ----------
    cell_m : float, "bought" or "auto", optional
        Width of the finest cells in metres, made a little smaller so that each grid cuts the one
        before it evenly; "bought", "auto" and None are as for ``Identity``, for a quarter of
        epsilon.
    b : int, optional
        Cut by this factor.

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
    Histograms", PVLDB 2013: even shares, no count of the whole, and b chosen for the least average
    variance (Sec. 4), which is computed here for two dimensions and after least squares, exactly.
    """

    cell_m: Width = None
    b: int | None = None

    def __post_init__(self) -> None:
        check_width(self.cell_m)
        if self.b is not None:
            whole("b", self.b, least=2)

    def sides(self, m: int) -> tuple[int, ...]:
        """Cells a side of each grid, from the coarsest; the finest has at least ``m``."""
        trees = [(int(m),)]
        for b in range(2, _LARGEST_FACTOR + 1) if self.b is None else [int(self.b)]:
            cuts, top = 0, m
            while top > 1:
                cuts += 1
                top = -(-m // b**cuts)
                trees.append(tuple(top * b**level for level in range(cuts + 1)))
        return min((tree for tree in trees if tree[-1] <= MOST_CELLS), key=average_variance)

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse more cells than fit in memory."""
        given_grid(region, self.cell_m)

    def build(self, records: Points, terms: Terms) -> Release:
        """Count every grid, and reconcile."""
        grid, left, bought, n = chosen_grid(records, terms, self.cell_m, _CELL_SHARE)
        sides = self.sides(grid.m)
        model, spends = measured(records, sides, [Fraction(1, len(sides))] * len(sides), left)
        return publish(self, terms, (*bought, *spends), model, n)


def average_variance(sides: tuple[int, ...]) -> float:
    """The variance of a box of whole cells, on average over all of them.

    Parameters
    ----------
    sides : tuple of int
        Cells a side of nested grids, each counted for an even share of epsilon; in units of what
        a cell's variance would be for all of epsilon.

    Examples
    --------
    >>> average_variance((1,)), average_variance((3,))
    (1.0, 2.77...)
    """
    even = [1.0] * len(sides)
    noise = BlockNoise.consistent(sides, even, [len(sides) ** 2 * one for one in even])
    # A box's extents along x and y are independent, so the mean of a product is a product.
    means = np.array([_mean_square(sides[-1], blocks) for blocks in noise.blocks])
    return float(means @ np.array(noise.weights) @ means)


def _mean_square(m: int, blocks: int) -> float:
    """The mean of ``BlockNoise``'s X_b over all intervals of the m cells along an axis.

    For each block, added up over where the interval begins (before it, or at one of its cells)
    and where it ends.
    """
    g = m // blocks
    before = np.arange(blocks) * float(g)
    after = m - g - before
    whole = (before + 1) * (after + 1) * g**2
    one_end_inside = (before + after + 2) * ((g - 1) * g * (2 * g - 1) / 6)
    both_inside = (g - 1) ** 2 * ((g - 1) ** 2 - 1) / 12
    total = (whole + one_end_inside + both_inside).sum() / g
    return float(total / (m * (m + 1) / 2))
