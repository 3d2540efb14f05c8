"""HDMM: noisy weighted sums of cell counts, with weights optimised for the expected boxes."""

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from snhkit.builders.base import publish, refuse_wide, sizes
from snhkit.builders.cell_width import default_cell_width, given_grid
from snhkit.checks import positive
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.geometry import Grid, Region
from snhkit.models.grid_model import GridModel
from snhkit.models.variance import AxisNoise
from snhkit.privacy import Measurements, Terms
from snhkit.progress import steps
from snhkit.release import Release

_MAX_CELLS_PER_SIDE = 1024
_MAX_BITS = 15  # the integer weights of a cell add up to about 2^15
_MAX_SCALE = 2**48  # rounding can double column sums along both axes, and 2^50 is the limit

_MAX_EXTRA_ROWS = 32
_SAMPLES = 2**19
_START_STEPS, _FINAL_STEPS = 25, 75  # of L-BFGS, from each start and then from the best result


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
        """Return the default cell width in metres, at least 1/1,024 of the region's side.

        ``epsilon`` is divided by the sensitivity, as ``Measurements.record_epsilon``.
        """
        expected = (0.0, side_m * 2 / 3) if self.sizes_m is None else self.sizes_m
        return max(default_cell_width(n, epsilon, expected), side_m / _MAX_CELLS_PER_SIDE)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if boxes are wider than the region, or ``cell_m`` is too small."""
        if self.sizes_m is not None:
            refuse_wide("HDMM", self.sizes_m[1], region)
        given_grid(region, self.cell_m, _MAX_CELLS_PER_SIDE)

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
        """Return the sums to measure along an axis, as whole weights of m cells, shape (m + p, m).

        The columns of the optimised strategy are scaled to add up to about 2^15, or to less if
        epsilon (divided by the sensitivity) is so small that the noise would be too large to draw.
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
    """Return the covariance of least-squares counts along an axis, per variance of a sum."""
    real = weights.astype(np.float64)
    with one_thread():
        return np.linalg.inv((real.T @ real).toarray())


def least_squares(
    weights: csr_array, along: NDArray[np.float64], sums: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the counts X, shape (m, m), whose weighted sums A X A^T are closest to ``sums``."""
    half = weights.T @ sums.astype(np.float64)
    back = weights.T @ np.ascontiguousarray(half.T)
    with one_thread():
        return np.ascontiguousarray((along @ back @ along).T)


def p_identity(extra: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return [I; extra] with columns of sum 1, so that a record changes all sums by 1 in total."""
    rows = np.concatenate([np.eye(extra.shape[1]), extra])
    return rows / rows.sum(axis=0)


def one_thread() -> AbstractContextManager:
    """Return a context in which BLAS has one thread; on a busy machine, several are slow."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """Return a controller of the loaded BLAS libraries; they are searched for only once."""
    return ThreadpoolController()


@lru_cache(maxsize=16)
def best_extra_rows(m: int, lengths: tuple[float, float] | None) -> NDArray[np.float64]:
    """Return the rows with the least error for intervals: OPT_0 of McKenna et al., p = m / 16."""
    gram = interval_gram(m, lengths)
    p = min(max(m // 16, 1), _MAX_EXTRA_ROWS)
    best, least = np.zeros(p * m), float(np.trace(gram))  # the identity's loss, the upper limit

    def improved(start: NDArray, max_steps: int) -> tuple[float, NDArray]:
        found = minimize(
            loss_and_gradient,
            start,
            args=(gram,),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(0, np.inf),
            callback=lambda _: advance(),
            options={"maxiter": max_steps},
        )
        return float(found.fun), found.x

    starts = min(max(1024 // m, 2), 8)
    total = starts * _START_STEPS + _FINAL_STEPS
    with one_thread(), steps(total, "optimising the strategy") as advance:
        for seed in range(starts):
            start = np.random.default_rng(seed).uniform(0, min(1, 10 / p), p * m)
            loss, rows = improved(start, _START_STEPS)
            if loss < least:
                best, least = rows, loss
        if best.any():
            _, best = improved(best, _FINAL_STEPS)
    best = best.reshape(p, m)
    best.flags.writeable = False  # the cache returns the same array to every caller
    return best


def loss_and_gradient(
    flat: NDArray[np.float64], gram: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the mean squared error tr(G (A^T A)^-1) of intervals, and its gradient.

    With d the column sums of [I; T], A = [I; T] diag(d)^-1, and the inverse is diag(d) K diag(d)
    with K = I - T^T (I + T T^T)^-1 T, so only a p by p matrix is inverted.
    """
    m = len(gram)
    rows = flat.reshape(-1, m)
    sums = 1 + rows.sum(axis=0)
    right = np.linalg.solve(np.eye(len(rows)) + rows @ rows.T, rows)
    kernel = -(rows.T @ right)
    kernel[np.diag_indices(m)] += 1
    by_sums = (gram * kernel) @ sums
    weighted = ((right * sums) @ gram) * sums
    by_rows = weighted - (weighted @ rows.T) @ right
    return float(sums @ by_sums), (2 * (by_sums - by_rows)).ravel()


def interval_gram(m: int, lengths: tuple[float, float] | None) -> NDArray[np.float64]:
    """Return the mean of w w^T over intervals, where w holds their shares of m cells."""
    if lengths is None:
        cell = np.arange(m)
        low, high = np.minimum.outer(cell, cell), np.maximum.outer(cell, cell)
        return (low + 1) * (m - high) / (m * (m + 1) / 2)
    # Quasi-random points of the unit square (the additive recurrence of the plastic number).
    k = np.arange(_SAMPLES)
    length = lengths[0] + (lengths[1] - lengths[0]) * ((0.5 + k * 0.7548776662466927) % 1)
    start = (m - length) * ((0.5 + k * 0.5698402909980532) % 1)
    # Along the axis, w changes only around the two ends of the interval; it is the cumulative sum
    # of these changes.
    ends = np.stack([start, start + length])
    cell = np.minimum(ends.astype(np.int64), m - 1)
    part = ends - cell
    value = np.stack([1 - part[0], part[0], part[1] - 1, -part[1]])
    column = np.stack([cell[0], cell[0] + 1, cell[1], cell[1] + 1])
    row = np.broadcast_to(k, column.shape)
    changes = csr_array((value.ravel(), (row.ravel(), column.ravel())), shape=(len(k), m + 1))
    products = (changes.T @ changes).toarray()[:m, :m] / len(k)
    return products.cumsum(axis=0).cumsum(axis=1)
