"""The noise mechanisms: the only module that draws privacy noise.

Noise is drawn exactly, in integer arithmetic, from words of an ``Entropy``. The exception,
``gaussian_for_demonstration``, uses floating point and must not protect published results.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.checks import whole
from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import Histogram
from snhkit.privacy.budget import MAX_PART, Epsilon, epsilon_share
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.spend import Spend

__all__ = [
    "discrete_laplace",
    "gaussian_for_demonstration",
    "noise_scale",
    "noisy_count",
    "noisy_histogram",
    "uniform_below",
]

# Whatever the data, a loop below takes this many rounds with a probability under exp(-690) only, so
# the source of entropy is then called broken. The limit also keeps the noise from overflowing.
_MAX_ROUNDS = 1_000
_MAX_SCALE = 2**50
_CHUNK = 65_536  # candidates drawn at a time, so that they stay in cache


def noisy_histogram(
    histogram: Histogram, epsilon: Epsilon, sensitivity: int, entropy: Entropy
) -> tuple[NDArray[np.int64], Spend]:
    """Return the counts of a partition's cells with discrete Laplace noise, and their cost.

    Each record lies in one cell only, so all the cells together cost epsilon once (parallel
    composition).

    Parameters
    ----------
    histogram : Histogram
        The true counts, made by ``Grid.count`` or ``Partition.count``.
    epsilon : int, float, str, Decimal or Fraction
        The cost of the whole histogram.
    sensitivity : int
        The largest change of all counts in total when one unit of privacy is added or removed.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    counts : ndarray of int64, shape of ``histogram.counts``
        The noisy counts, each with independent noise of scale ``sensitivity / epsilon``.
    spend : Spend
        The cost, with parallel composition.

    Raises
    ------
    InputError
        If ``histogram`` is not a Histogram, if epsilon or sensitivity is not positive, or if
        ``sensitivity / epsilon`` is above 2**50.

    Examples
    --------
    >>> from snhkit.geometry import Grid, Points, Region
    >>> from snhkit.privacy import SystemEntropy
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
    epsilon = epsilon_share(epsilon)
    counts = histogram.counts
    noise = discrete_laplace(counts.shape, noise_scale(epsilon, sensitivity), entropy)
    what = "count of one cell" if counts.size == 1 else f"counts of {counts.size:,} cells"
    return counts + noise, Spend(epsilon, what, "parallel")


def noisy_count(
    count: int, epsilon: Epsilon, sensitivity: int, entropy: Entropy, what: str
) -> tuple[int, Spend]:
    """Return one count with discrete Laplace noise, and its cost.

    Parameters
    ----------
    count : int
        The true count.
    epsilon : int, float, str, Decimal or Fraction
        The cost of the count.
    sensitivity : int
        The largest change of the count when one unit of privacy is added or removed.
    entropy : Entropy
        The source of randomness.
    what : str
        A description of the count for the ledger, which must not depend on private records.

    Returns
    -------
    noisy : int
        The count with noise of scale ``sensitivity / epsilon``; it may be negative.
    spend : Spend
        The cost.

    Raises
    ------
    InputError
        If epsilon or sensitivity is not positive, or if ``sensitivity / epsilon`` is above 2**50.

    Examples
    --------
    >>> from snhkit.privacy import SystemEntropy
    >>> noisy, spend = noisy_count(100, Fraction(1), 1, SystemEntropy(), "number of records")
    >>> type(noisy).__name__, str(spend)
    ('int', '1 for number of records')
    """
    epsilon = epsilon_share(epsilon)
    noise = discrete_laplace(1, noise_scale(epsilon, sensitivity), entropy)
    return int(count) + int(noise[0]), Spend(epsilon, what)


def discrete_laplace(
    shape: int | tuple[int, ...], scale: Fraction, entropy: Entropy
) -> NDArray[np.int64]:
    """Return random integers x with probability exactly proportional to exp(-abs(x) / scale).

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the result.
    scale : Fraction
        Sensitivity divided by epsilon.
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
        If the source of entropy is broken.

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
    out = np.empty(shape, np.int64)
    flat, filled = out.reshape(-1), 0
    while filled < flat.size:
        # At least a third of the candidates is accepted.
        draws = _accepted(min(2 * (flat.size - filled) + 16, _CHUNK), scale, entropy)
        draws = draws[: flat.size - filled]
        flat[filled : filled + draws.size] = draws
        filled += draws.size
    return out


def _accepted(count: int, scale: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """Return the draws that Algorithm 2 accepts among ``count`` candidates."""
    t, s = scale.numerator, scale.denominator
    u = uniform_below(t, count, entropy)
    u = u[_bernoulli_exp(u, t, entropy)]
    # (u + t * successes) // s, kept as quotient and remainder so that nothing overflows.
    quotient, remainder = np.divmod(u, s)
    alive = np.arange(u.size)
    for _ in range(_MAX_ROUNDS):
        alive = alive[_bernoulli_exp(np.ones(alive.size, np.int64), 1, entropy)]
        if not alive.size:
            break
        rest = remainder[alive] + t % s
        carry = rest >= s
        remainder[alive] = rest - s * carry
        quotient[alive] += t // s + carry
    else:
        raise _broken_entropy()
    words = entropy.words(math.ceil(u.size / 64))
    negative = np.unpackbits(words.view(np.uint8), count=u.size).astype(bool)
    return np.where(negative, -quotient, quotient)[~negative | (quotient > 0)]


def _bernoulli_exp(u: NDArray[np.int64], t: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Return draws that are True with probability exp(-u / t), for 0 <= u <= t (Algorithm 1)."""
    accepted = np.empty(u.size, np.bool_)
    alive = np.arange(u.size)
    for k in range(1, _MAX_ROUNDS):
        if not alive.size:
            return accepted
        # An event of probability u / (t k) is drawn as two, of 1 / k and of u / t, because the
        # product t k might overflow.
        goes_on = uniform_below(k, alive.size, entropy) == 0
        trying = alive[goes_on]
        goes_on[goes_on] = uniform_below(t, trying.size, entropy) < u[trying]
        accepted[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
    raise _broken_entropy()


def uniform_below(n: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return random integers, shape (count,), exactly uniform on 0 .. n - 1.

    ``n`` must lie between 1 and 2**62.

    Examples
    --------
    >>> from snhkit.privacy import SystemEntropy
    >>> bool((uniform_below(6, 1_000, SystemEntropy()) < 6).all())
    True
    """
    if n == 1:
        return np.zeros(count, np.int64)
    words = entropy.words(count)
    last = np.uint64(2**64 - 2**64 % n - 1)  # words up to here fall evenly on 0 .. n - 1
    for _ in range(_MAX_ROUNDS):
        uneven = np.flatnonzero(words > last)
        if not uneven.size:
            return (words % np.uint64(n)).astype(np.int64)
        words = words.copy()
        words[uneven] = entropy.words(uneven.size)
    raise _broken_entropy()


def gaussian_for_demonstration(count: int, std: float, entropy: Entropy) -> NDArray[np.float32]:
    """Return normal draws in floating point, for demonstrations whose results are not published.

    The rounding of floating-point noise can reveal the values that the noise should hide (Mironov
    2012).

    Parameters
    ----------
    count : int
        The number of draws.
    std : float
        The standard deviation.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    ndarray of float32, shape (count,)
        Independent draws.

    Examples
    --------
    >>> from snhkit.privacy import SystemEntropy
    >>> gaussian_for_demonstration(5, std=2.0, entropy=SystemEntropy()).shape
    (5,)

    Notes
    -----
    The Box-Muller transform (1958) makes two normal numbers from two uniform ones.
    """
    words = entropy.words(2 * math.ceil(count / 2)) >> np.uint64(11)
    even, turn = ((words + np.uint64(1)).astype(np.float64) * 2.0**-53).reshape(2, -1)
    radius = std * np.sqrt(-2 * np.log(even))
    angle = 2 * np.pi * turn
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return both[:count].astype(np.float32)


def noise_scale(epsilon: Fraction, sensitivity: int) -> Fraction:
    """Return sensitivity / epsilon as a fraction whose parts fit into 64-bit integers.

    A quotient of too many digits is rounded up by about one part in 2**40, so the noise is never
    smaller than epsilon requires.
    """
    scale = whole("sensitivity", sensitivity, least=1) / epsilon
    if max(scale.numerator, scale.denominator) < MAX_PART:
        return scale
    size = scale.numerator.bit_length() - scale.denominator.bit_length()
    parts = 2 ** min(max(41 - size, 0), 61)
    return Fraction(math.ceil(scale * parts), parts)


def _broken_entropy() -> SnhkitError:
    return SnhkitError("The source of entropy is broken: it repeats itself. Nothing was released.")
