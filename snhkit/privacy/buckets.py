"""Where to cut a line of cells into buckets that are nearly uniform inside."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Histogram
from snhkit.privacy.budget import Epsilon
from snhkit.privacy.noise import Entropy, discrete_laplace, noise_scale, share_of
from snhkit.privacy.spend import Spend

__all__ = ["BucketCosts", "noisy_buckets"]

_FINEST = 20


@dataclass(frozen=True)
class BucketCosts:
    """What buckets cost, in whole numbers: parts of a record.

    Parameters
    ----------
    parts : int
        Of a record.
    bucket : int
        What each bucket costs by itself, in such parts.
    scale : Fraction
        Of the noise that deviations get, in records.
    """

    parts: int
    bucket: int
    scale: Fraction

    @classmethod
    def of(cls, cells: int, price: Fraction, epsilon: Fraction, sensitivity: int) -> "BucketCosts":
        """With up to 2^20 parts a record, so many that no sum of costs can overflow.

        Parameters
        ----------
        cells : int
            On the line.
        price : Fraction
            Of a bucket, in records.
        epsilon : Fraction
            For the cuts.
        sensitivity : int
            Records of one unit of privacy.

        Raises
        ------
        InputError
            If epsilon is too small for 64-bit integers.

        Examples
        --------
        >>> BucketCosts.of(2**20, Fraction(5), Fraction(1, 20), sensitivity=1)
        BucketCosts(parts=1048576, bucket=5242880, scale=Fraction(40, 1))
        """
        scale = noise_scale(epsilon, 2 * sensitivity)
        # Of 2^40 records, with noise up to 2^10 times its scale, twice; from public numbers alone.
        most = 2 * (2**40 + cells * 2**10 * scale) + cells * (price + 1)
        parts = min(2**62 // int(most), 2**_FINEST)
        if not parts:
            raise InputError(
                "noisy_buckets: sensitivity / epsilon is too large for 64-bit integers. "
                "Give a larger epsilon, or a smaller max_per_user."
            )
        return cls(parts, max(1, round(price * parts)), scale)


def noisy_buckets(
    histogram: Histogram,
    along: NDArray[np.int64],
    block: int,
    price: Fraction,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[NDArray[np.int64], Spend]:
    """Cut a line of cells so that the noisy cost of all buckets together is least.

    A bucket costs twice its deviation, the sum of abs(count - median) over its cells, and a price.
    The line falls into blocks, and a block into equal buckets; the lengths of both are powers of
    two, and they begin at multiples of their lengths.

    Parameters
    ----------
    histogram : Histogram
        True counts of a power of two of cells.
    along : ndarray of int, shape (cells,)
        The cells' numbers in the order of the line, each once.
    block : int
        Cells of the smallest block, a power of two.
    price : Fraction
        Of a bucket, in records: what noise its count will get.
    epsilon : Fraction
        What the cuts may cost.
    sensitivity : int
        Records of one unit of privacy.
    entropy : Entropy
        Where the randomness comes from.

    Returns
    -------
    length : ndarray of int, shape (buckets,)
        Cells of each bucket, along the line.
    spend : Spend
        Of epsilon.

    Raises
    ------
    InputError
        If a cell is missing on the line or lies on it twice, or a number is out of its range.

    Notes
    -----
    The first stage of Li, Hay, Miklau and Wang, PVLDB 2014 (Sec. 3), with other candidates and
    more noise: docs/privacy.md has the argument.
    """
    epsilon = share_of(epsilon)
    if not isinstance(histogram, Histogram):
        raise InputError("noisy_buckets: give a Histogram: each record must be in one cell only.")
    cells = histogram.counts.size
    if not np.array_equal(np.sort(along), np.arange(cells)):
        raise InputError("noisy_buckets: the line must lead through each cell once.")
    if not _power_of_two(cells) or not _power_of_two(block):
        raise InputError("noisy_buckets: cells and block must be powers of two.")
    costs = BucketCosts.of(cells, price, epsilon, sensitivity)
    true = candidates(histogram.counts.ravel()[along], min(block, cells))
    noise = discrete_laplace(sum(d.size for d in true), costs.scale, entropy)
    ends = np.cumsum([d.size for d in true])[:-1]
    noisy = [d + z.reshape(d.shape) for d, z in zip(true, np.split(noise, ends), strict=True)]
    return least_cost(noisy, costs), Spend(epsilon, "where to cut")


def candidates(counts: NDArray[np.int64], block: int) -> list[NDArray[np.int64]]:
    """Deviations of blocks, smallest blocks first, each for buckets of 1, 2, 4, ... cells.

    Returns
    -------
    list of ndarray, shape (levels, blocks)
        For blocks of ``block``, 2 ``block``, ... cells.

    Examples
    --------
    >>> [d.tolist() for d in candidates(np.array([5, 5, 0, 3]), block=2)]
    [[[0, 0], [0, 3]], [[0], [3], [7]]]
    """
    found, ordered = [], counts[:, None]
    sums = np.zeros((0, counts.size), np.int64)
    while True:
        length = ordered.shape[1]
        ordered = np.sort(ordered, axis=1)
        # Twice as many cells as one: half of them lie above the median, and half below.
        high, low = ordered[:, length - length // 2 :], ordered[:, : length // 2]
        sums = np.vstack([sums, high.sum(axis=1) - low.sum(axis=1)])
        if length >= block:
            found.append(sums)
        if len(ordered) == 1:
            return found
        sums = sums[:, ::2] + sums[:, 1::2]
        ordered = ordered.reshape(-1, 2 * length)


def least_cost(noisy: Sequence[NDArray[np.int64]], costs: BucketCosts) -> NDArray[np.int64]:
    """The buckets' lengths along the line that cost least, for noisy ``candidates``.

    Examples
    --------
    >>> by_level = candidates(np.array([5, 5, 0, 3]), block=2)
    >>> least_cost(by_level, BucketCosts(parts=1, bucket=2, scale=Fraction(1)))
    array([2, 1, 1])
    """
    choices, best = [], np.zeros(0, np.int64)
    for deviation in noisy:
        levels = len(deviation)
        buckets = 1 << np.arange(levels)[::-1, None]  # in a block
        cost = 2 * costs.parts * deviation + costs.bucket * buckets
        choice, own = cost.argmin(axis=0), cost.min(axis=0)
        if choices:
            halves = best[::2] + best[1::2]
            choice = np.where(own <= halves, choice, -1)
            own = np.minimum(own, halves)
        choices.append(choice)
        best = own
    level = np.full(1, -1)
    for choice in choices[::-1]:
        level = level.repeat(len(choice) // len(level))
        level = np.where(level < 0, choice, level)
    block = 1 << len(noisy[0]) - 1
    begins = np.arange(level.size) * block % (1 << level) == 0
    return np.repeat(1 << level, np.where(begins, np.maximum(block >> level, 1), 0))


def _power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
