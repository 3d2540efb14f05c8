"""Privelet: noisy wavelet coefficients of a grid of counts."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from snhkit.builders.base import publish
from snhkit.builders.cell_width import default_cell_width
from snhkit.checks import positive
from snhkit.geometry import Grid, Region
from snhkit.models.grid_model import GridModel
from snhkit.models.variance import BlockNoise
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

_MIN_HALVINGS, _MAX_HALVINGS = 3, 11  # the default uses at most a gigabyte of memory

# The default cell width is ``default_cell_width`` for this share of epsilon. A record changes
# (log2(m) + 1)^2 coefficients, so a cell is as noisy as with independent noise for an epsilon that
# is about fifty times smaller. On St. Louis's incidents this share chose the best of 32 to 512
# cells per side at epsilons of 0.05, 0.2 and 0.8, for large and for small boxes.
_EPSILON_SHARE = 1 / 200


@dataclass(frozen=True)
class Privelet:
    """Noisy Haar wavelet coefficients of a grid of counts.

    Along one axis, a coefficient is the difference between the counts in the two halves of an
    interval of 2^j cells, for every j. A coefficient of the grid combines such a difference along x
    with one along y. The count of a large box is a combination of few coefficients instead of
    thousands of cells, so the noise is much smaller. The noise of a small box is larger than that
    of independent cells, because a record changes many coefficients, and epsilon is divided among
    all of them.

    Parameters
    ----------
    cell_m : float, optional
        The cell width in metres, made smaller so that 2^k cells per side fill the region. By
        default, the width is about what ``default_cell_width`` gives for a 200th of epsilon.

    Raises
    ------
    InputError
        If ``cell_m`` is not a positive, finite number.

    Examples
    --------
    >>> Privelet().halvings(side_m=13_200, n=217_438, epsilon=0.2)
    6

    Notes
    -----
    Xiao, Wang and Gehrke, "Differential Privacy via Wavelet Transforms", TKDE 2011: Haar wavelets
    (Sec. 4) in two dimensions by the standard decomposition (Sec. 6). The paper's noise is
    inversely proportional to a coefficient's weight. Here coefficients are multiplied by their
    weights, which makes them differences of counts, and all of them get the same noise.
    """

    cell_m: float | None = None

    def __post_init__(self) -> None:
        if self.cell_m is not None:
            positive("cell_m", self.cell_m)

    def halvings(self, side_m: float, n: int, epsilon: float) -> int:
        """Return the number k of times that the region is halved, which gives 2^k cells per side.

        ``epsilon`` is divided by the sensitivity, as ``Measurements.record_epsilon``; it and ``n``
        are not used if ``cell_m`` is given. By default, k is from 3 to 11.
        """
        if self.cell_m is not None:
            return math.ceil(math.log2(max(side_m / self.cell_m * (1 - 1e-12), 1)))
        width = default_cell_width(n, _EPSILON_SHARE * epsilon)
        return int(np.clip(round(math.log2(side_m / width)), _MIN_HALVINGS, _MAX_HALVINGS))

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``cell_m`` makes more cells than a grid may have."""
        if self.cell_m is not None:
            Grid(region, 2 ** self.halvings(region.side_m, 0, 1))

    def build(self, private: Measurements) -> Release:
        """Return a release of the counts that are computed from the noisy coefficients."""
        n = private.number() if self.cell_m is None else 0
        k = self.halvings(private.region.side_m, n, private.record_epsilon)
        grid, haar = Grid(private.region, 2**k), haar_matrix(k)
        sums, variance = private.products(grid, haar, private.epsilon)
        model = GridModel(grid, inverted(haar, sums), wavelet_noise(k, variance))
        return publish(self, private, model)


def haar_matrix(k: int) -> csr_array:
    """Return the weighted Haar transform of m = 2^k numbers, an integer matrix of shape (m, m).

    Row 0 sums all numbers; every other row is the left half of an interval minus the right half.
    """
    m = 2**k
    cell, level = np.arange(m), np.arange(k)[:, None]
    interval = 2**level + (cell >> (k - level))
    sign = 1 - 2 * (cell >> (k - level - 1) & 1)
    rows = np.concatenate([np.zeros((1, m), np.int64), interval])
    signs = np.concatenate([np.ones((1, m), np.int64), sign])
    return csr_array((signs.ravel(), (rows.ravel(), np.tile(cell, k + 1))), shape=(m, m))


def wavelet_noise(k: int, variance: float) -> BlockNoise:
    """Return the noise of the counts, given the variance of the noise of each coefficient.

    For the covered shares w along an axis of m cells, coefficients of intervals of s cells add w (P
    - Q) w / s, where P averages over the halves of the intervals, and Q over whole ones; the total
    adds w R w / m, where R averages over all.
    """
    m = 2**k
    parts = np.concatenate([[1], 2 ** np.arange(k)]) / m
    along = parts - np.append(parts[1:], 0)
    weights = variance * np.outer(along, along)
    return BlockNoise(
        tuple(2**level for level in range(k + 1)), tuple(map(tuple, weights.tolist()))
    )


def inverted(haar: csr_array, sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the counts, shape (m, m), whose ``haar_matrix`` along both axes is ``sums``."""
    # The rows are orthogonal, and the squared length of a row is the number of its entries.
    back = (haar / abs(haar).sum(axis=1)[:, None]).T
    half = back @ sums
    return np.ascontiguousarray((back @ np.ascontiguousarray(half.T)).T)
