"""Noisy gradients, and what all of them cost: for a demonstration, not to publish."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.privacy.noise import Entropy, gaussian_for_demonstration
from snhkit.privacy.spend import Spend

__all__ = ["gradient_noise", "noise_multiplier", "noisy_gradient"]


@cache
def noise_multiplier(epsilon: Fraction, delta: Fraction, steps: int) -> float:
    """Standard deviation over sensitivity that ``steps`` Gaussian sums need for (epsilon, delta).

    Each step may be chosen after seeing those before it. Nothing is gained from a random choice of
    training queries: every record is looked at in every step.

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
    """Gaussian noise for ``steps`` sums of gradients, shape (steps, size), and what they cost.

    Parameters
    ----------
    steps, size : int
        How many sums, and of how many numbers.
    sensitivity : float
        By how much, in L2 norm, one unit of privacy can change a sum.
    epsilon, delta : Fraction
        The cost of all the sums.
    entropy : Entropy
        Where the randomness comes from.

    Raises
    ------
    ImportError
        If dp-accounting is not installed.
    """
    std = sensitivity * noise_multiplier(epsilon, delta, steps)
    noise = np.empty((steps, size), np.float32)
    for row in noise:
        row[:] = gaussian_for_demonstration(size, std, entropy)
    what = f"{steps:,} noisy sums of gradients, in floating point"
    return noise, Spend(epsilon, what, delta=delta)


def noisy_gradient(total: Any, noise: Any) -> Any:
    """A sum of clipped gradients with its row of ``gradient_noise``: all that training may see."""
    return total + noise
