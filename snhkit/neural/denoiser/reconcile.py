"""Adjustment of a denoised grid to the estimated sums over blocks of its cells."""

import numpy as np
from jaxtyping import Float, Int

from snhkit.geometry.grid import block_sums, spread
from snhkit.neural.denoiser.levels import Blocks, Levels

__all__ = ["projected", "reconciled", "settled"]

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

    First, the counts of cells and of groups of cells are moved towards the noisy counts, to the
    extent that noise does not explain the difference. Second, the counts are adjusted to the
    estimated sums over large blocks, after these sums are projected so that they add up to the
    total (see ``projected`` and ``settled``). Third, the sums over small blocks are moved towards
    their estimates, with weights that depend on the network's outputs, and are projected so that
    they add up to the sums over large blocks. Finally, the counts are adjusted to these sums. The
    same steps follow the network in training (``benchmarks/train_denoiser.py``).

    Parameters
    ----------
    clean : ndarray, shape (s * m, s * m)
        The denoised count of each part, in noise scales; each of the m by m cells is divided into s
        by s parts. No count is negative.
    opinion : ndarray, shape (m, m, 3)
        Three further outputs of the network, which are averaged over blocks. The first is the
        logarithm of a factor in the variance of the denoised sums over small blocks. The second is
        the same for large blocks and is not used. The third determines which share of a reduction
        is subtracted evenly from a block's cells.
    levels : Levels
        The noisy counts of cells, and the estimated sums over blocks.
    total : float
        The sum of all counts, in noise scales; not negative.

    Returns
    -------
    ndarray, shape (s * m, s * m)
        The adjusted counts, none negative, whose sum is the total.
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

    These sums minimise the squared differences from the noisy sums, each divided by the variance of
    the noise. To find them, an amount proportional to this variance is subtracted from each noisy
    sum, and negative results are replaced by 0. Newton's method finds the amounts with which the
    results add up to the target.

    Parameters
    ----------
    sums : ndarray, shape (b, b)
        Noisy sums over blocks.
    variance : ndarray, shape (b, b)
        The variance of the noise in each sum.
    first : ndarray of int, shape (c,)
        The index of the first block in each larger block along an axis; the same for both axes.
    target : ndarray, shape (c, c)
        The sums over the c by c larger blocks, not negative.

    Notes
    -----
    The unweighted case is called Norm-Sub by Wang et al., "Locally differentially private
    frequency estimation with consistency", NDSS 2020.
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
    """Return values adjusted so that their sums over blocks equal a target.

    If a block's sum is below its target, all values of the block are multiplied by one factor. If
    the sum is above the target, a share of the difference is removed first, by subtracting an equal
    amount from all values and replacing negative results by 0. The values are then multiplied by
    one factor. Subtraction preserves the height of a peak among many small values.

    Parameters
    ----------
    values : ndarray, shape (m, m)
        The values, none negative.
    first : ndarray of int, shape (b,)
        The index of the first cell of each block along an axis; the same for both axes.
    target : ndarray, shape (b, b)
        The sums over blocks to reach, none negative.
    evenness : ndarray, shape (b, b)
        The share of a difference, from 0 to 1, that is removed by subtracting an equal amount.
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
    """Return counts moved towards the noisy counts of single cells and of groups of cells.

    In units of the noise scale, the noise of a count has variance 2. The noisy counts get the
    weight t / (t + 2) of a positive-part James-Stein estimate, where t is the mean squared
    difference between denoised and noisy counts, minus 2, but at least 0. There is one
    t for all cells that were counted alone, and another t for all groups of cells.
    """
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
    """Return, for each block, the amount to subtract from its values to reach the target sum.

    Negative results are replaced by 0. Newton's method finds the amounts, shape (b, b).
    """
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
