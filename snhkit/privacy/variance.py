"""The variance of noise, a public number; this module draws no noise."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Noisy", "noise_variance"]


class Noisy(NamedTuple):
    """Noisy counts, and the public variance of their noise.

    Parameters
    ----------
    values : ndarray of int64
        The noisy counts, each with independent noise.
    variance : float
        The variance of each count's noise, in squared counts.
    """

    values: NDArray[np.int64]
    variance: float


def noise_variance(epsilon: Fraction, sensitivity: int) -> float:
    """Return the variance of the noise in each count of ``noisy_histogram`` or ``noisy_count``.

    Parameters
    ----------
    epsilon : Fraction
        The cost of the histogram or count.
    sensitivity : int
        The largest change of all counts in total when one unit of privacy is added or removed.

    Returns
    -------
    float
        The variance, in squared counts.

    Examples
    --------
    >>> noise_variance(Fraction(1, 10), sensitivity=1)
    199.83...

    Notes
    -----
    The discrete Laplace distribution of scale s = sensitivity / epsilon has the variance
    2 e^(-1/s) / (1 - e^(-1/s))^2, which is nearly 2 s^2 - 1/6.
    """
    inverse = float(epsilon / sensitivity)
    return 2 * math.exp(-inverse) / math.expm1(-inverse) ** 2
