"""Daily noisy counts: what they reveal about a person counted every day, and running totals."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snhkit.checks import whole
from snhkit.privacy import Entropy, SystemEntropy, discrete_laplace, exact, noise_variance


def guessed_after(
    days: ArrayLike, epsilon: float, rounds: int = 4_000, entropy: Entropy | None = None
) -> NDArray[np.float64]:
    """Return how often the mean of daily noisy counts tells whether a person was counted.

    The person was counted on all days or on none; a fair coin decides which. All other records are
    known to the attacker, who subtracts them: each day's count is 0 or 1 before noise is added.

    Parameters
    ----------
    days : array of int, shape (d,)
        The numbers of days after which to guess whether the person was counted.
    epsilon : float
        The epsilon of each day's count.
    rounds : int
        The number of independent repetitions.
    entropy : Entropy, optional
        The source of randomness; by default, the operating system's entropy.

    Returns
    -------
    ndarray, shape (d,)
        The share of right guesses after each number of days: about 0.5 to 1.

    Examples
    --------
    >>> from snhkit.privacy import ReplayableEntropy
    >>> guessed_after([1, 100], 0.5, entropy=ReplayableEntropy(1)).round(1).tolist()
    [0.6, 1.0]
    """
    source = entropy or SystemEntropy()
    ends = np.atleast_1d(np.asarray(days, np.int64))
    is_in = source.words(rounds) % np.uint64(2) == 1
    right, seen, told = np.empty(len(ends)), 0, np.zeros(rounds, np.int64)
    for k in np.argsort(ends):
        more = int(ends[k]) - seen
        told += more * is_in
        for _ in range(more):
            told += discrete_laplace(rounds, 1 / exact(epsilon), source)
        seen = int(ends[k])
        right[k] = np.mean((told > seen / 2) == is_in)
    return right


def running_totals(
    counts: ArrayLike, epsilon: float, entropy: Entropy | None = None
) -> NDArray[np.int64]:
    """Return the noisy total of the first k days for each k, from a tree of sums.

    Parameters
    ----------
    counts : array of int, shape (d,)
        The count of each day.
    epsilon : float
        The epsilon of all totals together, for a change of one record on one day.
    entropy : Entropy, optional
        The source of the noise; by default, the operating system's entropy.

    Returns
    -------
    ndarray of int64, shape (d,)
        The noisy totals; entry k, counted from 0, is the total of days 0 to k.

    Examples
    --------
    >>> from snhkit.privacy import ReplayableEntropy
    >>> running_totals([5, 0, 2], epsilon=1_000, entropy=ReplayableEntropy(1)).tolist()
    [5, 5, 7]

    Notes
    -----
    The binary mechanism (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011). The
    levels of the tree have the noisy sums of 1, 2, 4, ... consecutive days. Each day is part of one
    sum on each level, and a total needs at most one sum per level.
    """
    daily = np.asarray(counts, np.int64)
    levels = _levels(len(daily))
    padded = np.zeros(-(-len(daily) // 2 ** (levels - 1)) * 2 ** (levels - 1), np.int64)
    padded[: len(daily)] = daily
    source = entropy or SystemEntropy()
    sums = []
    for level in range(levels):
        exact_sums = padded.reshape(-1, 2**level).sum(axis=1)
        sums.append(
            exact_sums + discrete_laplace(exact_sums.shape, levels / exact(epsilon), source)
        )
    totals = np.zeros(len(daily), np.int64)
    for day in range(len(daily)):
        start, left = 0, day + 1
        for level in reversed(range(levels)):
            if left >= 2**level:
                totals[day] += sums[level][start >> level]
                start, left = start + 2**level, left - 2**level
    return totals


def running_totals_std(days: int, epsilon: float) -> float:
    """Return the largest standard deviation of the noise in the totals of ``running_totals``.

    Parameters
    ----------
    days : int
        The number of days, and of totals.
    epsilon : float
        The epsilon of all totals together, for a change of one record on one day.

    Examples
    --------
    >>> round(running_totals_std(365, 1.0), 1)
    36.0
    """
    levels = _levels(days)
    one = noise_variance(exact(epsilon) / levels, 1)
    ones = max(bin(day).count("1") for day in range(1, days + 1))
    return float((ones * one) ** 0.5)


def _levels(days: int) -> int:
    return whole("days", days, 1).bit_length()  # sums of 1, 2, 4, ... days, none longer than all
