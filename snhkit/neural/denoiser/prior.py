"""The network that was trained beforehand on public cities and denoises grids of counts."""

from dataclasses import dataclass
from functools import cache, partial
from importlib import resources

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Float64, Int
from safetensors.numpy import load

from snhkit.builders.base import MAX_CELLS_PER_SIDE
from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry.grid import block_sums, spread
from snhkit.neural.denoiser.denoiser import SPLIT, Weights, denoise, peaks
from snhkit.neural.denoiser.levels import Blocks, Levels
from snhkit.neural.denoiser.reconcile import reconciled
from snhkit.progress import steps

_WIDEST_M = 250.0  # the largest mean side of boxes in the training data
_MOST_TURNS, _TURNS = 8, 2  # averaged copies: at most, and by default; more than 2 gain 0.1 %
_SEAM = 64  # cells around a tile; no output cell depends on more distant cells
_EDGE = 16  # cells of value 0 around the region
_TILE = 640  # the largest number of cells per side of a tile
_TURNED = _TURNS * 1_024**2  # limit on cells times copies, which saves time for fine grids
_ALIKE = 10  # the unit, in cells, of the network's input for the side of a small block
_LOW = np.array([-3.5, -2.0, -2.0, -0.4])  # bounds in training of the first four inputs of ABOUT
_HIGH = np.array([6.0, 2.8, 2.8, 3.5])
_LARGEST = 2.0**50  # in noise scales, so that squares of sums over windows fit in a 32-bit float


@dataclass(frozen=True)
class Prior:
    """A convolutional network, trained on public cities, that denoises a grid of counts.

    ``benchmarks/train_denoiser.py`` trained the network on public and synthetic cities with noise
    of many scales. To vary the cities, records were left out at random, and maps were rotated and
    zoomed. The file of weights comes with snhkit; docs/denoiser.md describes the training data.

    Parameters
    ----------
    turns : int
        The number of rotated and mirrored copies of the grid, from 1 to 8, over which results are
        averaged. Large grids are averaged over fewer copies: about 2 * 1,024**2 / m**2 for m by m
        cells, but at least 1.

    Raises
    ------
    InputError
        If ``turns`` is not from 1 to 8.

    Examples
    --------
    >>> Prior(turns=1)
    Prior(turns=1)
    """

    turns: int = _TURNS

    def __post_init__(self) -> None:
        whole("turns", self.turns, least=1)
        if self.turns > _MOST_TURNS:
            raise InputError(f"turns must be at most {_MOST_TURNS}, not {self.turns}.")

    def clean(
        self, levels: Levels, smoothing: float, sizes_m: tuple[float, float], total: float
    ) -> Float64[np.ndarray, "s s"]:
        """Return denoised counts of the quarters of m by m cells, shape (2 m, 2 m).

        If these are too many for a ``Grid``, the counts of whole cells are returned, shape (m, m).
        No count is negative, and the counts add up to ``total``, the number of records, public or
        bought. ``smoothing`` is the paper's psi in records.
        """
        m = levels.grid.m
        planes = np.stack(
            [
                np.clip(levels.cells, -_LARGEST, _LARGEST),
                *_drawn(levels.small, m),
                *_drawn(levels.large, m),
            ],
            axis=-1,
            dtype=np.float32,
        )
        split = SPLIT if SPLIT * m <= MAX_CELLS_PER_SIDE else 1
        turns = min(self.turns, max(1, round(_TURNED / m**2)))
        told = about(levels, smoothing, sizes_m)
        counts, opinion = _by_tiles(planes, told, turns, split)
        del planes  # tens of megabytes for a fine grid
        return levels.noise_scale * reconciled(counts, opinion, levels, total / levels.noise_scale)


def about(
    levels: Levels, smoothing: float, sizes_m: tuple[float, float]
) -> Float32[np.ndarray, " 8"]:
    """Return the network's inputs that describe a grid as a whole, shape (8,) (see ``ABOUT``)."""
    noise_scale, cell_m, box_m = levels.noise_scale, levels.grid.cell_m, sum(sizes_m) / 2
    # If boxes are wider than those of the training data, the cell width is reduced for the network,
    # so that this input stays within the training range.
    told_m = cell_m * min(1.0, _WIDEST_M / box_m)
    numbers = np.log([smoothing / noise_scale, told_m / 40, box_m / cell_m, noise_scale])
    small, large = levels.small, levels.large
    alike = levels.grid.m / len(small.first) / _ALIKE
    return np.array(
        [
            *np.clip(numbers, _LOW, _HIGH),
            peaks(np.clip(levels.cells, -_LARGEST, _LARGEST), smoothing / noise_scale),
            _gain(small, levels.grid.m),
            _gain(large, levels.grid.m),
            np.log(alike),
        ],
        np.float32,
    )


def _sizes(blocks: Blocks, m: int) -> Int[np.ndarray, "b b"]:
    """Return the number of cells in each block."""
    cells = np.diff(blocks.first, append=m)
    return np.outer(cells, cells)


def _gain(blocks: Blocks, m: int) -> float:
    """Return the log of the median ratio of noise in a block's estimate and its cells' sum."""
    return 0.5 * float(np.log(np.median(blocks.variance / (2.0 * _sizes(blocks, m)))))


def _drawn(
    blocks: Blocks, m: int
) -> tuple[Float[np.ndarray, "{m} {m}"], Float[np.ndarray, "{m} {m}"]]:
    """Return for each cell its block's sum, in standard deviations and divided by cells."""
    cells = np.diff(blocks.first, append=m)
    mean = np.clip(blocks.sums / _sizes(blocks, m), -_LARGEST, _LARGEST)
    return spread(blocks.sums / np.sqrt(blocks.variance), cells), spread(mean, cells)


def _by_tiles(
    planes: Float32[np.ndarray, "m m 5"], told: Float32[np.ndarray, " 8"], turns: int, split: int
) -> tuple[Float32[np.ndarray, "{split}*m {split}*m"], Float32[np.ndarray, "m m 3"]]:
    """Return denoised counts and further outputs, tile by tile, which bounds the memory."""
    m = len(planes)
    step = 16 if m + _EDGE <= 64 else 64  # sides are rounded up, so that few shapes are compiled
    padded = -(-(m + 2 * _EDGE) // step) * step
    around = np.zeros((padded, padded, planes.shape[2]), np.float32)
    around[_EDGE : _EDGE + m, _EDGE : _EDGE + m] = planes
    side = _tile_side(padded)
    starts = _starts(padded, side)
    counts = np.empty((split * padded,) * 2, np.float32)
    opinion = np.empty((padded, padded, 3), np.float32)
    with steps(len(starts) ** 2, "denoising the grid", "tile") as advance:
        for i in starts:
            for j in starts:
                part = around[i : i + side, j : j + side]
                fine, lean = _denoised(_weights(), part, told, turns)
                if split == 1:
                    fine = block_sums(np.asarray(fine), np.arange(0, SPLIT * side, SPLIT))
                (a, b), (c, d) = _kept(i, side, padded), _kept(j, side, padded)
                opinion[a:b, c:d] = lean[a - i : b - i, c - j : d - j]
                fine = fine[split * (a - i) : split * (b - i), split * (c - j) : split * (d - j)]
                counts[split * a : split * b, split * c : split * d] = fine
                advance()
    inner, fine_inner = slice(_EDGE, _EDGE + m), slice(split * _EDGE, split * (_EDGE + m))
    return counts[fine_inner, fine_inner], opinion[inner, inner]


def _tile_side(padded: int) -> int:
    """Return the side, in cells, of the tiles of equal size that cover ``padded`` cells."""
    if padded <= _TILE:
        return padded
    inner = padded - 2 * _SEAM
    tiles = -(-inner // (_TILE - 2 * _SEAM))
    return 2 * _SEAM + 64 * -(-inner // (64 * tiles))


def _starts(padded: int, side: int) -> list[int]:
    """Return the first cells of tiles along an axis: multiples of 8 that overlap by two seams."""
    return sorted({min(at, padded - side) for at in range(0, padded, max(side - 2 * _SEAM, 8))})


def _kept(start: int, side: int, padded: int) -> tuple[int, int]:
    """Return the half-open range of cells for which the outputs of a tile are used."""
    low = start if start == 0 else start + _SEAM
    high = start + side if start + side == padded else start + side - _SEAM
    return low, high


@partial(jax.jit, static_argnums=3)
def _denoised(
    weights: Weights, planes: Float[Array, "t t 5"], told: Float[Array, " 8"], turns: int
) -> tuple[Float[Array, "2*t 2*t"], Float[Array, "t t 3"]]:
    """Return the network's outputs, averaged over rotated and mirrored copies of a tile."""
    turned = jnp.stack([_turned(planes, turn) for turn in range(turns)])

    def one(part: Float[Array, "t t 5"]) -> tuple[jax.Array, jax.Array]:
        fine, lean = denoise(weights, part[None], told[None])
        return fine[0], lean[0]

    fine, lean = jax.lax.map(one, turned)

    def mean(parts: jax.Array) -> jax.Array:
        return jnp.mean(jnp.stack([_turned_back(parts[k], k) for k in range(turns)]), axis=0)

    return mean(fine), mean(lean)


def _turned(grid: Float[Array, "m m *c"], turn: int) -> Float[Array, "m m *c"]:
    """Return a grid rotated by ``turn % 4`` right angles, and mirrored if ``turn`` is 4 or more."""
    grid = jnp.rot90(grid, turn % 4)
    return jnp.swapaxes(grid, 0, 1) if turn >= 4 else grid


def _turned_back(grid: Float[Array, "m m *c"], turn: int) -> Float[Array, "m m *c"]:
    """Return a grid in its original form: the inverse of ``_turned``."""
    grid = jnp.swapaxes(grid, 0, 1) if turn >= 4 else grid
    return jnp.rot90(grid, -(turn % 4))


@cache
def _weights() -> Weights:
    """Return the trained weights, read from the file that comes with snhkit."""
    data = resources.files("snhkit.neural.denoiser").joinpath("prior.safetensors").read_bytes()
    weights: Weights = {}
    for name, array in load(data).items():
        layer, part = name.split(".")
        weights.setdefault(layer, {})[part] = jnp.asarray(array, jnp.float32)
    return weights
