"""What a mechanism gives away, measured from its outputs alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import trange

from snhkit.errors import InputError

__all__ = ["audited_epsilon", "epsilon_lower_bound"]

_THRESHOLDS = 200


def audited_epsilon(
    mechanism: Callable[[Any], ArrayLike],
    one: Any,
    other: Any,
    runs: int = 2_000,
    *,
    confidence: float = 0.99,
    delta: float = 0.0,
) -> float:
    """Run a mechanism on two neighbouring inputs, and bound its epsilon from below.

    A bound above the promised epsilon disproves the promise. One below proves nothing: an attacker
    may look more cleverly, or at other neighbours.

    Parameters
    ----------
    mechanism : callable
        From an input to what everyone may see: numbers, always as many.
    one, other : any
        Inputs that differ in one unit of privacy.
    runs : int
        Of each; half of them look for the most telling event, the others measure it.
    confidence : float
        With which the bound holds.
    delta : float
        Of a promise of (epsilon, delta).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from snhkit.privacy import ReplayableEntropy, noisy_count
    >>> dice = ReplayableEntropy(1)
    >>> def told(count):
    ...     return noisy_count(count, Fraction(1), 1, dice, "people")[0]
    >>> 0.5 < audited_epsilon(told, 3, 4, 1_000) < 1
    True

    Notes
    -----
    After Jagielski, Ullman and Oprea, "Auditing Differentially Private Machine Learning", NeurIPS
    2020: an event chosen on some runs, and Clopper-Pearson bounds from the others.
    """
    if runs < 4:
        raise InputError(f"audit: runs must be at least 4, not {runs}.")
    seen = [[], []]
    for _ in trange(runs, desc="audited_epsilon", unit="run", leave=False, disable=None):
        for outputs, given in zip(seen, (one, other), strict=True):
            outputs.append(np.ravel(np.asarray(mechanism(given), float)))
    a, b = (np.array(outputs) for outputs in seen)
    half = runs // 2
    # The direction that tells them apart best, were they normal (Fisher's discriminant).
    spread = np.atleast_2d(np.cov(a[:half], rowvar=False) + np.cov(b[:half], rowvar=False))
    ridge = 1e-9 * max(np.trace(spread) / len(spread), 1e-9) * np.eye(len(spread))
    direction = np.linalg.solve(spread + ridge, (a[:half] - b[:half]).mean(axis=0))
    a, b = a @ direction, b @ direction
    thresholds = _between(np.concatenate([a[:half], b[:half]]))
    guesses = _bounds(a[:half], b[:half], thresholds, confidence, delta)
    kind, at = np.unravel_index(guesses.argmax(), guesses.shape)
    return float(_bounds(a[half:], b[half:], thresholds[at : at + 1], confidence, delta)[kind, 0])


def epsilon_lower_bound(
    hits: tuple[ArrayLike, ArrayLike],
    runs: tuple[int, int],
    confidence: float = 0.99,
    delta: float = 0.0,
) -> NDArray[np.float64]:
    """The least epsilon at which events could be so much likelier from the first input.

    Parameters
    ----------
    hits : (array, array)
        How often each was seen, from either input, shapes (e,).
    runs : (int, int)
        Of how many.
    confidence : float
        With which each bound holds.
    delta : float
        Of a promise of (epsilon, delta).

    Returns
    -------
    ndarray, shape (e,)
        Zero where the events tell nothing.

    Examples
    --------
    >>> epsilon_lower_bound(([900], [100]), (1_000, 1_000)).round(2)
    array([1.93])

    Notes
    -----
    Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 1934, with half of
    the error for either probability.
    """
    from scipy.special import betaincinv

    error = (1 - confidence) / 2
    (x, y), (n, m) = (np.asarray(h, float) for h in hits), runs
    least = np.where(x > 0, betaincinv(np.maximum(x, 1), n - x + 1, error), 0.0) - delta
    most = np.where(y < m, betaincinv(y + 1, np.maximum(m - y, 1), 1 - error), 1.0)
    return np.log(np.maximum(least / most, 1.0))


def _between(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thresholds halfway between neighbouring values, of which rounding moves none across."""
    values = np.unique(values)
    middles = (values[1:] + values[:-1]) / 2 if len(values) > 1 else values
    return middles[:: max(len(middles) // _THRESHOLDS, 1)]


def _bounds(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    confidence: float,
    delta: float,
) -> NDArray[np.float64]:
    """Bounds by the events of lying above or below, likelier from a or from b, shape (4, t)."""
    above = [len(x) - np.searchsorted(np.sort(x), thresholds) for x in (a, b)]
    below = [len(x) - hits for x, hits in zip((a, b), above, strict=True)]
    found = [
        epsilon_lower_bound((hits[i], hits[1 - i]), (len(a), len(b)), confidence, delta)
        for hits in (above, below)
        for i in (0, 1)
    ]
    return np.stack(found)
