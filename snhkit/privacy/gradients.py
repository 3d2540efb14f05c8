"""The Gaussian mechanism on sums of gradients, for a demonstration that is not published."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.privacy.entropy import Entropy
from snhkit.privacy.noise import gaussian_for_demonstration
from snhkit.privacy.spend import Spend

__all__ = ["gradient_noise", "noise_multiplier", "noisy_gradient"]


@cache
def noise_multiplier(epsilon: Fraction, delta: Fraction, steps: int) -> float:
    """Return the standard deviation, over the sensitivity, of ``steps`` private Gaussian sums.

    With this noise all sums together are (epsilon, delta)-differentially private, even if each sum
    is chosen after seeing the ones before. There is no amplification by subsampling, because every
    step uses every record.

    Raises
    ------
    ImportError
        If dp-accounting is not installed.

    Examples
    --------
    >>> round(noise_multiplier(Fraction(1), Fraction(1, 10**6), steps=100), 1)
    42.2

    Notes
    -----
    Together the steps are one Gaussian mechanism of sqrt(steps) times the sensitivity (Dong, Roth
    and Su, "Gaussian Differential Privacy", 2022), whose delta is known in closed form (Balle and
    Wang, "Improving the Gaussian Mechanism", 2018).
    """
    from dp_accounting.pld.accountant import get_smallest_gaussian_noise
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    promise = DifferentialPrivacyParameters(float(epsilon), float(delta))
    return float(get_smallest_gaussian_noise(promise, num_queries=steps))


def gradient_noise(
    steps: int,
    size: int,
    sensitivity: float,
    epsilon: Fraction,
    delta: Fraction,
    entropy: Entropy,
) -> tuple[NDArray[np.float32], Spend]:
    """Draw the Gaussian noise of a number of gradient sums, and return the sums' cost.

    Parameters
    ----------
    steps : int
        The number of sums.
    size : int
        The number of components of a sum.
    sensitivity : float
        The largest change of a sum, in L2 norm, when one unit of privacy is added or removed.
    epsilon, delta : Fraction
        The cost of all sums together.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    noise : ndarray of float32, shape (steps, size)
        One row of noise for each sum.
    spend : Spend
        The cost of all sums.

    Raises
    ------
    ImportError
        If dp-accounting is not installed.

    Examples
    --------
    >>> from snhkit.privacy import SystemEntropy
    >>> noise, spend = gradient_noise(
    ...     2, 3, sensitivity=1.0, epsilon=Fraction(1), delta=Fraction(1, 10**6),
    ...     entropy=SystemEntropy(),
    ... )
    >>> noise.shape, str(spend)
    ((2, 3), '1 (delta = 0.000001) for 2 noisy sums of gradients, in floating point')

    Notes
    -----
    The noise is drawn in floating point, whose rounding can reveal private values (Mironov 2012),
    so results are for demonstrations only.
    """
    std = sensitivity * noise_multiplier(epsilon, delta, steps)
    noise = np.empty((steps, size), np.float32)
    for row in noise:
        row[:] = gaussian_for_demonstration(size, std, entropy)
    what = f"{steps:,} noisy sums of gradients, in floating point"
    return noise, Spend(epsilon, what, delta=delta)


def noisy_gradient(total: Any, noise: Any) -> Any:
    """Return a sum of clipped gradients with noise added, the only gradient training may use.

    Parameters
    ----------
    total : array, shape (size,)
        The sum of clipped gradients.
    noise : array, shape (size,)
        One row of ``gradient_noise``, which accounts for the cost.

    Returns
    -------
    array, shape (size,)
        The noisy sum.

    Examples
    --------
    >>> noisy_gradient(np.array([1.0, 2.0]), np.array([0.5, -0.5]))
    array([1.5, 1.5])
    """
    return total + noise
