"""Adjustment of a denoised grid to the estimated sums over blocks of its cells."""

import numpy as np
from jaxtyping import Float, Int

from snhkit.geometry.grid import block_sums, spread
from snhkit.neural.denoiser.levels import Blocks, Levels

LEAST = 2.5e-4
"""The count, in noise scales, that is added to each cell before a block is scaled to its sum."""

_STEPS, _CLOSE = 30, 1e-6  # the most iterations, and the relative difference at which they end
_CLIP = 8.0  # bound on the logarithms that the network returns for blocks
_FLOOR = 1e-3  # in noise scales, so that no block is empty


def reconciled(
    clean: Float[np.ndarray, "s s"],
    opinion: Float[np.ndarray, "m m 3"],
    levels: Levels,
    total: float,
) -> Float[np.ndarray, "s s"]:
    """Return denoised counts, adjusted towards the noisy counts of cells and blocks.

    ``opinion`` has the log of a factor in the variance of small sums, one not used, and what says
    how evenly surplus is subtracted. ``benchmarks/train_denoiser.py`` trains with the same steps.
    """
    split = len(clean) // levels.grid.m
    small, large = levels.small, levels.large
    x = _towards_counts(clean, levels)
    everything = np.zeros(1, np.int64)
    wanted = projected(large.sums, large.variance, everything, np.full((1, 1), total))
    x = settled(x, large.first * split, wanted, _evenness(opinion, large))
    inside = np.searchsorted(small.first, large.first)
    parts = projected(_trusted(x, opinion[..., 0], small, split), small.variance, inside, wanted)
    return settled(x, small.first * split, parts, _evenness(opinion, small))


def projected(
    sums: Float[np.ndarray, "b b"],
    variance: Float[np.ndarray, "b b"],
    first: Int[np.ndarray, " c"],
    target: Float[np.ndarray, "c c"],
) -> Float[np.ndarray, "b b"]:
    """Return the most likely non-negative sums that add up to a target, given noisy sums.

    Larger blocks begin at ``first``. Unweighted, this is Norm-Sub (Wang et al., NDSS 2020).
    """
    many = np.diff(first, append=len(sums))
    off = (block_sums(sums, first) - target) / block_sums(variance, first)
    for _ in range(_STEPS):
        left = np.maximum(sums - variance * spread(off, many), 0)
        above = block_sums(left, first) - target
        if (above <= _CLOSE * target).all():
            break
        off = off + np.maximum(above, 0) / np.maximum(
            block_sums(np.where(left > 0, variance, 0), first), np.finfo(float).tiny
        )
    left = np.maximum(sums - variance * spread(off, many), 0) + _FLOOR
    return left / spread(block_sums(left, first), many) * spread(target, many)


def settled(
    values: Float[np.ndarray, "m m"],
    first: Int[np.ndarray, " b"],
    target: Float[np.ndarray, "b b"],
    evenness: Float[np.ndarray, "b b"],
) -> Float[np.ndarray, "m m"]:
    """Return values adjusted so that their sums over blocks, from ``first`` on, equal a target.

    The share ``evenness`` of a surplus is subtracted evenly; the rest is a factor per block.
    """
    cells = np.diff(first, append=len(values))
    sums = block_sums(values, first)
    between = target + (1 - evenness) * np.maximum(sums - target, 0)
    # Arrays are changed in place where possible, since those of a fine grid take tens of megabytes.
    if (sums > between).any():
        off = _surplus(values, first, sums, between)
        values = values - spread(off, cells)
        np.maximum(values, 0.0, out=values)
        values += LEAST
    else:
        values = np.add(values, LEAST, dtype=float)
    values /= spread(block_sums(values, first), cells)  # shares cannot overflow, as factors could
    values *= spread(target, cells)
    return values


def _towards_counts(clean: Float[np.ndarray, "s s"], levels: Levels) -> Float[np.ndarray, "s s"]:
    """Return counts moved towards noisy ones of cells and groups, by James-Stein weights."""
    m = levels.grid.m
    first = np.arange(m) * (len(clean) // m)
    ours = block_sums(clean, first)
    group = levels.group if levels.group is not None else np.arange(m * m).reshape(m, m)
    cells = np.bincount(group.ravel())
    have, told = (np.bincount(group.ravel(), a.ravel()) for a in (ours, levels.cells))
    target = have.copy()
    groups = cells > 1
    for alike, off in ((~groups, levels.cells - ours), (groups, (told - have)[groups])):
        if alike.any():
            excess = max(float(np.mean(off**2)) - 2, 0)
            target[alike] += excess / (excess + 2) * (told - have)[alike]
    # Each cell keeps its share of the group's count; in an empty group the shares are equal.
    share = (np.maximum(target, 0) / (have + _FLOOR * cells))[group]
    return settled(clean, first, (ours + _FLOOR) * share, np.ones((m, m)))


def _trusted(
    x: Float[np.ndarray, "s s"], opinion: Float[np.ndarray, "m m"], blocks: Blocks, split: int
) -> Float[np.ndarray, "b b"]:
    """Return the means of denoised and estimated sums over blocks, by inverse-variance weights."""
    ours = block_sums(x, blocks.first * split)
    lean = np.clip(_means(opinion, blocks.first), -_CLIP, _CLIP)
    ours_variance = np.exp(lean) * (0.3 + 0.5 * ours + 0.05 * ours**2)
    weight = ours_variance / (ours_variance + blocks.variance)
    return ours + weight * (blocks.sums - ours)


def _evenness(opinion: Float[np.ndarray, "m m 3"], blocks: Blocks) -> Float[np.ndarray, "b b"]:
    """Return, for each block, the share of a reduction that is subtracted evenly from its cells."""
    return 1 / (1 + np.exp(-2 - np.clip(_means(opinion[..., 2], blocks.first), -30, 30)))


def _means(
    values: Float[np.ndarray, "m m"], first: Int[np.ndarray, " b"]
) -> Float[np.ndarray, "b b"]:
    """Return the mean of the values in each block."""
    cells = np.diff(first, append=len(values))
    return block_sums(values, first) / np.outer(cells, cells)


def _surplus(
    values: Float[np.ndarray, "m m"],
    first: Int[np.ndarray, " b"],
    sums: Float[np.ndarray, "b b"],
    target: Float[np.ndarray, "b b"],
) -> Float[np.ndarray, "b b"]:
    """Return the amount to subtract from each block's values, cut at 0, to reach the target."""
    cells = np.diff(first, append=len(values))
    off, left, many = np.zeros_like(sums), sums, np.outer(cells, cells).astype(float)
    above = np.empty(values.shape)
    for _ in range(_STEPS):
        off = off + np.maximum(left - target, 0) / np.maximum(many, 1)
        np.subtract(values, spread(off, cells), out=above)
        np.maximum(above, 0, out=above)
        left, many = block_sums(above, first), block_sums(above > 0, first)
        if (left - target <= _CLOSE * target).all():
            break
    return off
