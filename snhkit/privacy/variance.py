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
    """Noisy numbers with independent noise, and its public variance, in squared records."""

    values: NDArray[np.int64]
    variance: float


def noise_variance(price: Fraction | Rho, sensitivity: int) -> float:
    """Return the variance of the noise in a count, in squared records.

    Parameters
    ----------
    price : Fraction or Rho
        The cost of the histogram or count: an epsilon for Laplace noise, a Rho for Gaussian noise.
    sensitivity : int
        The largest total change of the counts when one unit of privacy is added or removed.

    Examples
    --------
    >>> noise_variance(Fraction(1, 10), sensitivity=1)
    199.83...

    Notes
    -----
    Discrete Laplace noise of scale s has the variance 2 e^(-1/s) / (1 - e^(-1/s))^2, nearly 2 s^2 -
    1/6. That of discrete Gaussian noise is s^2, up to rounding errors, from s = 3 on; below, it is
    computed as a sum over the integers.
    """
    if isinstance(price, Rho):
        scale = float(gaussian_scale(price, sensitivity))
        x = np.arange(1, 40) if scale < 3 else np.zeros(0)
        weights = np.exp(-((x / scale) ** 2) / 2)
        return 2 * float(weights @ x**2) / (1 + 2 * float(weights.sum())) if len(x) else scale**2
    inverse = float(price / sensitivity)
    return 2 * math.exp(-inverse) / math.expm1(-inverse) ** 2
