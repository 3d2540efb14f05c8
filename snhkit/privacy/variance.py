"""The variance of noise, which is computed from public numbers only."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snhkit.privacy.scale import gaussian_scale
from snhkit.privacy.zcdp import Rho

__all__ = ["Noisy", "noise_variance"]


class Noisy(NamedTuple):
    """Noisy counts or weighted sums of counts, and the variance of their noise.

    Parameters
    ----------
    values : ndarray of int64
        The noisy numbers, each with independent noise.
    variance : float
        The variance of the noise in each number, which is public, in squared records.
    """

    values: NDArray[np.int64]
    variance: float


def noise_variance(price: Fraction | Rho, sensitivity: int) -> float:
    """Return the variance of the noise in each count of ``noisy_histogram`` or ``noisy_count``.

    Parameters
    ----------
    price : Fraction or Rho
        The cost of the histogram or count: an epsilon for Laplace noise, a Rho for Gaussian noise.
    sensitivity : int
        The largest total change of the counts when one unit of privacy is added or removed.

    Returns
    -------
    float
        The variance, in squared records.

    Examples
    --------
    >>> noise_variance(Fraction(1, 10), sensitivity=1)
    199.83...

    Notes
    -----
    The discrete Laplace distribution of scale s = sensitivity / epsilon has the variance
    2 e^(-1/s) / (1 - e^(-1/s))^2, which is nearly 2 s^2 - 1/6. The variance of the discrete
    Gaussian distribution of scale s = sensitivity / sqrt(2 rho) is s^2, up to rounding errors, if s
    is 3 or more. For a smaller s, the variance is computed as a sum over the integers.
    """
    if isinstance(price, Rho):
        scale = float(gaussian_scale(price, sensitivity))
        x = np.arange(1, 40) if scale < 3 else np.zeros(0)
        weights = np.exp(-((x / scale) ** 2) / 2)
        return 2 * float(weights @ x**2) / (1 + 2 * float(weights.sum())) if len(x) else scale**2
    inverse = float(price / sensitivity)
    return 2 * math.exp(-inverse) / math.expm1(-inverse) ** 2
