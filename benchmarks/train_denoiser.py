"""Train the network of ``Prior``: python benchmarks/train_denoiser.py [--help].

Reads public data sets from a folder, cuts squares of 13.2 km out of them, and writes the weights of
the network as safetensors. Each step trains on 6 crops of 96 by 96 cells from cities. The records
are sampled, rotated, mirrored, blurred or zoomed at random, and a random coast may cut off a part.
The noise is that of a random epsilon, of which a random share buys counts of blocks. The denoised
counts are adjusted to the estimated sums over blocks, as by ``reconciled``, and answer boxes of all
sizes (``denoiser_crops.GROUPS``). The loss is the weighted sum over groups of
boxes of the logarithm of a group's mean error, averaged over crops; with logarithms, all crops have
similar weights.

``--start`` names a file of initial weights. Training of the weights that come with snhkit started
from those of an earlier network without counts of blocks; docs/denoiser.md describes the stages.
After an interruption, training continues from the last checkpoint.
"""

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from denoiser_crops import GROUPS, City, Crop, cities, crops
from safetensors.numpy import load_file, save_file
from tqdm.auto import tqdm

from snhkit.geometry import Grid, Region
from snhkit.geometry.grid import block_sums
from snhkit.neural.denoiser.denoiser import SPLIT, Weights, denoise, start
from snhkit.neural.denoiser.levels import blocks, estimates
from snhkit.neural.denoiser.reconcile import LEAST, reconciled

BATCH = 6
IMPORTANCE = (3.0, 0.2, 0.4, 0.3, 0.3)  # weights of the groups in the loss
IN_RECORDS = (1, 3)  # groups whose errors are in records, not relative
_ADAM = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(b2=0.99))
_STEEPEST = 80.0  # a step with a larger norm of the gradient is skipped
_NEWTON = 8
_FLOOR = 1e-3  # in noise scales, as in ``snhkit.neural.denoiser.reconcile``
_SAVED = 250  # steps between two checkpoints


def box_sums(grid: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Return the sums of a grid, shape (m, m), over boxes, shape (q,).

    ``low`` and ``high`` are opposite corners of the boxes, in units of cells.
    """
    m = len(grid)
    table = jnp.pad(jnp.cumsum(jnp.cumsum(grid, 0), 1), ((1, 0), (1, 0)))

    def upto(at: jax.Array) -> jax.Array:
        at = jnp.clip(at, 0, m)
        cell = jnp.minimum(at.astype(int), m - 1)
        (u, v), (i, j) = (at - cell).T, cell.T
        west = (1 - v) * table[i, j] + v * table[i, j + 1]
        east = (1 - v) * table[i + 1, j] + v * table[i + 1, j + 1]
        return (1 - u) * west + u * east

    def corner(x: jax.Array, y: jax.Array) -> jax.Array:
        return upto(jnp.stack([x[:, 0], y[:, 1]], axis=1))

    return corner(high, high) - corner(low, high) - corner(high, low) + corner(low, low)


Axes = tuple[jax.Array, jax.Array]  # for each block and column (or row): 1 if it is in the block


def summed(x: jax.Array, axes: Axes) -> jax.Array:
    """Return the sums of values over blocks of cells."""
    return axes[0] @ x @ axes[1].T


def spread(values: jax.Array, axes: Axes) -> jax.Array:
    """Return for each cell the value of its block."""
    return axes[0].T @ values @ axes[1]


def settled(x: jax.Array, axes: Axes, target: jax.Array, evenness: jax.Array) -> jax.Array:
    """Return the result of ``reconcile.settled`` of the package, with fewer Newton steps."""
    between = target + (1 - evenness) * jnp.maximum(summed(x, axes) - target, 0)
    off = jnp.zeros_like(target)
    for _ in range(_NEWTON):
        above = x - spread(off, axes)
        left = summed(jnp.maximum(above, 0), axes)
        many = summed((above > 0).astype(x.dtype), axes)
        off = off + jnp.maximum(left - between, 0) / jnp.maximum(many, 1)
    x = jnp.maximum(x - spread(off, axes), 0)
    x = x + LEAST
    return x * spread(target / jnp.maximum(summed(x, axes), LEAST), axes)


def projected(
    sums: jax.Array, variance: jax.Array, axes: Axes, target: jax.Array, here: jax.Array
) -> jax.Array:
    """Return the result of ``reconcile.projected`` with fewer steps, for the blocks in the crop."""
    sums, variance = sums * here, variance * here
    off = (summed(sums, axes) - target) / jnp.maximum(summed(variance, axes), LEAST)
    for _ in range(_NEWTON):
        left = jnp.maximum(sums - variance * spread(off, axes), 0)
        above = jnp.maximum(summed(left, axes) - target, 0)
        off = off + above / jnp.maximum(summed(jnp.where(left > 0, variance, 0), axes), LEAST)
    left = (jnp.maximum(sums - variance * spread(off, axes), 0) + _FLOOR) * here
    return left * spread(target / jnp.maximum(summed(left, axes), LEAST), axes)


def answered(x: jax.Array, opinion: jax.Array, crop: Crop) -> jax.Array:
    """Return a crop's counts after the steps of ``reconciled``, without the step on cells."""

    def axes(at: jax.Array, many: int) -> tuple[Axes, Axes, jax.Array]:
        cells = (jax.nn.one_hot(at[0], many, axis=0), jax.nn.one_hot(at[1], many, axis=0))
        parts = (jnp.repeat(cells[0], SPLIT, axis=1), jnp.repeat(cells[1], SPLIT, axis=1))
        return cells, parts, jnp.outer(cells[0].sum(1), cells[1].sum(1))

    def evenness(cells: Axes, many: jax.Array) -> jax.Array:
        return jax.nn.sigmoid(2 + summed(opinion[..., 2], cells) / jnp.maximum(many, 1))

    small = axes(crop.small, len(crop.small_sums))
    large = axes(crop.large, len(crop.large_sums))
    inner = (
        jnp.minimum(large[0][0] @ small[0][0].T, 1.0),
        jnp.minimum(large[0][1] @ small[0][1].T, 1.0),
    )
    row = jnp.ones((1, len(crop.large_sums)))
    total = jnp.reshape(crop.total, (1, 1))
    there = (large[2] > 0).astype(float)
    wanted = projected(crop.large_sums, crop.large_variance, (row, row), total, there)
    x = settled(x, large[1], wanted, evenness(large[0], large[2]))
    ours = summed(x, small[1])
    lean = jnp.clip(summed(opinion[..., 0], small[0]) / jnp.maximum(small[2], 1), -8, 8)
    doubt = jnp.exp(lean) * (0.3 + 0.5 * ours + 0.05 * ours**2)
    moved = ours + doubt / (doubt + crop.small_variance) * (crop.small_sums - ours)
    there = (small[2] > 0).astype(float)
    parts = projected(moved, crop.small_variance, inner, wanted, there)
    return settled(x, small[1], parts, evenness(small[0], small[2]))


def loss(weights: Weights, batch: Crop) -> tuple[jax.Array, jax.Array]:
    """Return the loss, and the mean logarithm of the error of each group of boxes."""
    counts, opinion = denoise(weights, batch.planes, batch.about)
    counts = jax.vmap(answered)(counts, opinion, batch)
    found = jax.vmap(box_sums)(counts, SPLIT * batch.low, SPLIT * batch.high)
    off = jnp.abs(found - batch.truth)
    relative = off / jnp.maximum(batch.truth, batch.floor)
    edges = np.cumsum([0, *GROUPS.values()])
    errors = []
    for group, (first, last) in enumerate(pairwise(edges)):
        least = 0.02 if group in IN_RECORDS else 0.002
        mine = (off if group in IN_RECORDS else relative)[:, first:last]
        errors.append(jnp.mean(jnp.log(jnp.mean(mine, axis=1) + least)))
    groups = jnp.stack(errors)
    return jnp.dot(jnp.array(IMPORTANCE), groups), groups


@jax.jit
def step(weights, state, mean, rate: jax.Array, keep: jax.Array, batch: Crop):
    """Return the weights, Adam's state, the weights' running mean and the losses after a step."""
    (_, groups), slope = jax.value_and_grad(loss, has_aux=True)(weights, batch)
    steep = optax.global_norm(slope)
    good = jnp.isfinite(steep) & (steep < _STEEPEST)
    slope = jax.tree.map(lambda s: jnp.where(good, s, 0), slope)
    change, state = _ADAM.update(slope, state)
    weights = jax.tree.map(lambda w, c: w - rate * c, weights, change)
    mean = jax.tree.map(lambda a, w: keep * a + (1 - keep) * w, mean, weights)
    return weights, state, mean, groups


def batches(places: list[City], seed: int) -> Iterator[Crop]:
    """Yield batches of training examples, without end."""
    examples = crops(places, seed)
    while True:
        drawn = zip(*(next(examples) for _ in range(BATCH)), strict=True)
        batch = Crop(*(np.stack([np.asarray(a, np.float32) for a in part]) for part in drawn))
        yield batch._replace(small=batch.small.astype(int), large=batch.large.astype(int))


def train(weights: Weights, places: list[City], minutes: float, rate: float, seed: int, kept: Path):
    """Train for a number of minutes, and return the running mean of the weights.

    The next batch is made while a step runs. ``kept`` is the path of a checkpoint, from which
    training resumes if the file exists.
    """
    mean, state, done, used = weights, _ADAM.init(weights), 0, 0.0
    tree = jax.tree.structure((weights, mean, state))
    if kept.exists():
        with np.load(kept) as file:
            done, used = int(file["done"]), float(file["used"])
            leaves = [jnp.asarray(file[f"leaf{i}"]) for i in range(tree.num_leaves)]
        weights, mean, state = jax.tree.unflatten(tree, leaves)
    source, began, seen = batches(places, seed + done), time.monotonic(), []
    with ThreadPoolExecutor(1) as pool, tqdm(initial=done, unit="step") as bar:
        coming = pool.submit(next, source)
        gone = used
        while gone < minutes:
            now, coming = coming.result(), pool.submit(next, source)
            gone = used + (time.monotonic() - began) / 60
            fall = 0.503 + 0.5 * np.cos(np.pi * min(gone / minutes, 1))
            keep = min(0.998, (done + 1) / (done + 10))
            slow = rate * min(1, (done + 1) / 100) * fall
            weights, state, mean, groups = step(weights, state, mean, slow, keep, now)
            seen.append(np.asarray(groups))
            done += 1
            bar.update()
            if done % 50 == 0:
                bar.set_postfix(errors=np.round(np.exp(np.mean(seen[-500:], axis=0)), 3))
            if done % _SAVED == 0 or gone >= minutes:
                leaves = jax.tree.leaves((weights, mean, state))
                named = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
                part = kept.with_suffix(".part.npz")
                np.savez(part, allow_pickle=False, done=done, used=gone, **named)
                part.replace(kept)
    return mean


def begun(path: Path | None, seed: int) -> Weights:
    """Return random initial weights, or the weights in a file.

    Weights that the file of an earlier network without counts of blocks lacks are 0.
    """
    weights = jax.tree.map(np.array, start(jax.random.key(seed)))
    if path is None:
        return weights
    for layer, parts in weights.items():
        for part in parts:
            weights[layer][part] = np.zeros_like(parts[part])
    for name, array in load_file(path).items():
        layer, part = name.split(".")
        if layer in weights:
            place, array = weights[layer][part], array.astype(np.float32)
            if place.shape != array.shape:
                place, array = _matching(name, place, array)
            place[...] = array
    return weights


def _matching(name: str, new: np.ndarray, old: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of the new weights to overwrite, and the old weights of the same shape."""
    if name == "told.w":
        return new[:5], old
    if name == "in.w":
        side, cells = new.shape[0], new[:, :, :-8].reshape(*new.shape[:2], 4, 12, -1)
        assert cells.base is not None
        old_cells = old[:, :, :-5].reshape(side, side, 4, 8, -1)
        cells[:, :, :, :8] = old_cells
        return new[:, :, -8:-3], old[:, :, -5:]
    groups, before = new.reshape(*new.shape[:-1], 4, 15), old.reshape(*old.shape[:-1], 4, 11)
    groups[..., :4], groups[..., 6:8] = before[..., :4], before[..., 4:6]
    return groups[..., 11:], before[..., 7:]


def check() -> None:
    """Raise AssertionError unless ``answered`` agrees with ``reconciled`` of the package."""
    rng = np.random.default_rng(0)
    grid = Grid(Region.around(lat=0, lon=0, side_m=3_840), 96)
    noisy = rng.gamma(0.3, 9, (96, 96)) + rng.laplace(0, 1, (96, 96))
    firsts = blocks(grid)
    small, large = ((block_sums(noisy, first) + 3, 60.0) for first in firsts)
    known = estimates(grid, 1.0, noisy, large, small)
    # The counts are close to the noisy counts, so that the step on cells changes nothing.
    fine = np.repeat(np.repeat(np.maximum(noisy, 0), 2, 0), 2, 1) / 4
    opinion = rng.normal(size=(96, 96, 3))
    at = [np.repeat(np.arange(len(f)), np.diff(f, append=96)) for f in firsts]
    nothing = dict.fromkeys(Crop._fields)
    crop = Crop(**nothing)._replace(
        small=np.stack([at[0], at[0]]),
        large=np.stack([at[1], at[1]]),
        small_sums=known.small.sums,
        small_variance=known.small.variance,
        large_sums=known.large.sums,
        large_variance=known.large.variance,
        total=9_000.0,
    )
    ours = reconciled(fine, opinion, known, 9_000.0)
    theirs = np.asarray(answered(jnp.asarray(fine), jnp.asarray(opinion), crop))
    assert np.abs(ours - theirs).max() < 1e-2 * ours.max(), np.abs(ours - theirs).max()


def write(weights: Weights, path: Path) -> None:
    """Write the weights to a safetensors file, in 16 bits."""
    half = {
        f"{layer}.{part}": np.asarray(array, np.float16)
        for layer, parts in weights.items()
        for part, array in parts.items()
    }
    save_file(half, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train the network of Prior.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--start", type=Path, help="file of initial weights")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=6e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, default=Path("denoiser.npz"))
    parser.add_argument(
        "--out", type=Path, default=Path("snhkit/neural/denoiser/prior.safetensors")
    )
    given = parser.parse_args()
    check()
    learned = begun(given.start, given.seed)
    learned = train(
        learned, cities(given.folder), given.minutes, given.rate, given.seed, given.checkpoint
    )
    write(learned, given.out)
