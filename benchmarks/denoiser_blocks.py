"""Noisy counts of a training example's cells and blocks, and estimates from them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CELLS = 96
"""Cells along a side of a training example."""


class Sums(NamedTuple):
    """Blocks of a crop's cells: the number of the block that each column and row belongs to."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    many: int

    def of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of values over blocks, shape (many, many); 0 for blocks without cells."""
        found = np.zeros((self.many, self.many))
        np.add.at(found, (self.i[:, None], self.j), values)
        return found

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each cell the value of its block."""
        return values[self.i[:, None], self.j]


def inside_blocks(small: Sums, large: Sums) -> Sums:
    """Return the large blocks as blocks whose cells are the small blocks."""
    up_i, up_j = np.zeros(small.many, int), np.zeros(small.many, int)
    up_i[small.i], up_j[small.j] = large.i, large.j
    return Sums(up_i, up_j, large.many)


def estimated(
    noisy: NDArray[np.float64],
    number: NDArray[np.float64],
    small: Sums,
    large: Sums,
    of_small: tuple[NDArray[np.float64], float] | None,
    of_large: tuple[NDArray[np.float64], float] | None,
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return estimated sums over small and large blocks and their variances, as ``estimates`` does.

    Of a block at the border of the crop, only the part inside the crop is used. ``number`` holds
    for each cell 1 divided by the number of cells that were counted together with it.
    """
    sums, variance = _weighed(small.of(noisy), 2.0 * small.of(number), of_small)
    inner = inside_blocks(small, large)
    wide, before = inner.of(sums), inner.of(variance)
    wide_sums, after = _weighed(wide, before, of_large)
    some = np.where(before > 0, before, 1)
    part = variance / inner.spread(some)
    sums = sums + part * inner.spread(wide_sums - wide)
    variance = variance * (1 - part * (1 - inner.spread(after / some)))
    return [(sums, variance), (wide_sums, after)]


def _weighed(sums, variance, other):
    if other is None:
        return sums, variance
    counts, theirs = other
    total = variance + theirs
    return (sums * theirs + counts * variance) / total, variance * theirs / total


def noisy_parts(
    rng: np.random.Generator,
    counts: NDArray[np.float64],
    inside: NDArray[np.float64],
    group: NDArray[np.int64],
    epsilon: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each cell's share of the noisy count of its group, and 1 / the cells of its group.

    Both are 0 for cells outside the region. Counts are in units of the noise scale.
    """
    cells = np.maximum(np.bincount(group.ravel(), inside.ravel()), 1)
    true = np.bincount(group.ravel(), (counts * inside).ravel())
    noisy = (true + laplace(rng, 1 / epsilon, true.shape)) * epsilon
    return (noisy / cells)[group] * inside, inside / cells[group]


def held_by_blocks(
    small: Sums,
    large: Sums,
    of_small: tuple[NDArray[np.float64], float],
    of_large: tuple[NDArray[np.float64], float],
) -> NDArray[np.float64]:
    """Return estimates of the sums over small blocks from noisy counts of blocks only."""
    inner = inside_blocks(small, large)
    there = np.zeros((small.many,) * 2)
    there[np.ix_(np.unique(small.i), np.unique(small.j))] = 1
    (sums, variance), (theirs, other) = of_small, of_large
    wide, before = inner.of(sums * there), inner.of(there) * variance
    many = np.maximum(inner.of(there), 1)
    gain = before / np.maximum(before + other, 1e-9) * (theirs - wide) / many
    blocks = small.i.max() + 1, small.j.max() + 1
    return (sums + inner.spread(gain))[: blocks[0], : blocks[1]]


def laplace(rng: np.random.Generator, scale: float, shape) -> NDArray[np.int64]:
    """Return discrete Laplace noise from a seeded generator, for public data only."""
    stop = 1 - np.exp(-1 / scale)
    return rng.geometric(stop, shape) - rng.geometric(stop, shape)


def axis_blocks(
    rng: np.random.Generator, side: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of the small and of the large block of each cell along an axis."""
    edges = np.floor(rng.uniform(-3 * side, 0) + side * np.arange(int(CELLS / side) + 6))
    small = np.searchsorted(edges, np.arange(CELLS), side="right") - 1
    large = small // 3
    return small - small.min(), large - large.min()
