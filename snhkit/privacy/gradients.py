"""Sums of clipped gradients with Gaussian noise, the mechanism of DP-SGD, for demonstrations only.

Releases that use this mechanism must not be published: the noise is drawn in floating point.
"""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snhkit.errors import BudgetExceeded, InputError
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.noise import gaussian_for_demonstration
from snhkit.privacy.spend import Spend


@cache
def noise_multiplier(epsilon: Fraction, delta: Fraction, steps: int) -> float:
    """Return the noise's standard deviation for sums of sensitivity 1, all steps together.

    They are one Gaussian mechanism of sqrt(steps) times the sensitivity (Dong et al. 2022).
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
    """Return noise for sums of gradients, shape (steps, size), and the cost of all sums.

    ``sensitivity`` is in L2 norm. The noise is in floating point: for demonstrations only.
    """
    std = sensitivity * noise_multiplier(epsilon, delta, steps)
    noise = np.empty((steps, size), np.float32)
    for row in noise:
        row[:] = gaussian_for_demonstration(size, std, entropy)
    what = f"{steps:,} noisy sums of gradients, in floating point"
    return noise, Spend(epsilon, what, delta=delta)


def noisy_gradient(total: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    """Return a sum of clipped gradients with noise: the only form in which training sees it."""
    return total + noise


def clipped_sum(gradients: NDArray[np.float32], clip: float) -> NDArray[np.float32]:
    """Return the sum, shape (p,), of gradients, shape (s, p), each cut to the L2 norm ``clip``.

    A gradient without a finite norm is 0. One unit of privacy changes the sum by at most 2 s clip.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        # clip / max(norm, clip) is min(1, clip / norm), without a division by a norm of 0.
        cut = gradients * (np.float32(clip) / np.maximum(norms, np.float32(clip)))
        return np.where(np.isfinite(norms), cut, np.float32(0)).sum(axis=0)


class NoisyGradients:
    """Noisy sums of gradients of squared errors; the labels, scaled exact counts, stay inside."""

    def __init__(
        self, labels: ArrayLike, noise: NDArray[np.float32], *, batch: int, clip: float
    ) -> None:
        self._labels = np.asarray(labels, np.float32)
        self._noise = iter(noise)
        self._batch, self._clip = batch, clip

    def sum(
        self, chosen: NDArray[np.int64], predicted: ArrayLike, slopes: ArrayLike
    ) -> NDArray[np.float32]:
        """Return a noisy sum of clipped gradients of chosen boxes' errors while noise is left."""
        if len(chosen) > self._batch:
            raise InputError(
                f"gradients: a sum can have at most {self._batch} boxes, not {len(chosen)}."
            )
        noise = next(self._noise, None)
        if noise is None:
            raise BudgetExceeded(
                "gradients: all noisy sums that the spent epsilon covers are used up; "
                "give a larger number of steps."
            )
        errors = np.asarray(predicted, np.float32) - self._labels[chosen]
        gradients = 2 * errors[:, None] * np.asarray(slopes, np.float32)
        return noisy_gradient(clipped_sum(gradients, self._clip), noise)
