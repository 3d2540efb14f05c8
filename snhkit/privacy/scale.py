"""Scales and variances of noise, which are computed from public numbers only."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snhkit.checks import whole
from snhkit.privacy.budget import MAX_PART
from snhkit.privacy.zcdp import Rho


def noise_scale(epsilon: Fraction, sensitivity: int) -> Fraction:
    """Return sensitivity / epsilon in 64-bit integers, if need be rounded up by 2**-40."""
    scale = whole("sensitivity", sensitivity, least=1) / epsilon
    if max(scale.numerator, scale.denominator) < MAX_PART:
        return scale
    parts = _parts(scale.numerator.bit_length() - scale.denominator.bit_length())
    return Fraction(math.ceil(scale * parts), parts)


def gaussian_scale(price: Rho, sensitivity: int) -> Fraction:
    """Return sensitivity (Euclidean) / sqrt(2 rho), rounded up by about one part in 2**40."""
    square = whole("sensitivity", sensitivity, least=1) ** 2 / (2 * price.value)
    parts = _parts((square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    return Fraction(math.isqrt(math.ceil(square * parts**2) - 1) + 1, parts)


def inverse_scale(price: Fraction | Rho, sensitivity: int) -> float:
    """Return 1 / scale of a count's noise; for a Rho, that of Laplace noise of equal variance."""
    if isinstance(price, Rho):
        return 2 * math.sqrt(price.value) / sensitivity
    return float(price / sensitivity)


def _parts(size: int) -> int:
    """Return a denominator d for which the product of d and 2**size has about 40 binary digits."""
    return 2 ** min(max(41 - size, 0), 61)


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
