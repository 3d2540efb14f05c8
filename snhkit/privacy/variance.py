"""How wide the noise is; nothing is drawn here."""

import math
from fractions import Fraction

__all__ = ["noise_variance"]


def noise_variance(epsilon: Fraction, sensitivity: int) -> float:
    """The variance of the noise in each count that ``noisy_histogram`` gives for these.

    Examples
    --------
    >>> noise_variance(Fraction(1, 10), sensitivity=1)
    199.83...

    Notes
    -----
    Of the discrete Laplace law of scale s: 2 e^(-1/s) / (1 - e^(-1/s))^2, nearly 2 s^2 - 1/6.
    """
    inverse = float(epsilon / sensitivity)
    return 2 * math.exp(-inverse) / math.expm1(-inverse) ** 2
