"""Privelet: noise on the wavelet coefficients of a grid of counts."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from snhkit.builders.base import Terms, positive, publish, with_n_unless
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.geometry import Grid, Points, Region
from snhkit.models.grid_model import GridModel
from snhkit.models.grid_noise import BlockNoise
from snhkit.privacy import column_norm, noise_variance, noisy_products
from snhkit.release import Release

__all__ = ["Privelet"]

_LEAST, _MOST = 3, 11  # of the default's halvings: a map, and a build within a gigabyte

# A record changes (log2(m) + 1)^2 differences, so a cell has the noise of an epsilon some fifty
# times smaller, and small differences are lost in it. On St. Louis's incidents this share chose the
# best of 32 to 512 cells a side at epsilons of 0.05, 0.2 and 0.8, for large boxes and small.
_SHARE = 1 / 200


@dataclass(frozen=True)
class Privelet:
    """Noise on the Haar wavelet transform of a grid of counts.

    What is measured are not cells but differences: how many more records the left half of a
    stretch holds than its right half, for stretches of every size in both directions. A large box
    is the sum of few of these where it would be the sum of thousands of cells, so it gets far less
    noise. A small one gets more, since a record changes many differences, and each pays for all.

    Parameters
    ----------
    cell_m : float, optional
        Cell width in metres, made smaller so that 2^k cells a side fill the region; from
        ``default_cell_width`` otherwise, at a share of epsilon.

    Examples
    --------
    >>> Privelet().halvings(side_m=13_200, n=217_438, epsilon=0.2)
    6

    Notes
    -----
    Xiao, Wang and Gehrke, "Differential Privacy via Wavelet Transforms", TKDE 2011: Haar wavelets
    (Sec. 4) in two dimensions by the standard decomposition (Sec. 6). Their noise is inversely
    proportional to a coefficient's weight; times the weight, a coefficient is a difference of two
    counts, and all get the same noise.
    """

    cell_m: float | None = None

    def __post_init__(self) -> None:
        if self.cell_m is not None:
            positive("cell_m", self.cell_m)

    def halvings(self, side_m: float, n: int, epsilon: float) -> int:
        """The k of the 2^k cells a side, for epsilon per record."""
        if self.cell_m is not None:
            return math.ceil(math.log2(max(side_m / self.cell_m * (1 - 1e-12), 1)))
        width = default_cell_width(n, _SHARE * epsilon)
        return int(np.clip(round(math.log2(side_m / width)), _LEAST, _MOST))

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse more cells than fit in memory."""
        if self.cell_m is not None:
            Grid(region, 2 ** self.halvings(region.side_m, 0, 1))

    def build(self, records: Points, terms: Terms) -> Release:
        """Transform the counts, add noise, and transform back."""
        n, left, bought = with_n_unless(self.cell_m, records, terms)
        k = self.halvings(records.region.side_m, n or 0, left.record_epsilon)
        grid, haar = Grid(records.region, 2**k), haar_matrix(k)
        noisy, spend = noisy_products(
            grid.count(records), haar, left.epsilon, left.unit.sensitivity, left.entropy
        )
        change = left.unit.sensitivity * column_norm(haar) ** 2
        noise = wavelet_noise(k, noise_variance(spend.epsilon, change))
        model = GridModel(grid, inverted(haar, noisy), noise)
        return publish(self, terms, (*bought, spend), model, n)


def haar_matrix(k: int) -> csr_array:
    """The weighted Haar transform of 2^k numbers, shape (2^k, 2^k), of integers.

    The first row sums them all; below it, one row a stretch of the hierarchy of halves takes the
    sum of its right half from that of its left half.

    Examples
    --------
    >>> haar_matrix(2).toarray()
    array([[ 1,  1,  1,  1],
           [ 1,  1, -1, -1],
           [ 1, -1,  0,  0],
           [ 0,  0,  1, -1]])
    """
    m = 2**k
    cell, level = np.arange(m), np.arange(k)[:, None]
    stretch = 2**level + (cell >> (k - level))
    sign = 1 - 2 * (cell >> (k - level - 1) & 1)
    rows = np.concatenate([np.zeros((1, m), np.int64), stretch])
    signs = np.concatenate([np.ones((1, m), np.int64), sign])
    return csr_array((signs.ravel(), (rows.ravel(), np.tile(cell, k + 1))), shape=(m, m))


def wavelet_noise(k: int, variance: float) -> BlockNoise:
    """The noise of the counts where that of each coefficient has a variance.

    Notes
    -----
    Along an axis, coefficients of the halves of stretches of s cells make w (P - Q) w / s, where P
    and Q are the averages over halves and over whole stretches. The total makes w P w / m, where P
    is the average over all.
    """
    m = 2**k
    parts = np.concatenate([[1], 2 ** np.arange(k)]) / m
    along = parts - np.append(parts[1:], 0)
    weights = variance * np.outer(along, along)
    return BlockNoise(
        tuple(2**level for level in range(k + 1)), tuple(map(tuple, weights.tolist()))
    )


def inverted(haar: csr_array, sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """The counts whose transform in both directions is ``sums``, shape (m, m).

    Examples
    --------
    >>> inverted(haar_matrix(1), np.array([[10, 4], [2, 0]]))
    array([[4., 2.],
           [3., 1.]])
    """
    # The rows are orthogonal, and the square of one's length is the number of its entries.
    back = (haar / abs(haar).sum(axis=1)[:, None]).T
    half = back @ sums
    return np.ascontiguousarray((back @ np.ascontiguousarray(half.T)).T)
