"""What public cities teach: a network, trained beforehand, that cleans noisy grids."""

from dataclasses import dataclass
from functools import cache
from importlib import resources

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from snhkit.builders.base import MOST_CELLS, whole
from snhkit.errors import InputError
from snhkit.geometry.blocks import block_sums
from snhkit.neural.denoiser.denoiser import SPLIT, Weights, denoise, peaks
from snhkit.neural.denoiser.prior_model import CleanedGrid
from snhkit.neural.denoiser.reconcile import reconciled
from snhkit.progress import steps

__all__ = ["TAUGHT_M", "Prior"]

TAUGHT_M = (25.0, 100.0)
"""Sides of the squares that it was mostly trained to answer."""

_WIDEST_M = 250.0  # of the boxes that it was taught, on average
_TURNS = 8  # a square can be turned and mirrored
_MARGIN = 64  # cells around a tile: no output cell depends on more distant ones
_TILE = 512
_LOW = np.array([-3.5, -2.0, -2.0, -0.4])  # what it has been trained on
_HIGH = np.array([6.0, 2.8, 2.8, 3.5])
_LARGEST = 2.0**50  # in units of the noise: 32 bits hold squares of sums over windows


@dataclass(frozen=True)
class Prior:
    """A convolutional network that has learned from public cities what counts look like.

    It was trained by ``benchmarks/train_prior.py`` on public and synthetic cities, thinned, turned
    and zoomed, with noise of many scales, to answer boxes with the least relative error. The file
    of its weights comes with snhkit; docs/prior.md says what is in it.

    Parameters
    ----------
    turns : int
        How many of the 8 ways to turn and mirror the grid are averaged.

    Raises
    ------
    InputError
        If it is not from 1 to 8.
    """

    turns: int = _TURNS

    def __post_init__(self) -> None:
        whole("turns", self.turns, least=1)
        if self.turns > _TURNS:
            raise InputError(f"turns must be at most {_TURNS}, not {self.turns}.")

    def clean(
        self,
        noisy: NDArray,
        noise: float,
        smoothing: float,
        cell_m: float,
        sizes_m: tuple[float, float],
    ) -> CleanedGrid:
        """What may lie behind noisy counts, in the cells cut into 2 by 2 parts.

        The cells of a very fine grid are left whole.

        Parameters
        ----------
        noisy : ndarray, shape (m, m)
            Counts with discrete Laplace noise.
        noise : float
            Its scale, in records.
        smoothing : float
            psi of the error that is to be small, in records.
        cell_m : float
            Width of a cell in metres.
        sizes_m : (float, float)
            Sides of the boxes that will be asked, in metres.
        """
        box_m = sum(sizes_m) / 2
        # Of boxes wider than any that it has seen it is told as if the city were smaller.
        told_m = cell_m * min(1.0, _WIDEST_M / box_m)
        grid = np.clip(noisy / noise, -_LARGEST, _LARGEST)
        about = np.clip(
            np.log([smoothing / noise, told_m / 40, box_m / cell_m, noise]), _LOW, _HIGH
        )
        about = np.append(about, peaks(grid, smoothing / noise)).astype(np.float32)
        split = SPLIT if SPLIT * len(grid) <= MOST_CELLS else 1
        total, level = np.zeros((2, split * len(grid), split * len(grid))), 0.0
        with steps(self.turns, "cleaning the grid", "turn") as advance:
            for turn in range(self.turns):
                planes, level = _by_tiles(_turned(grid, turn), about, split)
                total += [_turned_back(plane, turn) for plane in planes]
                advance()
        counts, presence = total / self.turns
        counts = reconciled(counts * noise, noisy, 2 * noise**2, [len(noisy)])
        return CleanedGrid(counts, presence, level * noise)


def _turned(grid: NDArray, turn: int) -> NDArray:
    grid = np.rot90(grid, turn % 4)
    return grid.T if turn >= 4 else grid


def _turned_back(grid: NDArray, turn: int) -> NDArray:
    grid = grid.T if turn >= 4 else grid
    return np.rot90(grid, -(turn % 4))


def _by_tiles(
    grid: NDArray[np.float64], about: NDArray[np.float32], split: int
) -> tuple[NDArray[np.float32], float]:
    """Counts and presence, shape (2, s m, s m), and its level; in units of the noise.

    In pieces of one shape, so that memory does not grow with the grid.
    """
    m = len(grid)
    pieces = -(-m // _TILE)
    step = 16 if m <= 64 else 64  # few shapes are compiled
    core = -(-m // (pieces * step)) * step
    around = np.zeros((pieces * core + 2 * _MARGIN,) * 2, np.float32)
    around[_MARGIN : _MARGIN + m, _MARGIN : _MARGIN + m] = grid
    planes, level = np.empty((2, split * pieces * core, split * pieces * core), np.float32), 0.0
    inner = slice(SPLIT * _MARGIN, SPLIT * (_MARGIN + core))
    for i in range(0, pieces * core, core):
        for j in range(0, pieces * core, core):
            part = around[i : i + core + 2 * _MARGIN, j : j + core + 2 * _MARGIN]
            counts, presence, told = _denoise(_weights(), part[None], about[None])
            parts = np.repeat(np.repeat(presence, SPLIT, axis=1), SPLIT, axis=2) / SPLIT**2
            out = np.concatenate([counts, parts])[:, inner, inner]
            if split == 1:
                out = block_sums(out, SPLIT)
            planes[:, split * i : split * (i + core), split * j : split * (j + core)] = out
            level = float(told[0])  # whatever the tile
    return planes[:, : split * m, : split * m], level


_denoise = jax.jit(denoise)


@cache
def _weights() -> Weights:
    data = resources.files("snhkit.neural.denoiser").joinpath("prior.safetensors").read_bytes()
    weights: Weights = {}
    for name, array in load(data).items():
        layer, part = name.split(".")
        weights.setdefault(layer, {})[part] = jnp.asarray(array, jnp.float32)
    return weights
