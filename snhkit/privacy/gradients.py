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

__all__ = ["NoisyGradients", "clipped_sum", "gradient_noise", "noise_multiplier", "noisy_gradient"]


@cache
def noise_multiplier(epsilon: Fraction, delta: Fraction, steps: int) -> float:
    """Return the standard deviation of the Gaussian noise that each of several sums needs.

    The result is for sums of sensitivity 1; for other sums, multiply the result by their
    sensitivity. With this noise, all sums together are (epsilon, delta)-differentially private,
    even if each sum is chosen after seeing the previous sums. There is no amplification by
    subsampling, because every sum uses every record.

    Parameters
    ----------
    epsilon, delta : Fraction
        The cost of all sums together.
    steps : int
        The number of sums.

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
    """Return Gaussian noise for a number of gradient sums, and the cost of all sums.

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


def noisy_gradient(total: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    """Return a sum of clipped gradients with noise added.

    The training of a private model may use gradients of private data in this form only.

    Parameters
    ----------
    total : array, shape (size,)
        The sum of clipped gradients.
    noise : array, shape (size,)
        One row of the noise that ``gradient_noise`` returns.

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


def clipped_sum(gradients: NDArray[np.float32], clip: float) -> NDArray[np.float32]:
    """Return the sum of gradients, each clipped to the L2 norm ``clip``, shape (p,).

    ``gradients`` has shape (s, p): s gradients, each with p components. A gradient whose norm is
    not finite counts as 0. One unit of privacy can change each clipped gradient by at most 2
    ``clip`` in L2 norm, and therefore the sum by at most 2 s ``clip``.

    Examples
    --------
    >>> clipped_sum(np.array([[6, 8], [0, 1]], np.float32), clip=5.0)
    array([3., 5.], dtype=float32)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        # clip / max(norm, clip) is min(1, clip / norm), without a division by a norm of 0.
        cut = gradients * (np.float32(clip) / np.maximum(norms, np.float32(clip)))
        return np.where(np.isfinite(norms), cut, np.float32(0)).sum(axis=0)


class NoisyGradients:
    """Noisy sums of the gradients of a model's squared errors, for training without exact counts.

    ``Measurements.gradients`` returns this object. The labels, which are the values that the model
    learns to predict, are scaled exact counts, so this object never returns them.

    Parameters
    ----------
    labels : array, shape (s,)
        The true counts in s training boxes, divided by a public number.
    noise : ndarray of float32, shape (steps, size)
        The noise of each sum, as ``gradient_noise`` returns it.
    batch : int
        The largest number of boxes in a sum.
    clip : float
        The L2 norm to which each box's gradient is clipped.

    Examples
    --------
    >>> gradients = NoisyGradients(np.ones(3), np.zeros((1, 2), np.float32), batch=3, clip=1.0)
    >>> slopes = np.array([[0.0, 0.5], [0.0, 9.0]], np.float32)
    >>> gradients.sum(np.array([0, 2]), np.array([2.0, 2.0]), slopes)
    array([0., 2.], dtype=float32)
    """

    def __init__(
        self, labels: ArrayLike, noise: NDArray[np.float32], *, batch: int, clip: float
    ) -> None:
        self._labels = np.asarray(labels, np.float32)
        self._noise = iter(noise)
        self._batch, self._clip = batch, clip

    def sum(
        self, chosen: NDArray[np.int64], predicted: ArrayLike, slopes: ArrayLike
    ) -> NDArray[np.float32]:
        """Return the noisy sum of the clipped gradients of some boxes' squared errors.

        Parameters
        ----------
        chosen : ndarray of int, shape (b,)
            Indices into ``labels`` of at most ``batch`` boxes, chosen without looking at records.
        predicted : array, shape (b,)
            The model's current predictions for these boxes, in units of the labels.
        slopes : array, shape (b, size)
            The derivatives of the predictions with respect to the model's parameters.

        Returns
        -------
        ndarray of float32, shape (size,)
            The noisy sum.

        Raises
        ------
        BudgetExceeded
            If the method is called more often than the number of sums that were charged in advance.
        InputError
            If there are more boxes than ``batch``.
        """
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
