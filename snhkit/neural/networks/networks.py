"""Settings of k networks, one for each query size, and their training on one noisy grid."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import jax
import numpy as np
import optax
from jaxtyping import Float, Float32, Float64

from snhkit.checks import positive, whole
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, SummedArea
from snhkit.neural.networks.augment import (
    Augmentation,
    aligned,
    drawn_points,
    query_sizes,
    scattered,
)
from snhkit.neural.networks.feature_grid import FeatureGrid
from snhkit.neural.networks.mlp import MLP
from snhkit.neural.networks.model import SNHModel, blocks_along
from snhkit.neural.networks.network import parameter_count
from snhkit.neural.networks.train import Learned, train

_WORDS = {
    "positions": ("scattered", "aligned"),
    "scaling": ("area", "linear", "learned"),
    "schedule": ("cosine", "constant"),
}
_MOST_PARAMETERS = 2**26
_HELD_OUT = 4_096  # held-out squares of each size
_SUM_WITHIN = 0.03  # the largest relative difference between the sums of map and noisy grid
_LARGE_BLOCKS = 8  # blocks along a side of the region over which a difference is spread

_WINDOWS = (1, 3, 9, 27)  # cells per side of the windows of local means


@dataclass(frozen=True)
class Networks:
    """Settings of k networks, and of their training on squares of k sizes cut out of a noisy grid.

    Parameters
    ----------
    k : int
        The number of networks.
    network : FeatureGrid or MLP
        The architecture.
    positions : "scattered" or "aligned"
        With "scattered", every training step draws new squares anywhere in the region. With
        "aligned", each network has one training square at the lower-left corner of each cell, as in
        the paper.
    workload_floor : float
        The number f, at least 0, with which a training square that overlaps no expected query gets
        f / (1 + f) times the average weight. With 0, such squares are left out of the training, as
        in the authors' code.
    clip_labels : bool
        Whether an ``MLP`` is trained on squares whose negative counts are set to 0. For a
        ``FeatureGrid`` they never are, since the noise of empty cells would become records.
    scaling : "area", "linear" or "learned"
        How an answer for a network's query size is scaled to the size of a box (see ``SNHModel``).
        With "learned", each network is trained on a range of sizes and has the size as an input:
        the paper's SNH+QS.
    steps, batch : int
        The number of Adam steps, and the number of squares per network in each step.
    learning_rate : float
        Adam's learning rate at the start.
    schedule : "cosine" or "constant"
        Whether the learning rate falls to 0 along a cosine, or stays constant.
    output_scale : float or None
        The number of records that one unit of a network's output stands for; with 1, networks are
        trained on raw counts. With None, an ``MLP`` gets the larger of the noise scale and psi, a
        thousandth of n; a ``FeatureGrid`` gets the larger of ten times the noise scale and a
        twentieth of psi.
    patience : int or None
        If given, training ends early when the loss on held-out squares of the noisy grid has fallen
        by less than 1 % over this number of measurements. The loss is measured every 25 steps. With
        None, all steps are taken.
    seed : int
        Public seed of the training; the noise does not depend on the seed.

    Raises
    ------
    InputError
        If a number is out of its range, the network is not one of the two architectures, or the
        networks have more than 2**26 parameters.

    Examples
    --------
    >>> Networks(k=4).k
    4
    >>> Networks.paper().network
    MLP(depth=22, width=80, span=None)

    Notes
    -----
    Zeighami et al. 2022, Sec. 4.2 (Alg. 1 and 2).
    """

    k: int = 8
    network: FeatureGrid | MLP = field(default_factory=FeatureGrid)
    positions: Literal["scattered", "aligned"] = "scattered"
    workload_floor: float = 0.0
    clip_labels: bool = True
    scaling: Literal["area", "linear", "learned"] = "area"
    steps: int = 100
    batch: int = 1024
    learning_rate: float = 0.005
    schedule: Literal["cosine", "constant"] = "cosine"
    output_scale: float | None = None
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("k", "steps", "batch"):
            whole(name, getattr(self, name), least=1)
        whole("seed", self.seed, least=0)
        positive("learning_rate", self.learning_rate)
        if self.output_scale is not None:
            positive("output_scale", self.output_scale, "records")
        if self.patience is not None:
            whole("patience", self.patience, least=1)
        if not 0 <= self.workload_floor < np.inf:
            raise InputError(
                f"workload_floor must be finite and at least 0, not {self.workload_floor!r}."
            )
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                *others, last = map(repr, words)
                raise InputError(
                    f"{name} must be {', '.join(others)} or {last}, not {getattr(self, name)!r}."
                )
        if not isinstance(self.network, (FeatureGrid, MLP)):
            raise InputError(f"network must be a FeatureGrid or an MLP, not {self.network!r}.")
        if self.k * parameter_count(self.network, inputs=3) > _MOST_PARAMETERS:
            raise InputError(
                f"{self.k:,} networks {self.network!r} have more than "
                f"{_MOST_PARAMETERS:,} parameters in total; give a smaller k or a smaller "
                "network."
            )

    @classmethod
    def paper(cls, **changes) -> "Networks":
        """Return the paper's settings: 20 swish layers of 80 units, aligned squares, raw counts.

        Training takes 10,000 epochs of Adam at a constant rate of 0.001, as in the authors' code,
        and is meant for a GPU. ``changes`` are other values for any parameters.
        """
        settings = {
            "network": MLP(),
            "positions": "aligned",
            "steps": 10_000,
            "batch": 150_000,
            "learning_rate": 0.001,
            "schedule": "constant",
            "output_scale": 1.0,
        }
        return cls(**(settings | changes))

    def learn(
        self,
        table: SummedArea,
        sizes_m: tuple[float, float],
        smoothing: float,
        noise_scale: float,
        public: Points | None,
        watch: Callable[[int, SNHModel], object] | None = None,
    ) -> SNHModel:
        """Return a model of networks trained on squares of a noisy or denoised grid, at no cost.

        ``table`` has the counts to train on, and ``noise_scale`` their noise in records, 0 for
        denoised counts; ``sizes_m`` is the paper's l to u, and ``smoothing`` its psi. Without
        ``public`` points, a network with a map expects queries where its map has counts before
        training. ``watch`` gets the number of steps and the current model, before training and
        every 25 steps.
        """
        sizes = query_sizes(*sizes_m, self.k)
        region = table.grid.region
        network = self.network.bound(region.side_m)
        scale = self.output_scale or max(smoothing, noise_scale)
        if network.has_map and self.output_scale is None:
            # The map starts from the noisy counts, so small training steps are enough.
            scale = max(10 * noise_scale, smoothing / 20)
        start = np.zeros((0, 0))
        expected = public
        if network.has_map:
            start = start_map(np.diff(np.diff(table.table, axis=0), axis=1), noise_scale)
            expected = public or drawn_points(table.grid, start, self.seed)
        workload = None
        if expected is not None:
            workload = RangeQueries.sample(expected, len(expected), sizes_m, self.seed)
        given = Augmentation(
            table=table,
            sizes=sizes,
            spread=(sizes_m[1] - sizes_m[0]) / (2 * self.k) if self.scaling == "learned" else 0.0,
            workload=workload,
            floor=self.workload_floor,
            scale=scale,
            smoothing=smoothing,
            # Clipping would turn the noise of empty cells into records.
            clip=self.clip_labels and not network.has_map,
        )
        anywhere = scattered(given)
        if self.positions == "aligned":
            squares = aligned(given, np.random.default_rng(self.seed))
        else:
            squares = anywhere

        rates = optax.constant_schedule(self.learning_rate)
        if self.schedule == "cosine":
            rates = optax.cosine_decay_schedule(self.learning_rate, self.steps)
        held_out = None
        if self.patience is not None:
            key = jax.random.fold_in(jax.random.key(self.seed), 1)
            held_out = anywhere.draw(key, _HELD_OUT)
        # With 22 layers, errors of rounding to 16 bits would accumulate, so an MLP keeps 32 bits.
        stored = _half if network.has_map else np.array

        def model(learned: Learned) -> SNHModel:
            counts = _half(reconciled(np.asarray(learned.map) * scale, table) / scale)
            field = table
            if network.has_map:
                field = SummedArea(table.grid, counts.astype(float) * scale)
            return SNHModel(
                region=region,
                cell_m=table.grid.cell_m,
                query_sizes_m=tuple(sizes.tolist()),
                sizes_m=sizes_m,
                scale=scale,
                scaling=self.scaling,
                network=network,
                params={name: stored(np.asarray(a)) for name, a in learned.own.items()},
                map=counts,
                blocks=_blocks(field, sizes_m[1]),
            )

        learned = train(
            network,
            self.k,
            start / scale,
            squares,
            steps=self.steps,
            batch=self.batch,
            rates=rates,
            seed=self.seed,
            held_out=held_out,
            patience=self.patience or 1,
            watch=None if watch is None else lambda step, now: watch(step, model(now)),
        )
        return model(learned)


def reconciled(counts: Float[np.ndarray, "m m"], table: SummedArea) -> Float64[np.ndarray, "m m"]:
    """Return learned counts, corrected so that their sum is within 3 % of the noisy grid's.

    Training does not preserve sums; the rest is spread evenly in each of 8 by 8 blocks.
    """
    if not counts.size:
        return counts.astype(np.float64)
    region = table.grid.region
    grid, blocks = Grid(region, len(counts)), Grid(region, min(_LARGE_BLOCKS, len(counts)))
    learned = SummedArea(grid, counts.astype(np.float64))
    missing = table.sums(blocks.boxes()) - learned.sums(blocks.boxes())
    off, total = abs(missing.sum()), abs(table.table[-1, -1])
    missing *= max(0.0, 1 - _SUM_WITHIN * total / off) if off else 0.0
    spread = SummedArea(blocks, missing.reshape(blocks.m, blocks.m)).sums(grid.boxes())
    return (counts + spread.reshape(counts.shape)).astype(np.float64)


def _blocks(table: SummedArea, least_m: float) -> Float32[np.ndarray, "b b"]:
    """Return the sums over b by b blocks that are at least ``least_m`` metres wide."""
    region = table.grid.region
    grid = Grid(region, blocks_along(region, least_m))
    return table.sums(grid.boxes()).reshape(grid.m, grid.m).astype(np.float32)


def _half(array: Float[np.ndarray, "*s"]) -> Float[np.ndarray, "*s"]:
    """Return the numbers as 16-bit floats if they fit, whose rounding is far below the noise."""
    fits = array.size == 0 or np.abs(array).max() < np.finfo(np.float16).max
    return array.astype(np.float16 if fits else np.float32)


def start_map(counts: Float[np.ndarray, "m m"], noise_scale: float) -> Float[np.ndarray, "m m"]:
    """Return the initial counts of the shared map: noisy counts after a local Wiener filter.

    Of differences of means over 27, 9, 3 and 1 cells, what noise does not explain is kept.
    """
    from scipy.ndimage import uniform_filter

    noise = 2 * noise_scale**2
    means = [uniform_filter(counts, side, mode="reflect") for side in _WINDOWS]
    found = means[-1]
    for (fine, wide), (here, around) in zip(
        itertools.pairwise(_WINDOWS), itertools.pairwise(means), strict=True
    ):
        added = here - around
        variance = uniform_filter(added**2, wide, mode="reflect")
        by_noise = noise * (fine**-2.0 - wide**-2.0)
        kept = np.maximum(variance - by_noise, 0) / np.maximum(variance, np.finfo(float).tiny)
        found = found + kept * added
    return found
