"""Spatial Neural Histograms: collect once, augment, train, release the networks."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from snhkit.builders.base import Terms, noisy_grid, positive, publish, sizes, whole, with_n
from snhkit.builders.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region
from snhkit.geometry.grid import SummedArea
from snhkit.neural.augment import TrainingSet, aligned, query_sizes, scattered
from snhkit.neural.model import MOST_TILES, SNHModel
from snhkit.neural.network import MLP, FeatureGrid
from snhkit.neural.train import train
from snhkit.release import Release

__all__ = ["SNH"]


@dataclass(frozen=True)
class SNH:
    """Networks trained on one noisy grid, one for each of k query sizes.

    Only the noisy grid looks at records; all the rest is post-processing and costs no privacy.
    Its squares of k sizes teach k networks, which smooth the noise that a grid would hand on.
    Boxes of other sizes and shapes are put together from squares.

    Parameters
    ----------
    cell_m : float or "auto", optional
        Cell width of the noisy grid in metres; "auto" takes it from ``ParamSelect``, by
        n, epsilon and the public points; None from ``default_cell_width``.
    sizes_m : (float, float)
        The paper's l and u: the query sizes that are trained for, in metres.
    k : int
        How many networks.
    network : FeatureGrid or MLP
        The architecture.
    positions : "scattered" or "aligned"
        Training squares anywhere, ``samples`` of each size; or on the corners of cells only.
    samples : int
        Training squares of each size, if scattered.
    workload_floor : float
        Weight of a training square far from all public points, in units of the average; at 0
        such squares are not trained on.
    clip_labels : bool
        Whether negative noisy counts of training squares count as 0.
    scaling : "area" or "linear"
        How the answer of the nearest size is scaled (see ``SNHModel``).
    steps, batch : int
        Adam steps, and squares a network sees in each.
    learning_rate : float
        At the start.
    seed : int
        Public; of the training, not of the noise.

    Raises
    ------
    InputError
        If a number is out of its range.

    Examples
    --------
    >>> SNH(cell_m=30, k=4).cell_m
    30
    >>> SNH.paper().network
    MLP(depth=20, width=80)

    Notes
    -----
    Zeighami, Ahuja, Ghinita and Shahabi, "A Neural Database for Differentially Private Spatial
    Range Queries", PVLDB 15, 2022; Sec. 4.
    """

    cell_m: Width = None
    sizes_m: tuple[float, float] = (25.0, 100.0)
    k: int = 8
    network: FeatureGrid | MLP = field(default_factory=FeatureGrid)
    positions: Literal["scattered", "aligned"] = "scattered"
    samples: int = 2**18
    workload_floor: float = 0.5
    clip_labels: bool = False
    scaling: Literal["area", "linear"] = "area"
    steps: int = 200
    batch: int = 4096
    learning_rate: float = 0.02
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))
        check_width(self.cell_m)
        for name in ("k", "samples", "steps", "batch"):
            whole(name, getattr(self, name), least=1)
        whole("seed", self.seed, least=0)
        positive("learning_rate", self.learning_rate)
        if not 0 <= self.workload_floor < np.inf:
            raise InputError(
                f"workload_floor must be a number, not negative, not {self.workload_floor!r}."
            )
        if self.positions not in ("scattered", "aligned"):
            raise InputError(f"positions must be 'scattered' or 'aligned', not {self.positions!r}.")
        if self.scaling not in ("area", "linear"):
            raise InputError(f"scaling must be 'area' or 'linear', not {self.scaling!r}.")

    @classmethod
    def paper(cls, **changes) -> "SNH":
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

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse query sizes that the region cannot hold, and public data that is not there."""
        low, high = self.sizes_m
        if high >= region.side_m or low < region.side_m / MOST_TILES:
            raise InputError(
                f"SNH: squares of {low:g} to {high:g} m do not suit a region of "
                f"{region.side_m:g} m; smaller ones, but at least a {MOST_TILES:,}th of it, do."
            )
        given_grid(region, self.cell_m)
        if terms.public is not None and not len(terms.public):
            raise InputError("SNH: public holds no points in this region; leave it out.")

    def build(self, records: Points, terms: Terms) -> Release:
        """Collect (Sec. 4.1), augment and train (Sec. 4.2)."""
        n, left, bought = with_n(records, terms)
        grid, *_ = chosen_grid(records, left, self.cell_m)
        noisy, spend = noisy_grid(records, grid, left)
        # From here on nothing knows the records.
        smoothing = max(0.001 * n, 1.0)
        scale = max(smoothing, 1 / left.record_epsilon)
        sizes = query_sizes(*self.sizes_m, self.k)
        table = SummedArea(grid, noisy)
        training = self._augment(table, sizes, terms.public)
        labels = np.maximum(training.labels, 0) if self.clip_labels else training.labels
        params = train(
            self.network,
            self._at_nodes(table, sizes) / scale,
            (training.corners + sizes[:, None, None] / 2) / grid.region.side_m,
            labels / scale,
            training.weights * smoothing / np.maximum(labels, smoothing),
            steps=self.steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            seed=self.seed,
        )
        model = SNHModel(
            region=grid.region,
            cell_m=grid.cell_m,
            sizes_m=tuple(sizes.tolist()),
            bounds_m=self.sizes_m,
            scale=scale,
            scaling=self.scaling,
            network=self.network,
            params={name: _half(a) for name, a in params.items()},
            blocks=_blocks(table, self.sizes_m[1]),
        )
        return publish(self, terms, (*bought, spend), model, n)

    def _at_nodes(self, table: SummedArea, sizes: np.ndarray) -> np.ndarray:
        """Noisy counts of squares of each size around the network's nodes, shape (k, v)."""
        region = table.grid.region
        nodes = self.network.nodes() * region.side_m
        inside = [np.clip(nodes, size / 2, region.side_m - size / 2) for size in sizes]
        squares = [RangeQueries.squares(region, c, s) for c, s in zip(inside, sizes, strict=True)]
        return np.stack([table.sums(boxes) for boxes in squares])

    def _augment(self, table: SummedArea, sizes: np.ndarray, public: Points | None) -> TrainingSet:
        rng = np.random.default_rng(self.seed)
        workload = None
        if public is not None:
            workload = RangeQueries.sample(public, len(public), self.sizes_m, self.seed)
        if self.positions == "aligned":
            return aligned(table, sizes, workload, self.workload_floor)
        return scattered(table, sizes, workload, self.workload_floor, self.samples, rng)


def _blocks(table: SummedArea, least_m: float) -> np.ndarray:
    """Sums over blocks at least ``least_m`` metres wide, shape (b, b)."""
    region = table.grid.region
    grid = Grid(region, max(1, int(region.side_m // least_m)))
    return table.sums(grid.boxes()).reshape(grid.m, grid.m).astype(np.float32)


def _half(array: np.ndarray) -> np.ndarray:
    """In 16 bits: half the bytes, and far finer than the noise."""
    return np.clip(array, -65_504, 65_504).astype(np.float16)
