"""The paper's learners: one network for each of k query sizes, trained on squares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import jax
import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import positive, whole
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, SummedArea
from snhkit.neural.networks.augment import Augmentation, aligned, query_sizes, scattered
from snhkit.neural.networks.model import SNHModel
from snhkit.neural.networks.network import MLP, FeatureGrid
from snhkit.neural.networks.squares import Batch, Scattered
from snhkit.neural.networks.train import train

__all__ = ["Networks"]

_HELD_OUT = 4_096  # squares of each size


@dataclass(frozen=True)
class Networks:
    """k networks, trained on squares of k sizes that are cut out of one grid.

    Parameters
    ----------
    k : int
        How many networks.
    network : FeatureGrid or MLP
        The architecture.
    positions : "scattered" or "aligned"
        Training squares anywhere, new ones in every step; or on the corners of cells only.
    workload_floor : float
        Weight of a training square far from all public points, in units of the average; at 0
        such squares are not trained on.
    clip_labels : bool
        Whether negative counts of training squares count as 0.
    scaling : "area", "linear" or "learned"
        How the answer of the nearest size is scaled; or each network learns a range of sizes and
        is told them: the paper's SNH+QS (see ``SNHModel``).
    steps, batch : int
        Adam steps, and squares a network sees in each.
    learning_rate : float
        At the start.
    patience : int or None
        If given, training may end early: after so many looks in a row, one every 25 steps, at
        squares of the noisy grid that were held out, in which their error fell by less than 1 %.
    seed : int
        Public; of the training, not of the noise.

    Raises
    ------
    InputError
        If a number is out of its range.

    Examples
    --------
    >>> Networks(k=4).k
    4
    >>> Networks.paper().network
    MLP(depth=20, width=80)

    Notes
    -----
    Zeighami et al. 2022, Sec. 4.2 (Alg. 1 and 2).
    """

    k: int = 8
    network: FeatureGrid | MLP = field(default_factory=FeatureGrid)
    positions: Literal["scattered", "aligned"] = "scattered"
    workload_floor: float = 0.5
    clip_labels: bool = False
    scaling: Literal["area", "linear", "learned"] = "area"
    steps: int = 200
    batch: int = 4096
    learning_rate: float = 0.02
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("k", "steps", "batch"):
            whole(name, getattr(self, name), least=1)
        whole("seed", self.seed, least=0)
        positive("learning_rate", self.learning_rate)
        if self.patience is not None:
            whole("patience", self.patience, least=1)
        if not 0 <= self.workload_floor < np.inf:
            raise InputError(
                f"workload_floor must be a number, not negative, not {self.workload_floor!r}."
            )
        if self.positions not in ("scattered", "aligned"):
            raise InputError(f"positions must be 'scattered' or 'aligned', not {self.positions!r}.")
        if self.scaling not in ("area", "linear", "learned"):
            raise InputError(
                f"scaling must be 'area', 'linear' or 'learned', not {self.scaling!r}."
            )

    @classmethod
    def paper(cls, **changes) -> "Networks":
        """The paper's own settings: 20 layers of 80, 10,000 epochs of Adam at 0.001, aligned.

        Made for a GPU.
        """
        settings = {
            "network": MLP(),
            "positions": "aligned",
            "workload_floor": 0.0,
            "clip_labels": True,
            "steps": 10_000,
            "batch": 150_000,
            "learning_rate": 0.001,
        }
        return cls(**(settings | changes))

    def learn(
        self,
        table: SummedArea,
        cell_m: float,
        bounds_m: tuple[float, float],
        smoothing: float,
        noise: float,
        public: Points | None,
        watch: Callable[[int, SNHModel], object] | None = None,
    ) -> SNHModel:
        """Augment and train: post-processing of noisy counts.

        Parameters
        ----------
        table : SummedArea
            Of the counts to learn from.
        cell_m : float
            Width of the cells that were bought, in metres.
        bounds_m : (float, float)
            l and u, in metres.
        smoothing : float
            psi of the error that is to be small, in records.
        noise : float
            Scale of the noise of one cell, in records.
        public : Points or None
            Public points where queries are expected.
        watch : callable, optional
            Is given how many steps were made, and the model as it was then: at the start and after
            every 25.
        """
        sizes = query_sizes(*bounds_m, self.k)
        scale = max(smoothing, noise)
        workload = None
        if public is not None:
            workload = RangeQueries.sample(public, len(public), bounds_m, self.seed)
        given = Augmentation(
            table=table,
            sizes=sizes,
            spread=(bounds_m[1] - bounds_m[0]) / (2 * self.k) if self.scaling == "learned" else 0.0,
            workload=workload,
            floor=self.workload_floor,
            scale=scale,
            smoothing=smoothing,
            clip=self.clip_labels,
        )
        anywhere = scattered(given)
        if self.positions == "aligned":
            squares = aligned(given, np.random.default_rng(self.seed))
        else:
            squares = anywhere
        model = partial(self._model, table, cell_m, bounds_m, sizes, scale)
        params = train(
            self.network,
            self._at_nodes(given),
            squares,
            steps=self.steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            seed=self.seed,
            held_out=None if self.patience is None else _held_out(anywhere, self.seed),
            patience=self.patience or 1,
            watch=None if watch is None else lambda step, params: watch(step, model(params)),
        )
        return model(params)

    def _model(
        self,
        table: SummedArea,
        cell_m: float,
        bounds_m: tuple[float, float],
        sizes: NDArray[np.float64],
        scale: float,
        params: Mapping[str, NDArray],
    ) -> SNHModel:
        return SNHModel(
            region=table.grid.region,
            cell_m=cell_m,
            sizes_m=tuple(sizes.tolist()),
            bounds_m=bounds_m,
            scale=scale,
            scaling=self.scaling,
            network=self.network,
            params={name: _half(a) for name, a in params.items()},
            blocks=_blocks(table, bounds_m[1]),
        )

    def _at_nodes(self, given: Augmentation) -> np.ndarray:
        """Counts around the network's nodes, as ``Network.init`` takes them, k times."""
        region = given.table.grid.region
        nodes = self.network.nodes() * region.side_m
        ends = (-given.spread, given.spread) if given.spread else (0.0,)
        found = np.empty((self.k, len(nodes), len(ends)), np.float32)
        for j, own in enumerate(given.sizes):
            for e, more in enumerate(ends):
                size = own + more
                inside = np.clip(nodes, size / 2, region.side_m - size / 2)
                counts = given.table.sums(RangeQueries.squares(region, inside, size))
                found[j, :, e] = counts / given.scale * (own / size) ** 2
        return found


def _held_out(squares: Scattered, seed: int) -> Batch:
    return squares.draw(jax.random.fold_in(jax.random.key(seed), 1), _HELD_OUT)


def _blocks(table: SummedArea, least_m: float) -> np.ndarray:
    """Sums over blocks at least ``least_m`` metres wide, shape (b, b)."""
    region = table.grid.region
    grid = Grid(region, max(1, int(region.side_m // least_m)))
    return table.sums(grid.boxes()).reshape(grid.m, grid.m).astype(np.float32)


def _half(array: np.ndarray) -> np.ndarray:
    """In 16 bits: half the bytes, and far finer than the noise."""
    return np.clip(array, -65_504, 65_504).astype(np.float16)
