"""Relative errors of estimated counts, and the sizes of squares for which tables show them."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["SIZE_BANDS_M", "band_name", "relative_errors", "smoothing"]

SIZE_BANDS_M = ((25.0, 100.0), (100.0, 300.0), (300.0, 1_000.0), (1_000.0, 5_000.0))
"""The default size bands: for each, the smallest and the largest side of squares in metres."""


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


def band_name(sizes_m: tuple[float, float]) -> str:
    """Return the name of a range of sizes: the smallest and the largest side, with a unit.

    Examples
    --------
    >>> [band_name(band) for band in SIZE_BANDS_M]
    ['25-100 m', '100-300 m', '300-1,000 m', '1-5 km']
    """
    low, high = sizes_m
    if low >= 1_000:
        return f"{low / 1_000:g}-{high / 1_000:g} km"
    return f"{low:,g}-{high:,g} m"
