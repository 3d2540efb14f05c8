"""The adaptive grid (AG): a coarse grid whose cells are divided where counts are large."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import publish
from snhkit.checks import positive, share
from snhkit.geometry import Grid, Partition, Region
from snhkit.models.partition_model import PartitionModel
from snhkit.models.variance import CellNoise
from snhkit.privacy import Measurements, Terms, exact
from snhkit.release import Release

_MAX_CELLS = 2**21
_MAX_COARSE_CELLS_PER_SIDE = 512


@dataclass(frozen=True)
class AdaptiveGrid:
    """Noisy counts of a coarse grid whose cells are divided further where counts are large.

    A share of epsilon, half by default, is spent on noisy counts of a coarse grid. Each coarse cell
    is divided into k by k equal pieces, where k grows with the noisy count, and the rest of epsilon
    is spent on noisy counts of the pieces. A coarse count and the sum of its pieces estimate the
    same number, so both are replaced by their weighted mean, which has less noise than either.

    Parameters
    ----------
    alpha : float
        The share of epsilon that is spent on the coarse counts, between 0 and 1.
    c : float
        The constant of the rules for the numbers of cells, greater than 0. A larger constant gives
        fewer cells. The coarse grid has about sqrt(n epsilon / c) / 4 cells per side, from 10 to
        512. The rule for k uses c / 2 instead of c.

    Raises
    ------
    InputError
        If ``alpha`` is not between 0 and 1, or ``c`` is not a positive, finite number.

    Examples
    --------
    >>> AdaptiveGrid().cells_per_side(n=217_438, epsilon=0.8)
    33
    >>> AdaptiveGrid().pieces(np.array([-3.0, 50.0, 5_000.0]), epsilon=0.8)
    array([ 1,  2, 20])

    Notes
    -----
    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013, Sec. 4.2.
    Standard errors are computed as if the pieces had been fixed in advance. Because the pieces
    depend on the coarse noise, the true errors are about 1 % larger.
    """

    alpha: float = 0.5
    c: float = 10.0

    def __post_init__(self) -> None:
        share("alpha", self.alpha)
        positive("c", self.c)

    def cells_per_side(self, n: int, epsilon: float) -> int:
        """Return the cells per side of the coarse grid, from 10 to 512 (m1 in the ICDE 2013 paper).

        ``epsilon`` is divided by the sensitivity, as ``Measurements.record_epsilon``.
        """
        rule = math.sqrt(max(n, 0) * epsilon / self.c) / 4
        return min(max(10, math.ceil(rule)), _MAX_COARSE_CELLS_PER_SIDE)

    def pieces(self, noisy: NDArray, epsilon: float) -> NDArray[np.int64]:
        """Return the pieces per side of each coarse cell, at least 1 (m2 in the ICDE 2013 paper).

        ``noisy`` holds the noisy counts of coarse cells; ``epsilon`` is that of both grids
        together, divided by the sensitivity. The result has the shape of ``noisy``.
        """
        left = (1 - float(self.alpha)) * epsilon
        wanted = np.sqrt(np.maximum(noisy, 0) * left / (self.c / 2))
        pieces = np.maximum(np.ceil(wanted), 1)
        # If all pieces together are too many, every cell gets fewer in the same proportion. This
        # depends on noisy counts only, so it costs no privacy.
        shrink = math.sqrt(min(1, (_MAX_CELLS - pieces.size) / (pieces**2).sum()))
        return np.maximum(np.floor(pieces * shrink), 1).astype(np.int64)

    def check(self, region: Region, terms: Terms) -> None:
        """Do nothing, because the method works in every region and with all terms."""

    def build(self, private: Measurements) -> Release:
        """Return a release of noisy counts of the pieces into which coarse cells are divided."""
        n, epsilon = private.number(), private.record_epsilon
        grid, alpha = Grid(private.region, self.cells_per_side(n, epsilon)), exact(self.alpha)
        coarse = private.histogram(grid, private.epsilon * alpha)
        pieces = self.pieces(coarse.values, epsilon)
        cells = Partition.split(grid, pieces)
        fine = private.histogram(cells, private.epsilon)
        noise = consistent_noise(pieces, alpha, coarse.variance, fine.variance)
        values = consistent(coarse.values, pieces, fine.values, alpha)
        return publish(self, private, PartitionModel(cells, values, noise))


def consistent(
    coarse: NDArray, pieces: NDArray[np.int64], fine: NDArray, alpha: Fraction
) -> NDArray[np.float64]:
    """Return counts of the pieces of coarse cells that sum to the best estimate of each cell."""
    parts = pieces.ravel() ** 2
    cell = np.repeat(np.arange(parts.size), parts)
    sums = np.bincount(cell, fine, minlength=parts.size)
    return fine + (_coarse_weight(parts, alpha) * (coarse.ravel() - sums) / parts)[cell]


def consistent_noise(
    pieces: NDArray[np.int64], alpha: Fraction, coarse_variance: float, fine_variance: float
) -> CellNoise:
    """Return the noise in the counts that ``consistent`` returns.

    In a box's answer, piece i of p has the factor f_i - w F, and the coarse count w F, for the
    covered fractions f_i and F of piece and cell and the coarse weight w; the f_i add up to p F.
    """
    weight = _coarse_weight(pieces**2, alpha)
    return CellNoise(
        fine_variance,
        fine_variance * pieces**2 * (weight**2 - 2 * weight) + coarse_variance * weight**2,
    )


def _coarse_weight(parts: NDArray[np.int64], alpha: Fraction) -> NDArray[np.float64]:
    """Return the weight of each coarse count in the mean of this count and the pieces' sum."""
    # In a common unit, a coarse count has the variance 1 / alpha^2, and the sum of the counts of
    # its pieces has the variance parts / (1 - alpha)^2. Weights are inversely proportional to
    # variances.
    coarse = float(alpha) ** 2 * parts
    return coarse / (coarse + (1 - float(alpha)) ** 2)
