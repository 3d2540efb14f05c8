"""A private partition of a line of grid cells into buckets of similar counts (DAWA, stage 1)."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Histogram
from snhkit.privacy.budget import Epsilon, epsilon_share
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.noise import discrete_laplace
from snhkit.privacy.spend import Spend
from snhkit.privacy.splits import Lattice

__all__ = ["noisy_buckets"]


def noisy_buckets(
    histogram: Histogram,
    along: NDArray[np.int64],
    longest: int,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[NDArray[np.int64], Spend]:
    """Return a private partition of a line of grid cells into buckets of similar counts.

    The line consists of all cells of a grid, in a given order. A bucket is a run of consecutive
    cells. The line is first divided into buckets of ``longest`` cells. The deviation of a bucket is
    the sum over its cells of abs(count - median). The deviation is lowered by a bias, noise is
    added, and the bucket is divided into quarters if the result is above 0. The quarters are
    treated in the same way, down to single cells. The bias grows with each division, so the privacy
    loss of a record stays bounded, however many buckets contain its cell one after another.

    Parameters
    ----------
    histogram : Histogram
        The true counts of the grid's cells.
    along : ndarray of int, shape (cells,)
        The cells' flat indices in the order of the line, each once.
    longest : int
        The number of cells of the longest buckets, a power of four that divides the number of
        cells.
    epsilon : int, float, str, Decimal or Fraction
        The cost of the partition.
    sensitivity : int
        The largest number of records of one unit of privacy.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    length : ndarray of int, shape (buckets,)
        The number of cells of each bucket, in the order of the line.
    spend : Spend
        The cost.

    Raises
    ------
    InputError
        If a cell is missing on the line or occurs twice, if ``longest`` is not a power of four that
        divides the number of cells, or if epsilon or sensitivity is out of range.

    Examples
    --------
    >>> from snhkit.geometry import Grid, Points, Region
    >>> from snhkit.privacy import SystemEntropy
    >>> city = Region.around(lat=0, lon=0, side_m=2)
    >>> counts = Grid(city, 2).count(Points(city, [[0, 0]] * 9))
    >>> length, spend = noisy_buckets(
    ...     counts, np.arange(4), 4, Fraction(10_000), 1, SystemEntropy()
    ... )
    >>> length, str(spend)
    (array([1, 1, 1, 1]), '10000 for bucket boundaries')

    Notes
    -----
    The first stage of DAWA (Li, Hay, Miklau and Wang, PVLDB 2014, Sec. 3) adds noise to the costs
    of buckets, and chooses the partition with the lowest total cost. Here, each division is decided
    as in PrivTree (Zhang, Xiao and Xie, SIGMOD 2016), with deviations in place of counts.
    docs/privacy.md has the proof.
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
    if longest < 1 or longest & (longest - 1) or longest.bit_length() % 2 == 0 or cells % longest:
        raise InputError(
            "noisy_buckets: longest must be a power of four that divides the number of cells, "
            f"not {longest} for {cells} cells."
        )
    lattice = Lattice.of(epsilon, sensitivity)
    noise_scale = Fraction(lattice.scale)
    length = np.full(cells // longest, longest)
    for depth, true in enumerate(deviations(histogram.counts.ravel()[along], longest)):
        size = longest >> 2 * depth
        candidate = np.flatnonzero(length == size)
        begin = (np.cumsum(length) - length)[candidate]
        noise = discrete_laplace(candidate.size, noise_scale, entropy)
        parts = np.ones_like(length)
        parts[candidate] += 3 * (lattice.biased(true[begin // size], depth) + noise > 0)
        length = np.repeat(length // parts, parts)
    return length, Spend(epsilon, "bucket boundaries")


def deviations(counts: NDArray[np.int64], longest: int) -> list[NDArray[np.int64]]:
    """Return the deviations of all buckets of ``longest``, ``longest`` / 4, ... and 4 cells.

    Parameters
    ----------
    counts : ndarray of int, shape (cells,)
        The counts in the order of the line.
    longest : int
        The number of cells of the longest buckets, a power of four that divides the number of
        cells.

    Returns
    -------
    list of ndarray of int, shape (buckets of one length,)
        For each length, longest first: the sum over a bucket's cells of abs(count - median).

    Examples
    --------
    >>> [d.tolist() for d in deviations(np.array([5, 5, 0, 3]), longest=4)]
    [[7]]
    """
    found, length = [], 4
    while length <= longest:
        ordered = np.sort(counts.reshape(-1, length), axis=1)
        # The deviation from the median is the sum of the larger half of the counts minus the sum of
        # the smaller half.
        high, low = ordered[:, length // 2 :], ordered[:, : length // 2]
        found.append(high.sum(axis=1) - low.sum(axis=1))
        counts, length = ordered.ravel(), 4 * length
    return found[::-1]
