"""HDMM: noisy weighted sums of cell counts, with weights optimised for the expected boxes."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from snhkit.builders.base import publish, sizes
from snhkit.builders.inference.p_identity import best_extra_rows, one_thread, p_identity
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.checks import positive
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Region
from snhkit.models.axis_noise import AxisNoise
from snhkit.models.grid_model import GridModel
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

__all__ = ["HDMM"]

_MAX_CELLS_PER_SIDE = 1024
_MAX_BITS = 15  # the integer weights of a cell add up to about 2^15
_MAX_SCALE = 2**48  # rounding can double column sums along both axes, and 2^50 is the limit


@dataclass(frozen=True)
class HDMM:
    """Noisy weighted sums of cell counts, with weights optimised for the expected sizes of boxes.

    Before any record is used, an optimiser searches for a strategy: weighted sums of the cells
    along an axis, whose noisy values give the least error for intervals of the expected sizes. The
    same weights are used along both axes. The weighted sums of the grid are measured with noise,
    and least squares gives the counts of cells. For small boxes, the best strategy measures the
    cells themselves; for large boxes, it also measures sums of many cells.

    Parameters
    ----------
    cell_m : float, optional
        The cell width in metres, made a little smaller so that whole cells fill the region; at most
        1,024 cells per side. By default, the method ``width`` chooses the width.
    sizes_m : (float, float) or None
        The smallest and the largest side of the expected boxes, in metres. Sides are taken to be
        uniform between the two, and positions uniform in the region. With None, all boxes of whole
        cells are taken to be equally probable.

    Raises
    ------
    InputError
        If ``cell_m`` or ``sizes_m`` is out of its range.

    Examples
    --------
    >>> round(HDMM(sizes_m=(1_000, 5_000)).width(side_m=13_200, n=217_438, epsilon=0.2))
    178

    Notes
    -----
    McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical
    queries under differential privacy", PVLDB 2018: a Kronecker product of p-Identity strategies.
    The two sides of a box are taken to be independent. The search takes seconds, once for each
    number of cells and pair of sizes.
    """

    cell_m: float | None = None
    sizes_m: tuple[float, float] | None = DEFAULT_SIZES_M

    def __post_init__(self) -> None:
        if self.cell_m is not None:
            positive("cell_m", self.cell_m)
        if self.sizes_m is not None:
            object.__setattr__(self, "sizes_m", sizes(self.sizes_m, "None or "))

    def width(self, side_m: float, n: int, epsilon: float) -> float:
        """Return the default cell width in metres for boxes of the expected sizes.

        Parameters
        ----------
        side_m : float
            The side of the region in metres.
        n : int
            The number of records.
        epsilon : float
            Epsilon divided by the sensitivity, as ``Measurements.record_epsilon``.

        Returns
        -------
        float
            The width in metres, at least 1/1,024 of the region's side.
        """
        expected = (0.0, side_m * 2 / 3) if self.sizes_m is None else self.sizes_m
        return max(default_cell_width(n, epsilon, expected), side_m / _MAX_CELLS_PER_SIDE)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if boxes are wider than the region, or ``cell_m`` is too small."""
        if self.sizes_m is not None and self.sizes_m[1] > region.side_m:
            raise InputError(
                f"HDMM: boxes of up to {self.sizes_m[1]:g} m are wider than the region of "
                f"{region.side_m:g} m; give smaller sizes_m."
            )
        if self.cell_m is not None and Grid.of_width(region, self.cell_m).m > _MAX_CELLS_PER_SIDE:
            raise InputError(
                f"HDMM: cell_m = {self.cell_m:g} makes more than {_MAX_CELLS_PER_SIDE:,} cells per "
                "side, the most for which a strategy can be found; make cell_m "
                f"{region.side_m / _MAX_CELLS_PER_SIDE:.3g} or more."
            )

    def build(self, private: Measurements) -> Release:
        """Return a release of the least-squares counts of cells, given the noisy weighted sums."""
        width = self.cell_m
        if width is None:
            n = private.number()
            width = self.width(private.region.side_m, n, private.record_epsilon)
        grid = Grid.of_width(private.region, width)
        weights = self.weights(grid, private.record_epsilon)
        sums, variance = private.products(grid, weights, private.epsilon)
        along = covariance(weights)
        noise = AxisNoise(grid, (math.sqrt(variance) * along).astype(np.float32))
        return publish(self, private, GridModel(grid, least_squares(weights, along, sums), noise))

    def weights(self, grid: Grid, epsilon: float) -> csr_array:
        """Return the weighted sums to measure along an axis, as a matrix of integer weights.

        The columns of the optimised strategy are scaled to add up to about 2^15, and rounded to
        integers. They add up to less if epsilon is so small that the noise for 2^15 would be too
        large to draw.

        Parameters
        ----------
        grid : Grid
            The cells, m per side.
        epsilon : float
            Epsilon divided by the sensitivity, as ``Measurements.record_epsilon``.

        Returns
        -------
        scipy.sparse.csr_array of int64, shape (m + p, m)
            One row for each weighted sum: one for each of m cells, and p further sums.
        """
        low, high = self.sizes_m or (0, 0)
        lengths = None if self.sizes_m is None else (low / grid.cell_m, high / grid.cell_m)
        room = math.floor(math.log2(_MAX_SCALE * epsilon) / 2)
        strategy = p_identity(best_extra_rows(grid.m, lengths)) * 2 ** min(room, _MAX_BITS)
        rounded = np.rint(strategy).astype(np.int64)
        # Rounding must not remove a cell, or least squares has no unique solution.
        rounded[np.diag_indices(grid.m)] = np.maximum(rounded.diagonal(), 1)
        return csr_array(rounded)


def covariance(weights: csr_array) -> NDArray[np.float64]:
    """Return the covariance of the least-squares counts of m cells along an axis, shape (m, m).

    The covariance is in units of the variance of the noise in one measured sum. ``weights`` is the
    result of ``HDMM.weights``.
    """
    real = weights.astype(np.float64)
    with one_thread():
        return np.linalg.inv((real.T @ real).toarray())


def least_squares(
    weights: csr_array, along: NDArray[np.float64], sums: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the counts X, shape (m, m), whose weighted sums A X A^T are closest to ``sums``.

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
