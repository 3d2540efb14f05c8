"""Noisy counts of a grid's cells, of small blocks and of large blocks, and estimates from them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from snhkit.builders.cell_width import default_cell_width
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid
from snhkit.geometry.grid import block_starts, block_sums, spread
from snhkit.geometry.histogram import Merged
from snhkit.privacy import Measurements

BLOCK_M = 400.0
"""Approximate width of the small blocks in metres."""

_CELLS = (4.0, 40.0)  # bounds on the cells per side of a small block
_WIDER = 3  # small blocks per side of a large block
_SHARE = 0.17  # share of epsilon for blocks if n times epsilon is between the next two numbers
_FEW, _MANY = 3_000.0, 11_000.0
_MOST_SHARE = 0.4  # the largest share with which the network was trained
_SHARE_OF_LARGE = Fraction(7, 10)  # share of large blocks in the epsilon for blocks
# If n times epsilon is below the first number, cells are not grouped. From the first to the second,
# the number of records that a group should hold increases.
_DIM, _CLEAR = 8_000.0, 40_000.0
_CROWDED = 0.9  # cells narrower than this many default widths are not grouped
_PARTS = 1_000  # shares of epsilon are rounded to thousandths

Measured = tuple[Float[np.ndarray, "_ _"], float]
"""Noisy counts of blocks, and the variance of the noise of each."""

WIDER = 1.12
"""The factor by which a bought cell width is multiplied. A bought width is chosen for squares
around records. With slightly wider cells, the errors of these squares are the same, and the errors
of all other boxes are smaller (``benchmarks/denoised.py --tables widths``)."""

_LEAST_SIDE = 1.5  # the least mean number of cells per side of a group


class Blocks(NamedTuple):
    """Estimated sums over blocks, which begin at ``first``, and variances, in noise scales."""

    first: Int[np.ndarray, " b"]
    sums: Float[np.ndarray, "b b"]
    variance: Float[np.ndarray, "b b"]


@dataclass(frozen=True, eq=False)
class Levels:
    """Noisy counts of cells, in noise scales, and estimated sums over small and large blocks.

    ``group`` has the group with which each cell was counted, whose count is divided equally among
    its cells; None if all were counted alone. Each large block consists of whole small blocks.
    """

    grid: Grid
    noise_scale: float
    cells: Float[np.ndarray, "m m"]
    small: Blocks
    large: Blocks
    group: Int[np.ndarray, "m m"] | None = None


def coarse_share(n: int, epsilon: float, sizes_m: tuple[float, float] = DEFAULT_SIZES_M) -> float:
    """Return the default share of epsilon for blocks: more for few records and large boxes."""
    wider = max(sum(sizes_m) / sum(DEFAULT_SIZES_M), 1.0)
    known = max(n * epsilon, 1.0)
    share = _SHARE * max(known / _MANY, 1.0) ** -0.2 * max(_FEW / known, 1.0) ** 0.3
    return min(share * wider**0.4, _MOST_SHARE)


def enough_records(n: int, epsilon: float, cell_m: float) -> float:
    """Return how many records, in noise scales, a group of cells should hold; 0 for no groups."""
    known = n * epsilon
    if known < _DIM or cell_m < _CROWDED * default_cell_width(n, epsilon):
        return 0
    return min(known / _CLEAR, 1.0)


def checked_share(name: str, share: float) -> None:
    """Raise InputError unless ``share`` is a number of at least 0 and less than 1."""
    number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
    if not (number and 0 <= share < 1):
        raise InputError(
            f"{name} must be a fraction of epsilon, at least 0 and less than 1, not {share!r}."
        )


def bought_levels(private: Measurements, grid: Grid, share: float) -> Levels:
    """Spend all epsilon that is left on large and small blocks, by ``share``, and then cells."""
    small, large = blocks(grid)
    coarse = private.epsilon * Fraction(round(share * _PARTS), _PARTS)
    bought = []
    wide = coarse * _SHARE_OF_LARGE
    for first, part in ((large, wide), (small, coarse - wide)):
        if part:
            noisy = private.histogram(_merged(grid, first), part).values
            bought.append((noisy.reshape(len(first), len(first)), part))
    noise_scale, left = 1 / private.record_epsilon, private.epsilon
    told = [(noisy / noise_scale, 2 * float(left / part) ** 2) for noisy, part in bought]
    of_large, of_small = told or (None, None)
    enough = enough_records(private.n or 0, private.record_epsilon, grid.cell_m)
    if not (of_large and of_small and enough):
        cells = private.histogram(grid, left).values / noise_scale
        return estimates(grid, noise_scale, cells, of_large, of_small)
    # Which cells are counted together depends on noisy counts only.
    (held, _), _ = _combined(
        of_small[0],
        np.full_like(*of_small),
        np.searchsorted(small, large),
        of_large,
    )
    group = merged_groups(grid.m, small, held, enough)
    cells = private.histogram(Merged(grid, group), left).values / noise_scale
    each = (cells / np.bincount(group.ravel()))[group]
    return estimates(grid, noise_scale, each, of_large, of_small, group)


def blocks(grid: Grid) -> tuple[Int[np.ndarray, " s"], Int[np.ndarray, " l"]]:
    """Return the indices of the first cells, along an axis, of small and of large blocks."""
    side = min(max(BLOCK_M / grid.cell_m, _CELLS[0]), _CELLS[1])
    large = max(1, round(grid.m / (_WIDER * side)))
    return block_starts(grid.m, min(_WIDER * large, grid.m)), block_starts(grid.m, large)


def estimates(
    grid: Grid,
    noise_scale: float,
    cells: Float[np.ndarray, "m m"],
    large: Measured | None,
    small: Measured | None,
    group: Int[np.ndarray, "m m"] | None = None,
) -> Levels:
    """Return noisy counts with the best linear estimates of the sums over blocks.

    ``large`` and ``small`` are counts in noise scales and their variance; a group is in one block.
    """
    of_small, of_large = blocks(grid)
    if group is None:
        size = np.diff(of_small, append=grid.m)
        counted = np.outer(size, size).astype(float)
    else:
        counted = block_sums((1 / np.bincount(group.ravel()))[group], of_small)
    sums, variance = _weighed(block_sums(cells, of_small), 2 * counted, small)
    inside = np.searchsorted(of_small, of_large)  # the first small block of each large one
    fine, coarse = _combined(sums, variance, inside, large)
    small_blocks, large_blocks = Blocks(of_small, *fine), Blocks(of_large, *coarse)
    return Levels(grid, noise_scale, cells, small_blocks, large_blocks, group)


def _combined(
    sums: Float[np.ndarray, "s s"],
    variance: Float[np.ndarray, "s s"],
    inside: Int[np.ndarray, " l"],
    large: Measured | None,
) -> tuple[
    tuple[Float[np.ndarray, "s s"], Float[np.ndarray, "s s"]],
    tuple[Float[np.ndarray, "l l"], Float[np.ndarray, "l l"]],
]:
    """Return sums and variances of small and of large blocks, which begin at ``inside``."""
    wide, before = block_sums(sums, inside), block_sums(variance, inside)
    wide_sums, after = _weighed(wide, before, large)
    many = np.diff(inside, append=len(sums))
    lead, kept = spread((wide_sums - wide) / before, many), spread(after / before, many)
    part = variance / spread(before, many)
    return (sums + variance * lead, variance * (1 - part * (1 - kept))), (wide_sums, after)


def _weighed(
    sums: Float[np.ndarray, "b b"],
    variance: Float[np.ndarray, "b b"],
    other: Measured | None,
) -> tuple[Float[np.ndarray, "b b"], Float[np.ndarray, "b b"]]:
    """Return the mean of two noisy sums, weighted by inverse variances, and the mean's variance."""
    if other is None:
        return sums, variance
    counts, theirs = other
    total = variance + theirs
    return (sums * theirs + counts * variance) / total, variance * theirs / total


def _merged(grid: Grid, first: Int[np.ndarray, " b"]) -> Merged:
    """Return the blocks of cells that begin at ``first`` along either axis, to be counted."""
    block = np.repeat(np.arange(len(first)), np.diff(first, append=grid.m))
    return Merged(grid, block[:, None] * len(first) + block)


def merged_groups(
    m: int, first: Int[np.ndarray, " b"], sums: Float[np.ndarray, "b b"], enough: float
) -> Int[np.ndarray, "{m} {m}"]:
    """Return the group of each cell: parts of blocks, of about ``enough`` records, as in AG."""
    size = np.diff(first, append=m)
    parts = np.maximum(np.sqrt(np.maximum(sums, 0) / enough), 1).astype(np.int64)
    whole = parts * _LEAST_SIDE > np.sqrt(np.outer(size, size))
    along_x = np.where(whole, size[:, None], np.minimum(parts, size[:, None]))
    along_y = np.where(whole, size, np.minimum(parts, size))
    ends = np.cumsum(along_x * along_y).reshape(parts.shape)
    block = np.repeat(np.arange(len(first)), size)
    place = np.arange(m) - first[block]
    each = np.ix_(block, block)
    i = place[:, None] * along_x[each] // size[block][:, None]
    j = place * along_y[each] // size[block]
    return (ends - along_x * along_y)[each] + i * along_y[each] + j
