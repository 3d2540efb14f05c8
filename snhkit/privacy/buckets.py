"""A private partition of a line of grid cells into buckets of similar counts (DAWA, stage 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Histogram
from snhkit.privacy.budget import Epsilon, epsilon_share
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.noise import discrete_laplace
from snhkit.privacy.scale import noise_scale
from snhkit.privacy.spend import Spend

__all__ = ["BucketCosts", "noisy_buckets"]

_MAX_BITS = 20  # a record has at most 2^20 units


@dataclass(frozen=True)
class BucketCosts:
    """The costs by which ``noisy_buckets`` compares partitions, as integers.

    A cost of one record is stored as the integer ``units_per_record``, so that sums are exact. See
    ``noisy_buckets`` for the definition of blocks, buckets and the deviation of a bucket.

    Parameters
    ----------
    units_per_record : int
        The number of units of cost that make one record.
    bucket_cost : int
        The fixed cost of each bucket, which is added to twice the bucket's deviation, in units.
    scale : Fraction
        The scale of the noise on deviations, in records.
    block_cost : int
        The cost of each block in addition to the costs of its buckets, in units.

    Examples
    --------
    >>> BucketCosts(units_per_record=4, bucket_cost=10, scale=Fraction(2)).bucket_cost
    10
    """

    units_per_record: int
    bucket_cost: int
    scale: Fraction
    block_cost: int = 0

    @classmethod
    def of(
        cls,
        cells: int,
        price: Fraction,
        epsilon: Fraction,
        sensitivity: int,
        block_price: Fraction = Fraction(0),
    ) -> "BucketCosts":
        """Return costs in the smallest unit, at least 2^-20 records, in which sums do not overflow.

        Parameters
        ----------
        cells : int
            The number of cells on the line.
        price : Fraction
            The fixed cost of a bucket, which is added to twice its deviation, in records.
        epsilon : Fraction
            The epsilon that the private partition costs.
        sensitivity : int
            The largest number of records of one unit of privacy.
        block_price : Fraction
            The cost of a block in addition to the costs of its buckets, in records.

        Returns
        -------
        BucketCosts
            The costs, which follow from public numbers alone.

        Raises
        ------
        InputError
            If epsilon is too small for 64-bit integers.

        Examples
        --------
        >>> BucketCosts.of(2**20, Fraction(5), Fraction(1, 20), sensitivity=1)
        BucketCosts(units_per_record=1048576, bucket_cost=5242880, scale=Fraction(40, 1),
        block_cost=0)
        """
        scale = noise_scale(epsilon, 2 * sensitivity)
        # The largest possible cost for 2^40 records and noise of up to 2^10 times its scale.
        max_cost = 2 * (2**40 + cells * 2**10 * scale) + cells * (price + block_price + 1)
        units = min(2**62 // int(max_cost), 2**_MAX_BITS)
        if not units:
            raise InputError(
                "noisy_buckets: sensitivity / epsilon is too large for 64-bit integers. "
                "Give a larger epsilon, or a smaller max_per_user."
            )
        return cls(units, max(1, round(price * units)), scale, round(block_price * units))


def noisy_buckets(
    histogram: Histogram,
    along: NDArray[np.int64],
    block: int,
    price: Fraction,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
    block_price: Fraction = Fraction(0),
) -> tuple[NDArray[np.int64], Spend]:
    """Return a private partition of a line of grid cells into the buckets of least noisy cost.

    The line consists of all cells of a grid, in a given order. A bucket is a run of consecutive
    cells with similar counts. The deviation of a bucket is the sum over its cells of
    abs(count - median). The cost of a bucket is ``price`` plus twice its deviation, and noise is
    added to the deviations. The line is divided into blocks, and each block into buckets of equal
    length. The length of a bucket is a power of two, and the length of a block is ``block`` times a
    power of four. Each bucket or block begins at a multiple of its length.

    Parameters
    ----------
    histogram : Histogram
        The true counts of the grid's cells, whose number is a power of two.
    along : ndarray of int, shape (cells,)
        The cells' flat indices in the order of the line, each once.
    block : int
        The number of cells of the smallest block, a power of two. The line must have ``block``
        times a power of four cells.
    price : Fraction
        The fixed cost of a bucket, which is added to twice its deviation, in records; usually the
        scale of the noise that the bucket's count will get.
    epsilon : int, float, str, Decimal or Fraction
        The cost of the partition.
    sensitivity : int
        The largest number of records of one unit of privacy.
    entropy : Entropy
        The source of randomness.
    block_price : Fraction
        The cost of a block in addition to the costs of its buckets, in records. Among many
        candidate blocks, some look cheap because their noise is low by chance. A price of several
        noise scales keeps the partition from choosing these blocks.

    Returns
    -------
    length : ndarray of int, shape (buckets,)
        The number of cells of each bucket, in the order of the line.
    spend : Spend
        The cost.

    Raises
    ------
    InputError
        If a cell is missing on the line or occurs twice, if the number of cells or ``block`` is not
        a power of two, or if epsilon or sensitivity is out of range.

    Examples
    --------
    >>> from snhkit.geometry import Grid, Points, Region
    >>> from snhkit.privacy import SystemEntropy
    >>> city = Region.around(lat=0, lon=0, side_m=2)
    >>> counts = Grid(city, 2).count(Points(city, [[0, 0]] * 9))
    >>> length, spend = noisy_buckets(
    ...     counts, np.arange(4), 4, Fraction(1), Fraction(10_000), 1, SystemEntropy()
    ... )
    >>> length, str(spend)
    (array([1, 1, 1, 1]), '10000 for bucket boundaries')

    Notes
    -----
    The first stage of DAWA (Li, Hay, Miklau and Wang, PVLDB 2014, Sec. 3), with other candidates
    and more noise; docs/privacy.md has the proof.
    """
    epsilon = epsilon_share(epsilon)
    if not isinstance(histogram, Histogram):
        raise InputError(
            "noisy_buckets: each record must be in one cell only; give the Histogram that "
            f"Grid.count makes, not a {type(histogram).__name__}."
        )
    cells = histogram.counts.size
    if not np.array_equal(np.sort(along), np.arange(cells)):
        raise InputError(
            "noisy_buckets: along must contain each whole number from 0 to "
            f"{cells - 1} exactly once."
        )
    if not _is_power_of_two(cells) or not _is_power_of_two(block):
        raise InputError(
            "noisy_buckets: block and the number of cells must be powers of two, "
            f"not {block} and {cells}."
        )
    if cells > block and not (cells // block).bit_length() % 2:
        raise InputError(
            "noisy_buckets: the number of cells must be block times a power of four, "
            f"not {cells} cells for block = {block}."
        )
    costs = BucketCosts.of(cells, price, epsilon, sensitivity, block_price)
    true = candidates(histogram.counts.ravel()[along], min(block, cells))
    noise = discrete_laplace(sum(d.size for d in true), costs.scale, entropy)
    ends = np.cumsum([d.size for d in true])[:-1]
    noisy = [d + z.reshape(d.shape) for d, z in zip(true, np.split(noise, ends), strict=True)]
    return least_cost(noisy, costs), Spend(epsilon, "bucket boundaries")


def candidates(counts: NDArray[np.int64], block: int) -> list[NDArray[np.int64]]:
    """Return the sum of the deviations of the buckets in each block, for each bucket length.

    See ``noisy_buckets`` for the definition of blocks, buckets and deviations.

    Parameters
    ----------
    counts : ndarray of int, shape (cells,)
        The counts in the order of the line.
    block : int
        The number of cells of the smallest block.

    Returns
    -------
    list of ndarray, shape (bucket lengths, blocks)
        One array for each length of block: ``block``, 4 ``block``, ... cells. Row k holds, for each
        block, the sum of the deviations of its buckets if each bucket has 2^k cells.

    Examples
    --------
    >>> [d.tolist() for d in candidates(np.array([5, 5, 0, 3]), block=1)]
    [[[0, 0, 0, 0]], [[0], [3], [7]]]
    """
    found, ordered = [], counts[:, None]
    sums = np.zeros((0, counts.size), np.int64)
    while True:
        length = ordered.shape[1]
        ordered = np.sort(ordered, axis=1)
        # The deviation from the median is the sum of the larger half of the counts minus the sum of
        # the smaller half.
        high, low = ordered[:, length - length // 2 :], ordered[:, : length // 2]
        sums = np.vstack([sums, high.sum(axis=1) - low.sum(axis=1)])
        if length >= block and (length // block).bit_length() % 2:
            found.append(sums)
        if len(ordered) == 1:
            return found
        sums = sums[:, ::2] + sums[:, 1::2]
        ordered = ordered.reshape(-1, 2 * length)


def least_cost(noisy: Sequence[NDArray[np.int64]], costs: BucketCosts) -> NDArray[np.int64]:
    """Return the bucket lengths of the partition of least cost, given noisy deviations.

    Parameters
    ----------
    noisy : sequence of ndarray, shape (bucket lengths, blocks)
        The sums that ``candidates`` returns, with noise.
    costs : BucketCosts
        The costs of buckets and blocks.

    Returns
    -------
    ndarray of int, shape (buckets,)
        The number of cells of each bucket, in the order of the line.

    Examples
    --------
    >>> by_level = candidates(np.array([5, 5, 0, 3]), block=1)
    >>> least_cost(by_level, BucketCosts(units_per_record=1, bucket_cost=5, scale=Fraction(1)))
    array([2, 2])
    """
    choices, best = [], np.zeros(0, np.int64)
    for deviation in noisy:
        levels, blocks = deviation.shape
        buckets = 1 << np.arange(levels)[::-1, None]  # in a block
        cost = 2 * costs.units_per_record * deviation + costs.bucket_cost * buckets
        cost += costs.block_cost
        choice, own = cost.argmin(axis=0), cost.min(axis=0)
        if choices:
            quarters = best.reshape(blocks, 4).sum(axis=1)
            choice = np.where(own <= quarters, choice, -1)
            own = np.minimum(own, quarters)
        choices.append(choice)
        best = own
    level = np.full(1, -1)
    for choice in choices[::-1]:
        level = level.repeat(len(choice) // len(level))
        level = np.where(level < 0, choice, level)
    block = 1 << len(noisy[0]) - 1
    begins = np.arange(level.size) * block % (1 << level) == 0
    return np.repeat(1 << level, np.where(begins, np.maximum(block >> level, 1), 0))


def _is_power_of_two(number: int) -> bool:
    """Return whether an integer is 1, 2, 4, 8, ..."""
    return number > 0 and number & (number - 1) == 0
