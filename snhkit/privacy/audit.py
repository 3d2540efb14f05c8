"""Audits of a mechanism by its outputs: lower bounds on epsilon, and membership inference."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import trange

from snhkit.errors import InputError

_MAX_THRESHOLDS = 200


@dataclass(frozen=True)
class Audit:
    """The result of an audit: a mechanism's promised epsilon, and lower bounds on the real one.

    Parameters
    ----------
    promised : float
        The epsilon that is claimed.
    shown : mapping of str to float
        The lower bound that the outputs for each pair of neighbouring inputs give. The keys are
        the names of the pairs.
    runs : int
        The number of runs of the mechanism on each input.
    confidence : float
        The probability, between 0 and 1, with which all lower bounds hold together.

    Examples
    --------
    >>> print(Audit(0.5, {"one record or none": 0.31, "a crowd": 0.2}, 2_000, 0.99))
    promised 0.5, at least 0.31 shown (by one record or none; 2 pairs, 2,000 runs, 99 %)
    """

    promised: float
    shown: Mapping[str, float]  # by the names of pairs of inputs
    runs: int  # on each input
    confidence: float  # of all bounds together

    @property
    def largest(self) -> float:
        """The largest of the lower bounds on epsilon."""
        return max(self.shown.values())

    @property
    def refuted(self) -> bool:
        """True if a lower bound is above the promised epsilon, which disproves the promise."""
        return self.largest > self.promised

    def __str__(self) -> str:
        pair = max(self.shown, key=lambda name: self.shown[name])
        pairs = "1 pair" if len(self.shown) == 1 else f"{len(self.shown)} pairs"
        return (
            f"promised {self.promised:g}, at least {self.largest:.2g} shown (by {pair}; {pairs}, "
            f"{self.runs:,} runs, {self.confidence:.0%})".replace("%)", " %)")
        )


def audit_mechanism(
    mechanism: Callable[[Any], ArrayLike],
    pairs: Mapping[str, tuple[Any, Any]],
    promised: float,
    runs: int = 2_000,
    *,
    confidence: float = 0.99,
    delta: float = 0.0,
) -> Audit:
    """Return lower bounds on a mechanism's epsilon, from its outputs for neighbouring inputs.

    Parameters
    ----------
    mechanism : callable
        A function of one input that returns an array of published numbers, of a fixed length.
    pairs : mapping of str to (any, any)
        Named pairs of inputs that differ in one unit of privacy. Choose extreme inputs, since an
        error in the mechanism may have an effect on few inputs only.
    promised : float
        The epsilon that is claimed.
    runs : int
        The number of runs on each input of each pair, at least 4.
    confidence : float
        The probability, between 0 and 1, with which all lower bounds hold together (by the
        Bonferroni correction).
    delta : float
        The delta that is claimed; 0 for pure differential privacy.

    Returns
    -------
    Audit
        One lower bound for each pair. A bound above ``promised`` disproves the promise.

    Raises
    ------
    InputError
        If there is no pair, or there are fewer than 4 runs.

    Examples
    --------
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=0, lon=0, side_m=100)
    >>> whole = snh.RangeQueries(city, [0], [0], [100], [100])
    >>> def published(records):
    ...     data = snh.PrivateDataset(records, budget=1, unit="record")
    ...     return data.release(snh.Identity(100), epsilon=0.5, seed=None).answer(whole)
    >>> none, one = (snh.Points(city, [[1, 1]] * count) for count in (0, 1))
    >>> audit_mechanism(published, {"one or none": (none, one)}, 0.5, runs=50).refuted
    False
    """
    if not pairs:
        raise InputError(
            "audit: pairs is empty; give at least one pair of neighbouring inputs, with a name."
        )
    each = 1 - (1 - confidence) / len(pairs)
    shown = {
        name: audited_epsilon(mechanism, one, other, runs, confidence=each, delta=delta)
        for name, (one, other) in pairs.items()
    }
    return Audit(promised, shown, runs, confidence)


def audited_epsilon(
    mechanism: Callable[[Any], ArrayLike],
    one: Any,
    other: Any,
    runs: int = 2_000,
    *,
    confidence: float = 0.99,
    delta: float = 0.0,
) -> float:
    """Return a lower bound on a mechanism's epsilon, from many runs on two neighbouring inputs.

    The function searches for an event, such as an output above a threshold, that is much more
    probable for one input than for the other. A bound above the claimed epsilon disproves the
    claim. A bound below the claimed epsilon proves nothing, since another event or other inputs may
    reveal more.

    Parameters
    ----------
    mechanism : callable
        A function of one input that returns an array of published numbers, of a fixed length.
    one, other : any
        Two inputs that differ in one unit of privacy.
    runs : int
        The number of runs on each input, at least 4. One half selects the event, the other half
        estimates its probabilities.
    confidence : float
        The probability, between 0 and 1, with which the bound holds.
    delta : float
        The delta that is claimed; 0 for pure differential privacy.

    Returns
    -------
    float
        The lower bound, 0 or more.

    Raises
    ------
    InputError
        If there are fewer than 4 runs.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from snhkit.privacy import ReplayableEntropy
    >>> from snhkit.privacy.noise import noisy_count
    >>> entropy = ReplayableEntropy(1)
    >>> def published(count):
    ...     return noisy_count(count, Fraction(1), 1, entropy, "people")[0]
    >>> 0.5 < audited_epsilon(published, 3, 4, 1_000) < 1
    True

    Notes
    -----
    The method follows Jagielski, Ullman and Oprea, "Auditing Differentially Private Machine
    Learning", NeurIPS 2020. The event's probabilities are bounded by Clopper-Pearson limits.
    """
    a, b, thresholds, half = projected(mechanism, one, other, runs)
    estimates = _bounds(a[:half], b[:half], thresholds, confidence, delta)
    kind, at = np.unravel_index(estimates.argmax(), estimates.shape)
    return float(_bounds(a[half:], b[half:], thresholds[at : at + 1], confidence, delta)[kind, 0])


def projected(
    mechanism: Callable[[Any], ArrayLike], one: Any, other: Any, runs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    """Return both inputs' outputs as numbers, thresholds, and how many first runs chose these."""
    if runs < 4:
        raise InputError(f"audit: runs must be at least 4, not {runs}.")
    seen = [[], []]
    for _ in trange(runs, desc="audited_epsilon", unit="run", leave=False, disable=None, delay=2):
        for outputs, given in zip(seen, (one, other), strict=True):
            outputs.append(np.ravel(np.asarray(mechanism(given), float)))
    a, b = (np.array(outputs) for outputs in seen)
    half = runs // 2
    # Fisher's discriminant, the direction that separates normal outputs best.
    spread = np.atleast_2d(np.cov(a[:half], rowvar=False) + np.cov(b[:half], rowvar=False))
    ridge = 1e-9 * max(np.trace(spread) / len(spread), 1e-9) * np.eye(len(spread))
    direction = np.linalg.solve(spread + ridge, (a[:half] - b[:half]).mean(axis=0))
    a, b = a @ direction, b @ direction
    return a, b, _between(np.concatenate([a[:half], b[:half]])), half


def epsilon_lower_bound(
    hits: tuple[ArrayLike, ArrayLike],
    runs: tuple[int, int],
    confidence: float = 0.99,
    delta: float = 0.0,
) -> NDArray[np.float64]:
    """Return the smallest epsilon that is compatible with the frequency of each observed event.

    Parameters
    ----------
    hits : (array, array)
        The number of runs in which each of e events occurred, for the first and for the second
        input, each of shape (e,). Every event is assumed to be more probable for the first input.
    runs : (int, int)
        The number of runs on the first and on the second input.
    confidence : float
        The probability, between 0 and 1, with which each single bound holds.
    delta : float
        The delta that is claimed; 0 for pure differential privacy.

    Returns
    -------
    ndarray, shape (e,)
        The lower bounds; 0 where the frequencies are compatible with equal probabilities.

    Examples
    --------
    >>> epsilon_lower_bound(([900], [100]), (1_000, 1_000)).round(2)
    array([1.93])

    Notes
    -----
    The bound is log((p - delta) / q), where p is a lower limit of the event's probability for the
    first input, and q an upper limit for the second input. Both are Clopper-Pearson limits ("The
    use of confidence or fiducial limits", Biometrika 1934), each of which holds with a probability
    of (1 + ``confidence``) / 2.
    """
    one_sided = (1 + confidence) / 2
    (x, y), (n, m) = (np.asarray(h, float) for h in hits), runs
    least, most = least_probability(x, n, one_sided), 1 - least_probability(m - y, m, one_sided)
    return np.log(np.maximum((least - delta) / most, 1.0))


def least_probability(hits: ArrayLike, tries: int, confidence: float) -> NDArray[np.float64]:
    """Return Clopper-Pearson lower limits of probabilities from numbers of hits, any shape."""
    from scipy.special import betaincinv

    x = np.asarray(hits, float)
    return np.where(x > 0, betaincinv(np.maximum(x, 1), tries - x + 1, 1 - confidence), 0.0)


def _between(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return up to 400 thresholds halfway between consecutive values, out of reach of rounding."""
    values = np.unique(values)
    middles = (values[1:] + values[:-1]) / 2 if len(values) > 1 else values
    return middles[:: max(len(middles) // _MAX_THRESHOLDS, 1)]


def _bounds(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    confidence: float,
    delta: float,
) -> NDArray[np.float64]:
    """Return lower bounds from "above" (rows 0, 1) and "not above" (2, 3) t thresholds, (4, t)."""
    above = [len(x) - np.searchsorted(np.sort(x), thresholds) for x in (a, b)]
    below = [len(x) - hits for x, hits in zip((a, b), above, strict=True)]
    found = [
        epsilon_lower_bound((hits[i], hits[1 - i]), (len(a), len(b)), confidence, delta)
        for hits in (above, below)
        for i in (0, 1)
    ]
    return np.stack(found)


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
    return right / tries, float(least_probability(right, tries, confidence))


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
