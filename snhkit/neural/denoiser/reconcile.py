"""Adjustment of a denoised grid to the estimated sums over blocks of its cells."""

import numpy as np
from jaxtyping import Float, Int

from snhkit.neural.denoiser.levels import Blocks, Levels, block_sums, spread

__all__ = ["reconciled", "settled"]

LEAST = 2.5e-4
"""Count added to each cell before a block is scaled to its sum, in scales of the noise."""

_STEPS, _CLOSE = 30, 1e-6
_CLIP = 8.0  # of the network's logarithms
_FLOOR = 1e-3  # scales of the noise: no block is quite empty


def reconciled(
    clean: Float[np.ndarray, "s s"],
    opinion: Float[np.ndarray, "m m 3"],
    levels: Levels,
    total: float,
) -> Float[np.ndarray, "s s"]:
    """Return denoised counts, adjusted towards the noisy counts of cells and blocks.

    The counts of cells, then the sums over large blocks, then those over small blocks are moved
    towards the noisy ones: cells by as much as the noise does not explain, blocks by weights that
    the network gives. In the end all counts add up to the total. Training applies the same steps
    (``benchmarks/train_denoiser.py``).

    Parameters
    ----------
    clean : ndarray, shape (s * m, s * m)
        Counts of cells cut into s by s parts, not negative, in units of the noise.
    opinion : ndarray, shape (m, m, 3)
        Further outputs of the network, averaged over each block: the logarithms of its relative
        uncertainty about sums over small and over large blocks, and how evenly to reduce counts.
    levels : Levels
        The noisy counts.
    total : float
        The sum of all counts, in units of the noise; not negative.

    Returns
    -------
    ndarray, shape (s * m, s * m)
        The adjusted counts, none negative.
    """
    split = len(clean) // levels.grid.m
    small, large = levels.small, levels.large
    x = _towards_cells(clean, levels.cells)
    wanted = _trusted(x, opinion[..., 1], large, split)
    wanted *= total / wanted.sum()
    x = settled(x, large.first * split, wanted, _evenness(opinion, large))
    parts = _trusted(x, opinion[..., 0], small, split)
    inside = np.searchsorted(small.first, large.first)
    parts = settled(parts, inside, wanted, np.zeros_like(wanted))
    return settled(x, small.first * split, parts, _evenness(opinion, small))


def settled(
    values: Float[np.ndarray, "m m"],
    first: Int[np.ndarray, " b"],
    target: Float[np.ndarray, "b b"],
    evenness: Float[np.ndarray, "b b"],
) -> Float[np.ndarray, "m m"]:
    """Return values, changed so that their sums over blocks equal a target.

    Values of a block below its target are increased in proportion. For a block above its target, a
    share of the difference is subtracted evenly, but no value becomes negative, so that a peak
    among many small values keeps its height; the rest is subtracted in proportion.

    Parameters
    ----------
    values : ndarray, shape (m, m)
        The values, none negative.
    first : ndarray of int, shape (b,)
        The blocks' first cells along either axis.
    target : ndarray, shape (b, b)
        The sums over blocks to reach, none negative.
    evenness : ndarray, shape (b, b)
        The share of a difference that is subtracted evenly, from 0 to 1.
    """
    cells = np.diff(first, append=len(values))
    sums = block_sums(values, first)
    between = target + (1 - evenness) * np.maximum(sums - target, 0)
    if (sums > between).any():
        values = np.maximum(values - spread(_surplus(values, first, sums, between), cells), 0.0)
    values = values + LEAST
    # Shares, not factors: no share overflows.
    return values / spread(block_sums(values, first), cells) * spread(target, cells)


def _towards_cells(
    clean: Float[np.ndarray, "s s"], cells: Float[np.ndarray, "m m"]
) -> Float[np.ndarray, "s s"]:
    """Return counts moved towards the noisy counts of cells, whose noise has variance 2.

    The weight t / (t + 2) is that of a positive-part James-Stein estimate; t is the mean of the
    squared differences less 2.
    """
    m = len(cells)
    first = np.arange(m) * (len(clean) // m)
    ours = block_sums(clean, first)
    excess = float(np.mean((cells - ours) ** 2)) - 2
    if excess <= 0:
        return clean
    target = np.maximum(ours + excess / (excess + 2) * (cells - ours), 0)
    return settled(clean, first, target, np.ones_like(target))


def _trusted(
    x: Float[np.ndarray, "s s"], opinion: Float[np.ndarray, "m m"], blocks: Blocks, split: int
) -> Float[np.ndarray, "b b"]:
    """Return sums over blocks, moved towards the noisy sums by inverse-variance weights."""
    ours = block_sums(x, blocks.first * split)
    lean = np.clip(_means(opinion, blocks.first), -_CLIP, _CLIP)
    ours_variance = np.exp(lean) * (0.3 + 0.5 * ours + 0.05 * ours**2)
    weight = ours_variance / (ours_variance + blocks.variance)
    return np.maximum(ours + weight * (blocks.sums - ours), _FLOOR)


def _evenness(opinion: Float[np.ndarray, "m m 3"], blocks: Blocks) -> Float[np.ndarray, "b b"]:
    return 1 / (1 + np.exp(-2 - np.clip(_means(opinion[..., 2], blocks.first), -30, 30)))


def _means(
    values: Float[np.ndarray, "m m"], first: Int[np.ndarray, " b"]
) -> Float[np.ndarray, "b b"]:
    cells = np.diff(first, append=len(values))
    return block_sums(values, first) / np.outer(cells, cells)


def _surplus(
    values: Float[np.ndarray, "m m"],
    first: Int[np.ndarray, " b"],
    sums: Float[np.ndarray, "b b"],
    target: Float[np.ndarray, "b b"],
) -> Float[np.ndarray, "b b"]:
    """Return the amount to subtract from each value of a block, found by Newton's method."""
    cells = np.diff(first, append=len(values))
    off, left, many = np.zeros_like(sums), sums, np.outer(cells, cells).astype(float)
    for _ in range(_STEPS):
        off = off + np.maximum(left - target, 0) / np.maximum(many, 1)
        above = values - spread(off, cells)
        left, many = block_sums(np.maximum(above, 0), first), block_sums(above > 0, first)
        if (left - target <= _CLOSE * target).all():
            break
    return off
