"""The adaptive grid (AG): cells of a coarse grid are cut further where they hold more."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import Terms, positive, publish, with_n
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, Region
from snhkit.models.cell_noise import CellNoise
from snhkit.models.partition_model import PartitionModel
from snhkit.privacy import exact, noise_variance, noisy_histogram
from snhkit.release import Release

__all__ = ["AdaptiveGrid"]

_MOST_CELLS = 2**21
_MOST_CELLS_A_SIDE = 512  # of the first level


@dataclass(frozen=True)
class AdaptiveGrid:
    """A coarse grid whose crowded cells are cut into finer ones.

    Half of epsilon buys noisy counts of a coarse grid, which say where the crowds are. Each coarse
    cell is then cut into as many pieces as its noisy count deserves, and the other half buys counts
    of the pieces. A coarse count and the sum of its pieces measure the same thing, so both are
    moved to their weighted mean, which is less noisy than either.

    Parameters
    ----------
    alpha : float
        The first level's share of epsilon.
    c : float
        The constant of the first level's width; the second level's is half of it, the paper's c2.

    Examples
    --------
    >>> AdaptiveGrid().cells_per_side(n=217_438, epsilon=0.8)
    33
    >>> AdaptiveGrid().pieces(np.array([-3.0, 50.0, 5_000.0]), epsilon=0.8)
    array([ 1,  2, 20])

    Notes
    -----
    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013, Sec. 4.2.
    The standard error of an answer takes the cuts as given. They follow the first noise a little,
    which makes the true one larger by about 1 %.
    """

    alpha: float = 0.5
    c: float = 10.0

    def __post_init__(self) -> None:
        positive("alpha", self.alpha)
        positive("c", self.c)
        if self.alpha >= 1:
            raise InputError(f"alpha must be below 1, a share of epsilon, not {self.alpha!r}.")

    def cells_per_side(self, n: int, epsilon: float) -> int:
        """The first level's m1, for epsilon per record."""
        rule = math.sqrt(max(n, 0) * epsilon / self.c) / 4
        return min(max(10, math.ceil(rule)), _MOST_CELLS_A_SIDE)

    def pieces(self, noisy: NDArray, epsilon: float) -> NDArray[np.int64]:
        """The second level's m2 for each noisy count, for epsilon per record."""
        left = (1 - float(self.alpha)) * epsilon
        wanted = np.sqrt(np.maximum(noisy, 0) * left / (self.c / 2))
        pieces = np.maximum(np.ceil(wanted), 1)
        # Where there would be too many, all become coarser alike: the counts are noisy already.
        shrink = math.sqrt(min(1, (_MOST_CELLS - pieces.size) / (pieces**2).sum()))
        return np.maximum(np.floor(pieces * shrink), 1).astype(np.int64)

    def check(self, region: Region, terms: Terms) -> None:
        """Any terms will do."""

    def build(self, records: Points, terms: Terms) -> Release:
        """Count coarsely, cut, count finely, and reconcile."""
        n, left, bought = with_n(records, terms)
        grid = Grid(records.region, self.cells_per_side(n, left.record_epsilon))
        share = left.epsilon * exact(self.alpha)
        how = left.unit.sensitivity, left.entropy
        coarse, first = noisy_histogram(grid.count(records), share, *how)
        pieces = self.pieces(coarse, left.record_epsilon)
        cells = Partition.split(grid, pieces)
        fine, second = noisy_histogram(cells.count(records), left.epsilon - share, *how)
        alpha = exact(self.alpha)
        noise = noise_left(
            pieces, alpha, *(noise_variance(s.epsilon, how[0]) for s in (first, second))
        )
        model = PartitionModel(cells, consistent(coarse, pieces, fine, alpha), noise)
        return publish(self, terms, (*bought, first, second), model, n)


def consistent(
    coarse: NDArray, pieces: NDArray[np.int64], fine: NDArray, alpha: Fraction
) -> NDArray[np.float64]:
    """The pieces' counts, shape (c,), moved so that they sum to the best estimate of their cell.

    Parameters
    ----------
    coarse : ndarray, shape (m, m)
        Noisy counts of cells.
    pieces : ndarray of int, shape (m, m)
        Each was cut into so many pieces a side.
    fine : ndarray, shape (c,)
        Noisy counts of the pieces, cell after cell.
    alpha : Fraction
        The share of epsilon that bought ``coarse``.

    Examples
    --------
    >>> consistent(np.array([[10]]), np.array([[2]]), np.array([1, 2, 3, 4]), Fraction(1, 2))
    array([1., 2., 3., 4.])
    >>> consistent(np.array([[20]]), np.array([[1]]), np.array([10]), Fraction(1, 2))
    array([15.])
    """
    parts = pieces.ravel() ** 2
    cell = np.repeat(np.arange(parts.size), parts)
    sums = np.bincount(cell, fine, minlength=parts.size)
    return fine + (_weight(parts, alpha) * (coarse.ravel() - sums) / parts)[cell]


def noise_left(
    pieces: NDArray[np.int64], alpha: Fraction, of_coarse: float, of_fine: float
) -> CellNoise:
    """The noise of ``consistent`` counts, for given variances of the coarse and the fine ones.

    Notes
    -----
    Let a box cover the fraction f_i of piece i and F of a cell of k pieces, whose coarse count
    weighs w. In its answer the noise of piece i has the factor f_i - w F and the coarse one w F,
    and the f_i of the cell add up to k F.
    """
    weight = _weight(pieces**2, alpha)
    return CellNoise(
        of_fine, of_fine * pieces**2 * (weight**2 - 2 * weight) + of_coarse * weight**2
    )


def _weight(parts: NDArray[np.int64], alpha: Fraction) -> NDArray[np.float64]:
    """Of the coarse count of a cell, against the sum of so many parts."""
    # The variances are as 1 / alpha^2 for a cell, and as parts / (1 - alpha)^2 for its sum.
    of_coarse = float(alpha) ** 2 * parts
    return of_coarse / (of_coarse + (1 - float(alpha)) ** 2)
