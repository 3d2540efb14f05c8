"""The complete quadtree: noisy counts of squares of every size, made to agree."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from snhkit.builders.base import MOST_CELLS, Terms, publish, whole, with_n_unless
from snhkit.builders.inference.hierarchy import measured
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.errors import InputError
from snhkit.geometry import Points, Region
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
        n, left, bought = with_n_unless(self.height, records, terms)
        height = self.height_for(records.region.side_m, n or 0, left.record_epsilon)
        sides = [2**level for level in range(height + 1)]
        model, spends = measured(records, sides, self.shares(height), left)
        return publish(self, terms, (*bought, *spends), model, n)
