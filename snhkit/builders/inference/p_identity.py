"""What to measure along an axis so that intervals of given lengths come out well: p-Identity."""

from contextlib import AbstractContextManager
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from snhkit.progress import steps

__all__ = ["best_extra_rows", "interval_gram", "loss_and_gradient", "one_thread", "p_identity"]

_MOST_EXTRA = 32
_SAMPLES = 2**19
_FIRST_STEPS, _STEPS = 25, 75


def p_identity(extra: NDArray[np.float64]) -> NDArray[np.float64]:
    """The strategy of some extra rows, shape (m + p, m): the identity over them, columns scaled.

    Each column sums to 1, so that a record changes all that is measured by 1 in total.

    Parameters
    ----------
    extra : ndarray, shape (p, m)
        The paper's Theta, not negative.

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
    """Products of matrices by one thread: on a busy machine many wait for each other, for long."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@lru_cache(maxsize=16)
def best_extra_rows(m: int, lengths: tuple[float, float] | None) -> NDArray[np.float64]:
    """The extra rows, shape (p, m), that serve random intervals best; of public numbers alone.

    Parameters
    ----------
    m : int
        Cells along the axis.
    lengths : (float, float), optional
        Of intervals, in cells, as in ``interval_gram``.

    Notes
    -----
    McKenna, Miklau, Hay and Machanavajjhala, "Optimizing error of high-dimensional statistical
    queries under differential privacy", PVLDB 2018: OPT_0 (Sec. 5) with their p of m / 16, up to
    32 rows. L-BFGS from a few random starts, of which the best goes on.
    """
    gram = interval_gram(m, lengths)
    p = min(max(m // 16, 1), _MOST_EXTRA)
    best, least = np.zeros(p * m), float(np.trace(gram))  # as good as the identity at least

    def improved(start: NDArray, most: int) -> tuple[float, NDArray]:
        found = minimize(
            loss_and_gradient,
            start,
            args=(gram,),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(0, np.inf),
            callback=lambda _: advance(),
            options={"maxiter": most},
        )
        return float(found.fun), found.x

    starts = min(max(1024 // m, 2), 8)
    total = starts * _FIRST_STEPS + _STEPS
    with one_thread(), steps(total, "choosing what to measure") as advance:
        for seed in range(starts):
            start = np.random.default_rng(seed).uniform(0, min(1, 10 / p), p * m)
            loss, rows = improved(start, _FIRST_STEPS)
            if loss < least:
                best, least = rows, loss
        if best.any():
            _, best = improved(best, _STEPS)
    best = best.reshape(p, m)
    best.flags.writeable = False  # it is shared by all that ask again
    return best


def loss_and_gradient(
    flat: NDArray[np.float64], gram: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The mean squared error of the intervals, in units of the noise, and its gradient.

    Parameters
    ----------
    flat : ndarray, shape (p * m,)
        Extra rows T, one after the other.
    gram : ndarray, shape (m, m)
        The workload's W^T W.

    Notes
    -----
    It is tr(W^T W (A^T A)^-1) for the strategy A. With d for the column sums of [I; T], the inverse
    is diag(d) K diag(d) with K = (I + T^T T)^-1 = I - T^T R and R = (I + T T^T)^-1 T, of which only
    p by p is inverted.
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
    """The mean of w w^T over intervals, shape (m, m), where w is how much of each cell lies inside.

    Parameters
    ----------
    m : int
        Cells along the axis.
    lengths : (float, float), optional
        The intervals' lengths are uniform between these, in cells, and their places uniform within
        the axis. By default all intervals of whole cells are meant, each once.

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
    # Points that fill the square evenly (the additive recurrence of the plastic number).
    k = np.arange(_SAMPLES)
    length = lengths[0] + (lengths[1] - lengths[0]) * ((0.5 + k * 0.7548776662466927) % 1)
    start = (m - length) * ((0.5 + k * 0.5698402909980532) % 1)
    # Along the axis, w changes only around the interval's two ends: it is the sum of these steps.
    ends = np.stack([start, start + length])
    cell = np.minimum(ends.astype(np.int64), m - 1)
    part = ends - cell
    value = np.stack([1 - part[0], part[0], part[1] - 1, -part[1]])
    column = np.stack([cell[0], cell[0] + 1, cell[1], cell[1] + 1])
    row = np.broadcast_to(k, column.shape)
    steps = csr_array((value.ravel(), (row.ravel(), column.ravel())), shape=(len(k), m + 1))
    products = (steps.T @ steps).toarray()[:m, :m] / len(k)
    return products.cumsum(axis=0).cumsum(axis=1)
