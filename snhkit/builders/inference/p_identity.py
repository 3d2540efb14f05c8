"""p-Identity strategies: the optimal weighted sums along an axis for expected intervals."""

from contextlib import AbstractContextManager
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from snhkit.progress import steps

__all__ = ["best_extra_rows", "interval_gram", "loss_and_gradient", "one_thread", "p_identity"]

_MAX_EXTRA_ROWS = 32
_SAMPLES = 2**19
_START_STEPS, _FINAL_STEPS = 25, 75  # of L-BFGS, from each start and then from the best result


def p_identity(extra: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an identity matrix stacked on extra rows, with each column scaled to the sum 1.

    Because of the scaling, one record changes all measured sums by 1 in total.

    Examples
    --------
    >>> p_identity(np.array([[1.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 1. ],
           [0.5, 0. ]])
    """
    rows = np.concatenate([np.eye(extra.shape[1]), extra])
    return rows / rows.sum(axis=0)


def one_thread() -> AbstractContextManager:
    """Return a context manager that limits BLAS to one thread.

    On a busy machine, several threads would spend much time waiting for each other.
    """
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """Return a controller of the loaded BLAS libraries; they are searched for only once."""
    return ThreadpoolController()


@lru_cache(maxsize=16)
def best_extra_rows(m: int, lengths: tuple[float, float] | None) -> NDArray[np.float64]:
    """Return the extra rows of the p-Identity strategy with the least error for intervals.

    The search uses public numbers only.

    Notes
    -----
    McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical
    queries under differential privacy", PVLDB 2018: OPT_0 (Sec. 5) with p = m / 16 as in the paper,
    but at most 32 rows. L-BFGS takes a few steps from each of several random starts, and continues
    from the best result.
    """
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
    """Return the mean squared error of intervals under a p-Identity strategy, and its gradient.

    Notes
    -----
    Let d be the column sums of [I; T]. The strategy is A = [I; T] diag(d)^-1, whose columns add up
    to 1, and the error is tr(G (A^T A)^-1). The inverse is diag(d) K diag(d) with
    K = (I + T^T T)^-1 = I - T^T R and R = (I + T T^T)^-1 T, so only a p by p matrix is inverted.
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
    """Return the mean of w w^T over intervals, where w holds the covered share of each cell.

    Examples
    --------
    >>> interval_gram(2, None) * 3
    array([[2., 1.],
           [1., 2.]])
    >>> interval_gram(2, (2, 2))
    array([[1., 1.],
           [1., 1.]])
    """
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
