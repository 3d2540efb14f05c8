"""The noise mechanisms: the only module that draws privacy noise.

Noise is drawn exactly, in integer arithmetic, from words of an ``Entropy``. The exception,
``gaussian_for_demonstration``, uses floating point and must not protect published results.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import Histogram
from snhkit.privacy.budget import MAX_PART, Epsilon, epsilon_share
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.scale import gaussian_scale, noise_scale
from snhkit.privacy.spend import Spend
from snhkit.privacy.zcdp import Rho

MAX_ROUNDS = 1_000
"""The largest number of rounds of a sampling loop.

With random words, more rounds have a probability below exp(-490), whatever the data. A loop that
needs more rounds therefore reports that the source of entropy is broken."""


def bernoulli_exp(entropy: Entropy, *factors: tuple[NDArray[np.int64], int]) -> NDArray[np.bool_]:
    """Return draws, shape (count,), True with probability exp(-p), p the product of all u / t.

    A factor (u, t) has 0 <= u <= t. Algorithm 1 of Canonne, Kamath and Steinke (2020).
    """
    size = factors[0][0].size
    accepted, alive = np.empty(size, np.bool_), np.arange(size)
    for k in range(1, MAX_ROUNDS):
        if not alive.size:
            return accepted
        # An event of probability u / (t k) is drawn as two events, of probabilities 1 / k and
        # u / t, because the product t k might overflow.
        goes_on = uniform_below(k, alive.size, entropy) == 0
        for u, t in factors:
            trying = alive[goes_on]
            goes_on[goes_on] = uniform_below(t, trying.size, entropy) < u[trying]
        accepted[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
    raise broken_entropy()


def uniform_below(n: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return integers, shape (count,), exactly uniform on 0 .. n - 1, for n up to 2**62."""
    if n == 1:
        return np.zeros(count, np.int64)
    words = entropy.words(count)
    last = np.uint64(2**64 - 2**64 % n - 1)  # on 0 .. last, all remainders are equally frequent
    for _ in range(MAX_ROUNDS):
        uneven = np.flatnonzero(words > last)
        if not uneven.size:
            return (words % np.uint64(n)).astype(np.int64)
        words = words.copy()
        words[uneven] = entropy.words(uneven.size)
    raise broken_entropy()


def broken_entropy() -> SnhkitError:
    """Return the error for a source of entropy that repeats itself."""
    return SnhkitError("The source of entropy is broken: it repeats itself. Nothing was released.")


_MAX_SCALE = 2**50  # so that the noise cannot overflow 64-bit integers
_CHUNK = 65_536  # candidates drawn at a time, so that they stay in cache


def noisy_histogram(
    histogram: Histogram, price: Epsilon | Rho, sensitivity: int, entropy: Entropy
) -> tuple[NDArray[np.int64], Spend]:
    """Return the counts of a partition's cells with noise, and their cost, spent once for all.

    A unit of privacy changes the counts by at most ``sensitivity`` in total, so Laplace noise has
    the scale ``sensitivity / epsilon``, and Gaussian noise ``sensitivity / sqrt(2 rho)``.
    """
    if not isinstance(histogram, Histogram):
        raise InputError(
            "noisy_histogram: counts must be those of disjoint cells; give the Histogram "
            f"that Grid.count or Partition.count makes, not a {type(histogram).__name__}."
        )
    counts = histogram.counts
    noisy = _noise(counts.shape, price, sensitivity, entropy)
    noisy += counts  # in place, since there may be many cells
    what = "count of one cell" if counts.size == 1 else f"counts of {counts.size:,} cells"
    return noisy, Spend.of(price, what, "parallel")


def noisy_count(
    count: int, price: Epsilon | Rho, sensitivity: int, entropy: Entropy, what: str
) -> tuple[int, Spend]:
    """Return one count with noise of the scale in ``noisy_histogram``, and its cost.

    ``what`` describes the count in the ledger, and must not depend on private records.
    """
    noise = _noise(1, price, sensitivity, entropy)
    return int(count) + int(noise[0]), Spend.of(price, what)


def _noise(
    shape: int | tuple[int, ...], price: Epsilon | Rho, sensitivity: int, entropy: Entropy
) -> NDArray[np.int64]:
    """Return noise of a given price: Laplace noise for an epsilon, Gaussian noise for a Rho."""
    if isinstance(price, Rho):
        return discrete_gaussian(shape, gaussian_scale(price, sensitivity), entropy)
    return discrete_laplace(shape, noise_scale(epsilon_share(price), sensitivity), entropy)


def discrete_laplace(
    shape: int | tuple[int, ...], scale: Fraction, entropy: Entropy
) -> NDArray[np.int64]:
    """Return random integers x with probability exactly proportional to exp(-abs(x) / scale).

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the result.
    scale : Fraction
        The scale, which is the sensitivity divided by epsilon.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    ndarray of int64, shape ``shape``
        Independent draws.

    Raises
    ------
    InputError
        If ``scale`` is not positive, is above 2**50, or has a numerator or denominator of 2**62 or
        more.
    SnhkitError
        If the source of entropy repeats itself.

    Examples
    --------
    >>> from snhkit.privacy import SystemEntropy
    >>> discrete_laplace((2, 3), Fraction(5), SystemEntropy()).shape
    (2, 3)

    Notes
    -----
    Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
    Algorithms 1 and 2. Only integers are used, since the rounding of floating-point noise reveals
    the count (Mironov, "On significance of the least significant bits for differential privacy",
    2012).
    """
    scale = Fraction(scale)
    if scale <= 0:
        raise InputError(f"discrete_laplace: scale must be greater than 0, not {scale}.")
    if scale > _MAX_SCALE or max(scale.numerator, scale.denominator) >= MAX_PART:
        raise InputError(
            "discrete_laplace: sensitivity / epsilon must be at most 2**50, with a numerator and a "
            "denominator below 2**62, since the noise is drawn with 64-bit integers. "
            "Give a larger epsilon, or a smaller max_per_user."
        )
    return _filled(shape, lambda count: _accepted(count, scale, entropy))


def discrete_gaussian(
    shape: int | tuple[int, ...], scale: Fraction, entropy: Entropy
) -> NDArray[np.int64]:
    """Return random integers x with probability exactly proportional to exp(-(x / scale)^2 / 2).

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the result.
    scale : Fraction
        The scale, which is about the standard deviation (see ``gaussian_scale``).
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    ndarray of int64, shape ``shape``
        Independent draws.

    Raises
    ------
    InputError
        If ``scale`` is not positive, is above 2**50, or has a numerator of 2**51 or more or a
        denominator of 2**62 or more.
    SnhkitError
        If the source of entropy repeats itself.

    Examples
    --------
    >>> from snhkit.privacy import SystemEntropy
    >>> discrete_gaussian((2, 3), Fraction(5), SystemEntropy()).shape
    (2, 3)

    Notes
    -----
    Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm
    3. The candidates have the discrete Laplace distribution of scale ``scale``; the paper rounds
    this scale to an integer.
    """
    scale = Fraction(scale)
    if scale.numerator >= 2 * _MAX_SCALE:
        raise InputError(
            f"discrete_gaussian: scale must have a numerator below 2**51, not {scale.numerator:,}. "
            "Give a larger epsilon, or a smaller max_per_user."
        )

    def draw(count: int) -> NDArray[np.int64]:
        draws = discrete_laplace(count, scale, entropy)
        return draws[_accepted_as_gaussian(draws, scale, entropy)]

    return _filled(shape, draw)


def _filled(
    shape: int | tuple[int, ...], draw: Callable[[int], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Return an array of the candidates that ``draw`` accepts; it is called until all are there."""
    out = np.empty(shape, np.int64)
    flat, filled = out.reshape(-1), 0
    while filled < flat.size:
        # On average, at least 31 % of the candidates are accepted.
        draws = draw(min(2 * (flat.size - filled) + 16, _CHUNK))[: flat.size - filled]
        flat[filled : filled + draws.size] = draws
        filled += draws.size
    return out


def _accepted(count: int, scale: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """Return the draws that Algorithm 2 of Canonne et al. accepts among ``count`` candidates."""
    t, s = scale.numerator, scale.denominator
    u = uniform_below(t, count, entropy)
    u = u[bernoulli_exp(entropy, (u, t))]
    # A draw is (u + t * k) // s, where k counts the events of probability exp(-1) before the first
    # one that does not occur. The sum is kept as quotient and remainder so that nothing overflows.
    quotient, remainder = np.divmod(u, s)
    alive = np.arange(u.size)
    for _ in range(MAX_ROUNDS):
        alive = alive[bernoulli_exp(entropy, (np.ones(alive.size, np.int64), 1))]
        if not alive.size:
            break
        rest = remainder[alive] + t % s
        carry = rest >= s
        remainder[alive] = rest - s * carry
        quotient[alive] += t // s + carry
    else:
        raise broken_entropy()
    words = entropy.words(math.ceil(u.size / 64))
    negative = np.unpackbits(words.view(np.uint8), count=u.size).astype(bool)
    return np.where(negative, -quotient, quotient)[~negative | (quotient > 0)]


def _accepted_as_gaussian(
    draws: NDArray[np.int64], scale: Fraction, entropy: Entropy
) -> NDArray[np.bool_]:
    """Return True for each draw x with probability exp(-(abs(x) / scale - 1)^2 / 2)."""
    t, s = scale.numerator, scale.denominator
    # With abs(abs(x) / scale - 1) = whole + u / t, half of its square has the three terms
    # whole^2 / 2, whole u / t and (u / t)^2 / 2. Each is drawn as an event; all must occur.
    whole, u = np.divmod(abs(abs(draws) * s - t), t)
    accepted = bernoulli_exp(entropy, (u, t), (u, 2 * t))
    for times, part, of in ((whole**2, np.ones_like(u), 2), (whole, u, t)):
        for k in range(MAX_ROUNDS):
            trying = np.flatnonzero(accepted & (times > k))
            if not trying.size:
                break
            accepted[trying] = bernoulli_exp(entropy, (part[trying], of))
        else:
            raise broken_entropy()
    return accepted


def gaussian_for_demonstration(count: int, std: float, entropy: Entropy) -> NDArray[np.float32]:
    """Return normal draws in floating point, by Box-Muller, whose rounding can reveal values."""
    words = entropy.words(2 * math.ceil(count / 2)) >> np.uint64(11)
    even, turn = ((words + np.uint64(1)).astype(np.float64) * 2.0**-53).reshape(2, -1)
    radius = std * np.sqrt(-2 * np.log(even))
    angle = 2 * np.pi * turn
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return both[:count].astype(np.float32)
