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


def noisy_buckets(
    histogram: Histogram,
    along: NDArray[np.int64],
    longest: int,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[NDArray[np.int64], Spend]:
    """Return the lengths of a private partition of a line of grid cells, shape (buckets,).

    Buckets of ``longest`` cells are quartered as in PrivTree; docs/privacy.md has the proof.
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
    """Return sum(abs(count - median)) of buckets of ``longest``, ``longest`` / 4, ... 4 counts."""
    found, length = [], 4
    while length <= longest:
        ordered = np.sort(counts.reshape(-1, length), axis=1)
        # The deviation from the median is the sum of the larger half of the counts minus the sum of
        # the smaller half.
        high, low = ordered[:, length // 2 :], ordered[:, : length // 2]
        found.append(high.sum(axis=1) - low.sum(axis=1))
        counts, length = ordered.ravel(), 4 * length
    return found[::-1]
