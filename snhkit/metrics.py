"""Relative errors of estimated counts."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["relative_errors", "smoothing"]


def smoothing(n: int) -> float:
    """Return the paper's psi, which is 0.1 % of the number of records ``n``.

    In a relative error, the error is divided by the true count, or by psi if the count is smaller.

    Examples
    --------
    >>> smoothing(200_000)
    200.0
    """
    return n / 1000


def relative_errors(
    estimate: NDArray[np.float64], truth: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Return the relative error of each of q estimated counts, shape (q,).

    The error, which the paper calls Delta (Sec. 2.2), is abs(estimate - truth) / max(truth, psi)
    with psi = 0.001 n.

    Parameters
    ----------
    estimate, truth : ndarray, shape (q,)
        The estimated and the true counts of q boxes.
    n : int
        The number of records.

    Examples
    --------
    >>> relative_errors(np.array([5.0, 30.0]), np.array([0, 20]), n=10_000)
    array([0.5, 0.5])
    """
    return np.abs(estimate - truth) / np.maximum(truth, max(smoothing(n), np.finfo(float).tiny))
