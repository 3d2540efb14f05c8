"""Train the network of ``Prior``: python benchmarks/train_prior.py [--help].

Reads public data sets from a folder, takes squares of 13.2 km out of them, and writes the weights
as safetensors. The second stage sees more of what looks like GPS fixes; the third leaves large
boxes to the sums that ``PriorModel`` keeps; the others see more check-ins, on cells about as narrow
as ``cell_m="bought"`` makes them, and the last one most, hardly ever blurred. Each step sees 6
crops of 96 by 96 cells from cities that are thinned, turned, mirrored, blurred or zoomed at random,
with noise of a random epsilon on cells of a random width. What falls is the logarithm of the mean
relative error of boxes in a crop, in units of that of the noisy crop itself or of answering 0,
whichever is less: so that no crop outweighs another.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from prior_crops import STAGES, City, Crop, Stage, cities, crops
from safetensors.numpy import save_file
from tqdm.auto import tqdm

from snhkit.neural.denoiser.denoiser import SPLIT, denoise, start

BATCH = 6
_ADAM = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(b2=0.99))


def box_sums(grid: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Sums over boxes, shape (q,), of a grid, shape (m, m); corners in its cells."""
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


def loss(weights, batch: Crop) -> jax.Array:
    """Logarithm of the error of cleaned crops over that of the noisy ones, or of answering 0."""

    def error(answers: jax.Array) -> jax.Array:
        return jnp.mean(
            jnp.abs(answers - batch.truth) / jnp.maximum(batch.truth, batch.floor), axis=1
        )

    counts, presence, level = denoise(weights, batch.noisy, batch.about)
    cleaned = jax.vmap(box_sums)(counts, SPLIT * batch.low, SPLIT * batch.high)
    there = jax.vmap(box_sums)(presence, batch.low, batch.high)
    cleaned = cleaned - level[:, None] * jnp.expm1(-there)
    plain = jnp.maximum(jax.vmap(box_sums)(batch.noisy, batch.low, batch.high), 0)
    return jnp.mean(jnp.log(error(cleaned) / jnp.minimum(error(plain), error(0 * plain))))


@jax.jit
def step(weights, state, mean, rate: jax.Array, keep: jax.Array, batch: Crop):
    """One step of Adam, and the running mean of the weights."""
    value, slope = jax.value_and_grad(loss)(weights, batch)
    change, state = _ADAM.update(slope, state)
    weights = jax.tree.map(lambda w, c: w - rate * c, weights, change)
    mean = jax.tree.map(lambda a, w: keep * a + (1 - keep) * w, mean, weights)
    return weights, state, mean, value


def train(weights, places: list[City], stage: Stage, seed: int):
    """The running mean of the weights over a stage; crops are cut while a step runs."""
    mean, state = weights, _ADAM.init(weights)
    examples = crops(places, stage, seed)

    def batch() -> Crop:
        drawn = [next(examples) for _ in range(BATCH)]
        return Crop(*(np.stack(parts).astype(np.float32) for parts in zip(*drawn, strict=True)))

    seen = []
    with ThreadPoolExecutor(1) as pool, tqdm(range(stage.steps), unit="step") as bar:
        coming = pool.submit(batch)
        for i in bar:
            now, coming = coming.result(), pool.submit(batch)
            fall = 0.503 + 0.5 * np.cos(np.pi * i / stage.cosine)
            rate = stage.rate * min(1, (i + 1) / 200) * fall
            keep = min(0.995, (i + 1) / (i + 10))
            weights, state, mean, value = step(weights, state, mean, rate, keep, now)
            seen.append(float(value))
            if not i % 100:
                bar.set_postfix(error=f"{np.exp(np.mean(seen[-500:])):.3f}")
    return mean


def write(weights, path: Path) -> None:
    """In 16 bits."""
    half = {
        f"{layer}.{part}": np.asarray(array, np.float16)
        for layer, parts in weights.items()
        for part, array in parts.items()
    }
    save_file(half, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train the network of Prior.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--share", type=float, default=1.0, help="of the steps; to try it out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("snhkit/neural/prior.safetensors"))
    given = parser.parse_args()
    learned = start(jax.random.key(given.seed))
    for number, stage in enumerate(STAGES):
        steps, cosine = (int(given.share * count) for count in (stage.steps, stage.cosine))
        part = replace(stage, steps=steps, cosine=cosine)
        learned = train(learned, cities(given.folder, part), part, given.seed + number)
    write(learned, given.out)
