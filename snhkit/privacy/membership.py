"""Membership inference: how often an attacker guesses correctly whether a person is in the data."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from snhkit.privacy.audit import projected

__all__ = ["largest_accuracy", "least_accuracy", "membership_accuracy"]


def membership_accuracy(
    mechanism: Callable[[Any], ArrayLike],
    one: Any,
    other: Any,
    runs: int = 2_000,
    *,
    confidence: float = 0.99,
) -> tuple[float, float]:
    """Return an attacker's share of correct guesses, and a lower bound on their probability.

    The attacker knows two inputs of a mechanism, sees the output for one of them, and guesses which
    input it was. Both inputs are equally frequent, so guesses without the output are right in half
    of the runs. ``largest_accuracy`` returns the largest accuracy that a given epsilon allows any
    attacker.

    Parameters
    ----------
    mechanism : callable
        A function of one input that returns an array of published numbers, of a fixed length.
    one, other : any
        Two inputs, for instance with and without a person.
    runs : int
        The number of runs on each input, at least 4. The attacker learns from one half of the runs,
        and is tested on the other half.
    confidence : float
        The probability, between 0 and 1, with which the lower bound holds.

    Returns
    -------
    accuracy : float
        The share of correct guesses.
    least : float
        The lower bound on the probability of a correct guess.

    Raises
    ------
    InputError
        If there are fewer than 4 runs.

    Examples
    --------
    >>> membership_accuracy(lambda given: given, 0, 1, 100)[0]
    1.0
    """
    a, b, thresholds, half = projected(mechanism, one, other, runs)
    above = np.array([(a[:half] > t).mean() - (b[:half] > t).mean() for t in thresholds])
    best = int(np.abs(above).argmax())
    # The attacker guesses ``one`` for numbers above the threshold, or for all other numbers if that
    # was right more often in the first half of the runs.
    guessed_one, guessed_other = (
        (x[half:] > thresholds[best]) == (above[best] > 0) for x in (a, b)
    )
    tries = guessed_one.size + guessed_other.size
    right = int(guessed_one.sum() + (~guessed_other).sum())
    return right / tries, least_accuracy(right, tries, confidence)


def least_accuracy(right: int, tries: int, confidence: float) -> float:
    """Return the Clopper-Pearson lower bound on the probability of a right guess."""
    from scipy.special import betaincinv

    return float(betaincinv(right, tries - right + 1, 1 - confidence)) if right else 0.0


def largest_accuracy(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest probability of a correct guess of a private mechanism's input.

    Parameters
    ----------
    epsilon : float
        The epsilon of the mechanism's differential privacy.
    delta : float
        The delta of the mechanism; 0 for pure differential privacy.

    Returns
    -------
    float
        (e^epsilon + delta) / (e^epsilon + 1), the probability of a correct guess between two
        neighbouring inputs that are equally likely.

    Examples
    --------
    >>> round(largest_accuracy(0.5), 3), largest_accuracy(0)
    (0.622, 0.5)

    Notes
    -----
    Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy", ICML 2015.
    """
    return (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
