"""Noisy counts of a grid's cells and of two levels of blocks, and estimates from them."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid
from snhkit.geometry.histogram import Merged
from snhkit.privacy import Measurements

__all__ = [
    "WIDER",
    "Blocks",
    "Levels",
    "block_starts",
    "block_sums",
    "bought_levels",
    "checked_share",
    "coarse_share",
    "estimates",
    "least_width",
    "spread",
]

BLOCK_M = 400.0
"""Approximate width of the small blocks in metres."""

_CELLS = (4.0, 40.0)  # a side of the smaller blocks, at least and at most
_WIDER = 3  # smaller blocks a side of the larger ones
_USEFUL = 2.0  # cells a side of the smallest boxes asked
_SHARE, _MOST_SHARE = 0.2, 0.4  # of epsilon, for blocks
_ENOUGH = 500.0  # n times epsilon from which the share is not reduced
_MANY = 11_000.0  # n times epsilon from which small blocks are worth more
_PARTS = 1_000  # shares are whole thousandths


class Blocks(NamedTuple):
    """Estimated sums over b by b blocks of cells.

    Parameters
    ----------
    first : ndarray of int, shape (b,)
        The blocks' first cells along either axis.
    sums : ndarray, shape (b, b)
        Estimated sums, in units of the noise scale of a cell.
    variance : ndarray, shape (b, b)
        Variances of the noise in the sums, in squares of these units.
    """

    first: Int[np.ndarray, " b"]
    sums: Float[np.ndarray, "b b"]
    variance: Float[np.ndarray, "b b"]


@dataclass(frozen=True, eq=False)
class Levels:
    """Noisy counts of cells and of two levels of blocks, in units of the noise of a cell.

    Parameters
    ----------
    grid : Grid
        The cells.
    noise_scale : float
        Scale of the noise of a cell, in records.
    cells : ndarray, shape (m, m)
        Noisy counts of the cells.
    small, large : Blocks
        The blocks of both levels; each large block consists of whole small ones.
    """

    grid: Grid
    noise_scale: float
    cells: Float[np.ndarray, "m m"]
    small: Blocks
    large: Blocks


def coarse_share(n: int, epsilon: float, sizes_m: tuple[float, float] = DEFAULT_SIZES_M) -> float:
    """Return the default share of epsilon that buys counts of blocks.

    The share is at most a fifth for the default sizes (``benchmarks/denoised.py`` prints the errors
    of other shares). It falls as n epsilon grows, and where the noise hides whole blocks; it is
    larger for wider boxes.

    Parameters
    ----------
    n : int
        The number of records, public or bought.
    epsilon : float
        Epsilon per record.
    sizes_m : (float, float)
        Sides of the smallest and the largest boxes to prepare for, in metres.

    Examples
    --------
    >>> [round(coarse_share(217_438, epsilon), 3) for epsilon in (0.05, 0.2, 0.8)]
    [0.2, 0.163, 0.132]
    """
    wider = max(sum(sizes_m) / sum(DEFAULT_SIZES_M), 1.0)
    known = n * epsilon
    share = _SHARE * max(known / _MANY, 1.0) ** -0.15
    return min(share * wider**0.4, _MOST_SHARE) * min(known / _ENOUGH, 1.0)


def share_of_large(n: int, epsilon: float) -> Fraction:
    """Return the share of the blocks' epsilon that buys counts of large blocks.

    The share falls from 0.65 to 0.3 as n epsilon grows, because finer blocks then stand out from
    the noise.

    Examples
    --------
    >>> [float(share_of_large(217_438, epsilon)) for epsilon in (0.05, 0.2, 0.8)]
    [0.65, 0.501, 0.351]
    """
    fewer = math.log(max(n * epsilon / _MANY, 1.0), 4)
    return Fraction(round(max(0.65 - 0.15 * fewer, 0.3) * _PARTS), _PARTS)


def checked_share(share: float) -> None:
    """Raise InputError unless a share is a number from 0 to below 1."""
    number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
    if not (number and 0 <= share < 1):
        raise InputError(f"coarse must be a share of epsilon from 0 to below 1, not {share!r}.")


WIDER = 1.12
"""Factor for a bought width, which suits squares around records: wider cells cost those squares
nothing, and all other boxes gain (``benchmarks/denoised.py --tables widths``)."""


def least_width(sizes_m: tuple[float, float]) -> float:
    """Return the narrowest cells in metres that boxes of these sizes gain from."""
    return sizes_m[0] / _USEFUL


def bought_levels(private: Measurements, grid: Grid, share: float) -> Levels:
    """Buy noisy counts of cells and of blocks for all the epsilon that is left.

    Large blocks are bought first, cells last.

    Parameters
    ----------
    private : Measurements
        The measurements of the records, with n, public or bought.
    grid : Grid
        The cells, in the records' region.
    share : float
        The share of epsilon for the blocks, from 0 to below 1; 0 buys counts of cells only.

    Returns
    -------
    Levels
        The noisy counts, put together.
    """
    small, large = blocks(grid)
    coarse = private.epsilon * Fraction(round(share * _PARTS), _PARTS)
    bought = []
    wide = coarse * share_of_large(private.n or 0, private.record_epsilon)
    for first, part in ((large, wide), (small, coarse - wide)):
        if part:
            noisy = private.histogram(_merged(grid, first), part).values
            bought.append((noisy.reshape(len(first), len(first)), part))
    noise_scale, left = 1 / private.record_epsilon, private.epsilon
    cells = private.histogram(grid, left).values
    told = [(noisy / noise_scale, 2 * float(left / part) ** 2) for noisy, part in bought]
    return estimates(grid, noise_scale, cells / noise_scale, *(told or (None, None)))


def blocks(grid: Grid) -> tuple[Int[np.ndarray, " s"], Int[np.ndarray, " l"]]:
    """Return the first cells along either axis of the small blocks, and of the large ones."""
    side = min(max(BLOCK_M / grid.cell_m, _CELLS[0]), _CELLS[1])
    large = max(1, round(grid.m / (_WIDER * side)))
    return block_starts(grid.m, min(_WIDER * large, grid.m)), block_starts(grid.m, large)


def estimates(
    grid: Grid,
    noise_scale: float,
    cells: Float[np.ndarray, "m m"],
    large: tuple[Float[np.ndarray, "l l"], float] | None,
    small: tuple[Float[np.ndarray, "s s"], float] | None,
) -> Levels:
    """Return the best linear estimates of the blocks' sums, given all noisy counts.

    Sums of cells, counts of small blocks and counts of large blocks measure the same records. Each
    block's sum is the mean of its measurements, weighted by inverse variances. The correction of a
    large block is then divided among its small blocks, in proportion to their variances.

    Parameters
    ----------
    grid : Grid
        The cells.
    noise_scale : float
        Scale of the noise of a cell, in records.
    cells : ndarray, shape (m, m)
        Noisy counts, in units of the noise.
    large, small : (ndarray, float), optional
        Noisy counts of the blocks in these units, and the variance of the noise in each count.
    """
    of_small, of_large = blocks(grid)
    inside = np.searchsorted(of_small, of_large)  # the first small block of each large one
    size = np.diff(of_small, append=grid.m)
    sums, variance = _weighed(block_sums(cells, of_small), 2.0 * np.outer(size, size), small)
    wide, before = block_sums(sums, inside), block_sums(variance, inside)
    wide_sums, after = _weighed(wide, before, large)
    many = np.diff(inside, append=len(of_small))
    lead, kept = spread((wide_sums - wide) / before, many), spread(after / before, many)
    part = variance / spread(before, many)
    sums = sums + variance * lead
    variance = variance * (1 - part * (1 - kept))
    small_blocks, large_blocks = (
        Blocks(of_small, sums, variance),
        Blocks(of_large, wide_sums, after),
    )
    return Levels(grid, noise_scale, cells, small_blocks, large_blocks)


def _weighed(
    sums: Float[np.ndarray, "b b"],
    variance: Float[np.ndarray, "b b"],
    other: tuple[Float[np.ndarray, "b b"], float] | None,
) -> tuple[Float[np.ndarray, "b b"], Float[np.ndarray, "b b"]]:
    """Return the inverse-variance mean of two measurements, and its variance."""
    if other is None:
        return sums, variance
    counts, theirs = other
    total = variance + theirs
    return (sums * theirs + counts * variance) / total, variance * theirs / total


def _merged(grid: Grid, first: Int[np.ndarray, " b"]) -> Merged:
    """Return the blocks that start at these cells along either axis."""
    block = np.repeat(np.arange(len(first)), np.diff(first, append=grid.m))
    return Merged(grid, block[:, None] * len(first) + block)


def block_starts(m: int, blocks: int) -> Int[np.ndarray, " {blocks}"]:
    """Return the first cells of blocks of nearly equal width among m cells, shape (blocks,)."""
    return np.arange(blocks) * m // blocks


def block_sums(
    values: Shaped[np.ndarray, "m m"], first: Int[np.ndarray, " b"]
) -> Float[np.ndarray, "b b"]:
    """Return the sums over blocks, given their first cells along either axis."""
    rows = np.add.reduceat(values.astype(float, copy=False), first, axis=0)
    return np.add.reduceat(rows, first, axis=1)


def spread(
    values: Shaped[np.ndarray, "b b"], cells: Int[np.ndarray, " b"]
) -> Shaped[np.ndarray, "m m"]:
    """Return for each cell the value of its block; ``cells`` are the blocks' widths in cells."""
    return np.repeat(np.repeat(values, cells, axis=0), cells, axis=1)
