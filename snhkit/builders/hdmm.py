"""HDMM: sums of cells, chosen for the queries that are expected, with noise."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from snhkit.builders.base import Terms, positive, publish, sizes, with_n_unless
from snhkit.builders.inference.p_identity import best_extra_rows, one_thread, p_identity
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.models.axis_noise import AxisNoise
from snhkit.models.grid_model import GridModel
from snhkit.privacy import column_norm, noise_variance, noisy_products
from snhkit.release import Release

__all__ = ["HDMM"]

_MOST = 1024
_FINEST = 15
_MOST_SCALE = 2**48  # rounding can double a column, and noise is drawn up to a scale of 2^50


@dataclass(frozen=True)
class HDMM:
    """Noisy sums of cells that were chosen for the sizes of boxes that will be asked.

    Before any record is looked at, an optimiser searches for the sums of cells along an axis, of
    any weights, from whose noisy values intervals of the declared sizes come out best. What it
    finds is measured in both directions at once, with noise, and least squares turns it into
    counts of cells. For small boxes it comes back to the cells themselves, for large ones to
    something like a hierarchy, without being told of either.

    Parameters
    ----------
    cell_m : float, optional
        Cell width in metres, made a little smaller so that whole cells fill the region; otherwise
        what ``width`` says.
    sizes_m : (float, float) or None
        Sides of the boxes that will be asked, in metres, uniform between the two and anywhere in
        the region; None for all boxes alike.

    Examples
    --------
    >>> round(HDMM(sizes_m=(1_000, 5_000)).width(side_m=13_200, n=217_438, epsilon=0.2))
    178

    Notes
    -----
    McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical
    queries under differential privacy", PVLDB 2018: a Kronecker product of p-Identity strategies.
    The two sides of a box are taken to be independent. Searching takes seconds, once for a number
    of cells and sizes.
    """

    cell_m: float | None = None
    sizes_m: tuple[float, float] | None = DEFAULT_SIZES_M

    def __post_init__(self) -> None:
        if self.cell_m is not None:
            positive("cell_m", self.cell_m)
        if self.sizes_m is not None:
            object.__setattr__(self, "sizes_m", sizes(self.sizes_m, "None or "))

    def width(self, side_m: float, n: int, epsilon: float) -> float:
        """The default cell width in metres, for epsilon per record: that of its sizes."""
        wanted = (0.0, side_m * 2 / 3) if self.sizes_m is None else self.sizes_m
        return max(default_cell_width(n, epsilon, wanted), side_m / _MOST)

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse boxes that the region cannot hold, and more cells than can be searched for."""
        if self.sizes_m is not None and self.sizes_m[1] > region.side_m:
            raise InputError(
                f"HDMM: boxes of up to {self.sizes_m[1]:g} m are wider than the region of "
                f"{region.side_m:g} m."
            )
        if self.cell_m is not None and Grid.of_width(region, self.cell_m).m > _MOST:
            raise InputError(
                f"HDMM: cell_m = {self.cell_m:g} makes more than {_MOST:,} cells a side, too many "
                f"to search for what to measure; {region.side_m / _MOST:.3g} m or more will do."
            )

    def build(self, records: Points, terms: Terms) -> Release:
        """Choose what to measure, measure it, and compute the cells."""
        n, left, bought = with_n_unless(self.cell_m, records, terms)
        side_m = records.region.side_m
        width = self.cell_m or self.width(side_m, n or 0, left.record_epsilon)
        grid = Grid.of_width(records.region, width)
        weights = self.weights(grid, left.record_epsilon)
        noisy, spend = noisy_products(
            grid.count(records), weights, left.epsilon, left.unit.sensitivity, left.entropy
        )
        change = left.unit.sensitivity * column_norm(weights) ** 2
        deviation = math.sqrt(noise_variance(spend.epsilon, change))
        along = covariance(weights)
        noise = AxisNoise(grid, (deviation * along).astype(np.float32))
        model = GridModel(grid, least_squares(weights, along, noisy), noise)
        return publish(self, terms, (*bought, spend), model, n)

    def weights(self, grid: Grid, epsilon: float) -> csr_array:
        """What is measured along an axis, shape (m + p, m), for epsilon per record.

        Whole numbers that add up to 2^15 or so in each column: what the optimiser found, rounded
        to a lattice that is coarser only where epsilon is so small that noise could not be drawn.
        """
        low, high = self.sizes_m or (0, 0)
        lengths = None if self.sizes_m is None else (low / grid.cell_m, high / grid.cell_m)
        room = math.floor(math.log2(_MOST_SCALE * epsilon) / 2)
        strategy = p_identity(best_extra_rows(grid.m, lengths)) * 2 ** min(room, _FINEST)
        whole = np.rint(strategy).astype(np.int64)
        # However coarse the lattice, each cell can be told.
        whole[np.diag_indices(grid.m)] = np.maximum(whole.diagonal(), 1)
        return csr_array(whole)


def covariance(weights: csr_array) -> NDArray[np.float64]:
    """Of least-squares estimates along an axis, shape (m, m), in units of the noise's variance."""
    real = weights.astype(np.float64)
    with one_thread():
        return np.linalg.inv((real.T @ real).toarray())


def least_squares(
    weights: csr_array, along: NDArray[np.float64], sums: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The counts X, shape (m, m), whose weighted sums A X A^T are nearest to ``sums``.

    Examples
    --------
    >>> rows = csr_array([[1, 0], [0, 1], [1, 1]])
    >>> least_squares(rows, covariance(rows), rows @ [[1, 2], [3, 4]] @ rows.T)
    array([[1., 2.],
           [3., 4.]])
    """
    half = weights.T @ sums.astype(np.float64)
    back = weights.T @ np.ascontiguousarray(half.T)
    with one_thread():
        return np.ascontiguousarray((along @ back @ along).T)
