"""Noise scales, which are computed from public numbers only."""

import math
from fractions import Fraction

from snhkit.checks import whole
from snhkit.privacy.budget import MAX_PART
from snhkit.privacy.zcdp import Rho

__all__ = ["gaussian_scale", "inverse_scale", "noise_scale"]


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
