"""The only place that draws privacy noise: exact, on integers, from the system's entropy.

The one exception says in its name that it is for a demonstration.
"""

import math
import operator
import os
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import Histogram
from snhkit.privacy.budget import MAX_PART, Epsilon, exact
from snhkit.privacy.spend import Spend

__all__ = [
    "Entropy",
    "ReplayableEntropy",
    "SystemEntropy",
    "discrete_laplace",
    "gaussian_for_demonstration",
    "noise_scale",
    "noisy_count",
    "noisy_histogram",
    "share_of",
    "uniform_below",
    "whole_number",
]

# No loop below needs this many rounds but with a probability under exp(-690), whatever the data:
# then the source of entropy is broken. It also bounds the noise, so that no integer overflows.
_ROUNDS = 1_000
_MAX_SCALE = 2**50
_CHUNK = 65_536  # draws at a time: they stay in cache


class Entropy(Protocol):
    """A source of random 64-bit words."""

    @property
    def replayable(self) -> bool:
        """Whether someone who knows a seed can draw the same words again."""
        ...

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` independent words, each uniform on 0 .. 2**64 - 1."""
        ...


class SystemEntropy:
    """The operating system's entropy: the one that protects people."""

    replayable = False

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` words from ``os.urandom``."""
        return np.frombuffer(os.urandom(8 * count), np.uint64)


class ReplayableEntropy:
    """Words that a seed repeats: for research; who knows the seed can take the noise away.

    Parameters
    ----------
    seed : int
        Not negative.

    Examples
    --------
    >>> same = ReplayableEntropy(7).words(2) == ReplayableEntropy(7).words(2)
    >>> bool(same.all()), ReplayableEntropy(7).replayable
    (True, True)
    """

    replayable = True

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(whole_number(seed, "seed", least=0)))

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` words of the seed's sequence."""
        return self._bits.random_raw(count)


def noisy_histogram(
    histogram: Histogram, epsilon: Epsilon, sensitivity: int, entropy: Entropy
) -> tuple[NDArray[np.int64], Spend]:
    """Counts of a partition's cells with noise, in their shape, and what they cost together.

    A record lies in one cell only, so all the cells cost epsilon once (parallel composition).

    Parameters
    ----------
    histogram : Histogram
        True counts, made by ``Grid.count`` or ``Partition.count``.
    epsilon : Fraction
        The cost of the whole histogram.
    sensitivity : int
        By how much one unit of privacy can change all the counts in total.
    entropy : Entropy
        Where the randomness comes from.

    Raises
    ------
    InputError
        If this is not a Histogram, epsilon or sensitivity is not positive, or their quotient is
        above 2**50.

    Examples
    --------
    >>> from snhkit.geometry import Grid, Points, Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> exact_counts = Grid(city, 2).count(Points(city, [[1, 1], [99, 99]]))
    >>> counts, spend = noisy_histogram(exact_counts, Fraction(1, 5), 1, SystemEntropy())
    >>> counts.shape, counts.dtype.name, str(spend)
    ((2, 2), 'int64', '0.2 for counts of 4 cells, in parallel')
    """
    if not isinstance(histogram, Histogram):
        raise InputError(
            "noisy_histogram: only the cells of a partition cost epsilon once; give the Histogram "
            f"that Grid.count or Partition.count makes, not a {type(histogram).__name__}."
        )
    epsilon = share_of(epsilon)
    counts = histogram.counts
    noise = discrete_laplace(counts.shape, noise_scale(epsilon, sensitivity), entropy)
    what = "count of one cell" if counts.size == 1 else f"counts of {counts.size:,} cells"
    return counts + noise, Spend(epsilon, what, "parallel")


def noisy_count(
    count: int, epsilon: Epsilon, sensitivity: int, entropy: Entropy, what: str
) -> tuple[int, Spend]:
    """One count with noise, and what it cost.

    Parameters
    ----------
    count : int
        The true count.
    epsilon : Fraction
        What it may cost.
    sensitivity : int
        By how much one unit of privacy can change the count.
    entropy : Entropy
        Where the randomness comes from.
    what : str
        What is counted, for the ledger; without a private number.

    Raises
    ------
    InputError
        If epsilon or sensitivity is not positive, or their quotient is above 2**50.

    Examples
    --------
    >>> noisy, spend = noisy_count(100, Fraction(1), 1, SystemEntropy(), "number of records")
    >>> type(noisy).__name__, str(spend)
    ('int', '1 for number of records')
    """
    epsilon = share_of(epsilon)
    noise = discrete_laplace(1, noise_scale(epsilon, sensitivity), entropy)
    return int(count) + int(noise[0]), Spend(epsilon, what)


def discrete_laplace(
    shape: int | tuple[int, ...], scale: Fraction, entropy: Entropy
) -> NDArray[np.int64]:
    """Integers drawn with probability proportional to exp(-abs(x) / scale), exactly.

    Parameters
    ----------
    shape : int or tuple of int
        How many, or the shape of the result.
    scale : Fraction
        Sensitivity divided by epsilon.
    entropy : Entropy
        Where the randomness comes from.

    Raises
    ------
    InputError
        If scale is not positive, is above 2**50, or has more digits than 64-bit integers hold.
    SnhkitError
        If the source of entropy is broken.

    Examples
    --------
    >>> discrete_laplace((2, 3), Fraction(5), SystemEntropy()).shape
    (2, 3)

    Notes
    -----
    Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
    Algorithms 1 and 2. No floating-point number occurs, whose rounding would betray the count
    (Mironov 2012).
    """
    scale = Fraction(scale)
    if scale <= 0:
        raise InputError(f"discrete_laplace: scale must be greater than 0, not {scale}.")
    if scale > _MAX_SCALE or max(scale.numerator, scale.denominator) >= MAX_PART:
        raise InputError(
            "discrete_laplace: sensitivity / epsilon must be at most 2**50, and as a fraction both "
            "its numbers below 2**62, for the 64-bit integers the noise is drawn with. "
            "Give a larger epsilon, or a smaller max_per_user."
        )
    out = np.empty(shape, np.int64)
    flat, filled = out.reshape(-1), 0
    while filled < flat.size:
        # A third of the candidates or more is accepted.
        some = _candidates(min(2 * (flat.size - filled) + 16, _CHUNK), scale, entropy)
        some = some[: flat.size - filled]
        flat[filled : filled + some.size] = some
        filled += some.size
    return out


def _candidates(count: int, scale: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """At most ``count`` draws: Algorithm 2, without those it rejects."""
    t, s = scale.numerator, scale.denominator
    u = uniform_below(t, count, entropy)
    u = u[_bernoulli_exp(u, t, entropy)]
    # (u + t * successes) // s, carried as quotient and remainder so that it cannot overflow.
    quotient, remainder = np.divmod(u, s)
    alive = np.arange(u.size)
    for _ in range(_ROUNDS):
        alive = alive[_bernoulli_exp(np.ones(alive.size, np.int64), 1, entropy)]
        if not alive.size:
            break
        rest = remainder[alive] + t % s
        carry = rest >= s
        remainder[alive] = rest - s * carry
        quotient[alive] += t // s + carry
    else:
        raise _broken()
    words = entropy.words(math.ceil(u.size / 64))
    negative = np.unpackbits(words.view(np.uint8), count=u.size).astype(bool)
    return np.where(negative, -quotient, quotient)[~negative | (quotient > 0)]


def _bernoulli_exp(u: NDArray[np.int64], t: int, entropy: Entropy) -> NDArray[np.bool_]:
    """True with probability exp(-u / t) for each 0 <= u <= t: Algorithm 1."""
    accepted = np.empty(u.size, np.bool_)
    alive = np.arange(u.size)
    for k in range(1, _ROUNDS):
        if not alive.size:
            return accepted
        # A chance of u / (t k) is one of 1 / k and one of u / t: the product t k might overflow.
        goes_on = uniform_below(k, alive.size, entropy) == 0
        trying = alive[goes_on]
        goes_on[goes_on] = uniform_below(t, trying.size, entropy) < u[trying]
        accepted[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
    raise _broken()


def uniform_below(n: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """``count`` integers uniform on 0 .. n - 1, for 1 <= n < 2**62, without modulo bias.

    Examples
    --------
    >>> bool((uniform_below(6, 1_000, SystemEntropy()) < 6).all())
    True
    """
    if n == 1:
        return np.zeros(count, np.int64)
    words = entropy.words(count)
    last = np.uint64(2**64 - 2**64 % n - 1)  # of the words that fall evenly on 0 .. n - 1
    for _ in range(_ROUNDS):
        uneven = np.flatnonzero(words > last)
        if not uneven.size:
            return (words % np.uint64(n)).astype(np.int64)
        words = words.copy()
        words[uneven] = entropy.words(uneven.size)
    raise _broken()


def gaussian_for_demonstration(count: int, std: float, entropy: Entropy) -> NDArray[np.float32]:
    """``count`` numbers of the normal law in floating point: for a demonstration, not to publish.

    Their rounding can betray what they hide (Mironov 2012), so nothing drawn with them is safe.

    Parameters
    ----------
    count : int
        How many.
    std : float
        Standard deviation.
    entropy : Entropy
        Where the randomness comes from.

    Notes
    -----
    Box and Muller (1958): two numbers from two uniform ones.
    """
    words = entropy.words(2 * math.ceil(count / 2)) >> np.uint64(11)
    even, turn = ((words + np.uint64(1)).astype(np.float64) * 2.0**-53).reshape(2, -1)
    radius = std * np.sqrt(-2 * np.log(even))
    angle = 2 * np.pi * turn
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return both[:count].astype(np.float32)


def share_of(epsilon: Epsilon) -> Fraction:
    """A part of an epsilon, which may have more digits than the epsilon that was asked for."""
    return epsilon if isinstance(epsilon, Fraction) and epsilon > 0 else exact(epsilon)


def noise_scale(epsilon: Fraction, sensitivity: int) -> Fraction:
    """Sensitivity / epsilon; rounded up by a part in 2**40 or so where it has too many digits.

    Then there is that little more noise than was paid for, never less.
    """
    scale = whole_number(sensitivity, "sensitivity", least=1) / epsilon
    if max(scale.numerator, scale.denominator) < MAX_PART:
        return scale
    size = scale.numerator.bit_length() - scale.denominator.bit_length()
    parts = 2 ** min(max(41 - size, 0), 61)
    return Fraction(math.ceil(scale * parts), parts)


def whole_number(value: int, name: str, least: int) -> int:
    """``value`` as an int; InputError unless it is a whole number of at least ``least``."""
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or whole < least:
        raise InputError(f"{name} must be a whole number, at least {least}, not {value!r}.")
    return whole


def _broken() -> SnhkitError:
    return SnhkitError("The source of entropy is broken: it repeats itself. Nothing was released.")
