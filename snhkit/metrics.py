"""Relative errors of estimated counts, and the sizes of squares for which tables show them."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["SIZE_BANDS_M", "band_name", "relative_errors", "smoothing"]

SIZE_BANDS_M = ((25.0, 100.0), (100.0, 300.0), (300.0, 1_000.0), (1_000.0, 5_000.0))
"""The default size bands: for each, the smallest and the largest side of squares in metres."""


def smoothing(n: int) -> float:
    """Return the paper's psi, 0.1 % of ``n``: the least denominator of a relative error."""
    return n / 1000


def relative_errors(
    estimate: NDArray[np.float64], truth: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Return abs(estimate - truth) / max(truth, psi): the paper's Delta (Sec. 2.2), shape (q,)."""
    return np.abs(estimate - truth) / np.maximum(truth, max(smoothing(n), np.finfo(float).tiny))


def band_name(sizes_m: tuple[float, float]) -> str:
    """Return the name of a range of sizes, such as "25-100 m" or "1-5 km"."""
    low, high = sizes_m
    if low >= 1_000:
        return f"{low / 1_000:g}-{high / 1_000:g} km"
    return f"{low:,g}-{high:,g} m"
