"""The complete quadtree: noisy counts of squares of every size, made to agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import MOST_CELLS, Terms, publish, whole, with_n
from snhkit.builders.cell_width import default_cell_width
from snhkit.builders.grid_model import GridModel
from snhkit.builders.grid_noise import BlockNoise
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import Spend, noisy_histogram
from snhkit.privacy.variance import noise_variance
from snhkit.release import Release

__all__ = ["QuadTree"]

_TALLEST = int(math.log2(MOST_CELLS))


@dataclass(frozen=True)
class QuadTree:
    """Noisy counts at every level of a complete quadtree, made to agree by least squares.

    The region is halved again and again, and the squares of every size are counted, the smaller
    ones with a larger share of epsilon. A square and its four quarters then tell the same thing
    twice, and least squares finds the counts that agree and are nearest to all that was measured.

    Parameters
    ----------
    height : int, optional
        Halvings, so that the smallest squares are a grid of 2^height a side; otherwise such that
        they are about as wide as ``default_cell_width`` says for the smallest level's epsilon.

    Examples
    --------
    >>> QuadTree().height_for(side_m=13_200, n=217_438, epsilon=0.2)
    8
    >>> [str(share) for share in QuadTree.shares(1)]
    ['50/113', '63/113']

    Notes
    -----
    Cormode, Procopiuc, Srivastava, Shen and Yu, "Differentially Private Spatial Decompositions",
    ICDE 2012: geometric budget (Sec. 4.2) and ordinary least squares (Sec. 5).
    """

    height: int | None = None

    def __post_init__(self) -> None:
        if self.height is not None:
            whole("height", self.height, least=0)
            if self.height > _TALLEST:
                raise InputError(f"height must be at most {_TALLEST}, not {self.height}.")

    def height_for(self, side_m: float, n: int, epsilon: float) -> int:
        """The height of the tree, for epsilon per record."""
        if self.height is not None:
            return int(self.height)
        # In a tall tree a fifth of epsilon buys the smallest squares.
        width = default_cell_width(n, 0.2 * epsilon)
        return int(np.clip(round(math.log2(side_m / width)), 0, _TALLEST))

    @staticmethod
    def shares(height: int) -> list[Fraction]:
        """Each level's share of epsilon, from the root: growing by the cube root of 2."""
        parts = [round(50 * 2 ** (level / 3)) for level in range(height + 1)]
        return [Fraction(part, sum(parts)) for part in parts]

    def check(self, region: Region, terms: Terms) -> None:
        """Any terms will do."""

    def build(self, records: Points, terms: Terms) -> Release:
        """Count every level, and reconcile."""
        n, left, bought = (
            (terms.n, terms, ()) if self.height is not None else with_n(records, terms)
        )
        region = records.region
        height = self.height_for(region.side_m, n or 0, left.record_epsilon)
        shares = self.shares(height)
        levels: list[NDArray] = []
        spends: list[Spend] = []
        for level, share in enumerate(shares):
            counts, spend = noisy_histogram(
                Grid(region, 2**level).count(records),
                left.epsilon * share,
                left.unit.sensitivity,
                left.entropy,
            )
            levels.append(counts)
            spends.append(spend)
        assumed = [float(share) ** -2 for share in shares]
        variances = [noise_variance(spend.epsilon, left.unit.sensitivity) for spend in spends]
        noise = BlockNoise.consistent([len(a) for a in levels], assumed, variances)
        model = GridModel(Grid(region, 2**height), consistent(levels, assumed), noise)
        return publish(self, terms, (*bought, *spends), model, n)


def consistent(levels: Sequence[NDArray], variances: Sequence[float]) -> NDArray[np.float64]:
    """The smallest squares' counts that fit noisy counts of all levels best, shape (m, m).

    Parameters
    ----------
    levels : sequence of ndarray, shape (2^d, 2^d)
        Noisy counts, from the root.
    variances : sequence of float
        Of each level's noise, in any unit.

    Examples
    --------
    >>> consistent([np.array([[18]]), np.array([[1, 2], [3, 4]])], [1, 1])
    array([[2.6, 3.6], [4.6, 5.6]])

    Notes
    -----
    Weighted least squares, in one pass up, where a square's count is averaged with the sum of its
    quarters' by their precision, and one down, where what a square's quarters lack is shared out.
    """
    best, variance = [np.asarray(levels[-1], float)], float(variances[-1])
    for own, spread in zip(levels[-2::-1], variances[-2::-1], strict=True):
        of_sum = 4 * variance
        weight = of_sum / (of_sum + spread)
        best.append(weight * own + (1 - weight) * _quarters_sum(best[-1]))
        variance = weight * spread
    counts = best.pop()
    while best:
        below = best.pop()
        lacking = (counts - _quarters_sum(below)) / 4
        counts = below + lacking.repeat(2, axis=0).repeat(2, axis=1)
    return counts


def _quarters_sum(level: NDArray[np.float64]) -> NDArray[np.float64]:
    half = len(level) // 2
    return level.reshape(half, 2, half, 2).sum(axis=(1, 3))
