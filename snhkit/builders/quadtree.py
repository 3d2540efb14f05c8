"""The complete quadtree: consistent noisy counts of squares of every size."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from snhkit.builders.base import MAX_CELLS_PER_SIDE, publish
from snhkit.builders.cell_width import default_cell_width
from snhkit.builders.hierarchical import measured
from snhkit.checks import whole
from snhkit.geometry import Region
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

_MAX_HEIGHT = int(math.log2(MAX_CELLS_PER_SIDE))
# The share of ``record_epsilon`` that the smallest squares of a tall tree get, by ``exponent``.
_SMALLEST_SHARE = {2: 0.2, 1: 0.54}


@dataclass(frozen=True)
class QuadTree:
    """Noisy counts at every level of a complete quadtree, made consistent by least squares.

    The region is divided into quarters again and again, and the squares of every level are counted;
    levels of smaller squares get larger shares of epsilon. The count of a square and the sum of its
    quarters estimate the same number. Least squares gives the consistent counts that are closest to
    all noisy counts.

    Parameters
    ----------
    height : int, optional
        The number of times that each side of the region is halved, from 0 to 13; the smallest
        squares are a grid of 2^height cells per side. By default the smallest squares are about as
        wide as ``default_cell_width`` for the epsilon of their level.

    Raises
    ------
    InputError
        If ``height`` is not a whole number in its range.

    Examples
    --------
    >>> QuadTree().height_for(side_m=13_200, n=217_438, epsilon=0.2)
    8
    >>> [str(share) for share in QuadTree.shares(1)]
    ['50/113', '63/113']

    Notes
    -----
    Cormode, Procopiuc, Srivastava, Shen and Yu, "Differentially Private Spatial Decompositions",
    ICDE 2012: shares of epsilon that grow geometrically with depth (Sec. 4.2), and ordinary least
    squares (Sec. 5).
    """

    height: int | None = None
    gaussian: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.height is not None:
            whole("height", self.height, least=0, most=_MAX_HEIGHT)

    def height_for(self, side_m: float, n: int, epsilon: float, exponent: int = 2) -> int:
        """Return the height of the tree, from 0 to 13: how often the region is halved.

        ``epsilon`` is divided by the sensitivity, as ``Measurements.record_epsilon``; it and ``n``
        are not used if ``height`` is given. ``exponent`` is 1 for Gaussian noise (see
        ``Terms.exponent``).
        """
        if self.height is not None:
            return int(self.height)
        width = default_cell_width(n, _SMALLEST_SHARE[exponent] * epsilon)
        return int(np.clip(round(math.log2(side_m / width)), 0, _MAX_HEIGHT))

    @staticmethod
    def shares(height: int, exponent: int = 2) -> list[Fraction]:
        """Return the share of the privacy cost of each level, from the root downwards.

        They add up to 1, and grow by about the cube root of 2 from level to level; with an exponent
        of 1, for Gaussian noise, by the square root.
        """
        parts = [round(50 * 2 ** (level / (exponent + 1))) for level in range(height + 1)]
        return [Fraction(part, sum(parts)) for part in parts]

    def check(self, region: Region, terms: Terms) -> None:
        """Do nothing, because the method works in every region and with all terms."""

    def build(self, private: Measurements) -> Release:
        """Return a release of consistent noisy counts of the smallest squares."""
        n = private.number() if self.height is None else 0
        exponent = private.exponent
        epsilon, side_m = private.record_epsilon, private.region.side_m
        height = self.height_for(side_m, n, epsilon, exponent)
        sides = [2**level for level in range(height + 1)]
        return publish(self, private, measured(private, sides, self.shares(height, exponent)))
