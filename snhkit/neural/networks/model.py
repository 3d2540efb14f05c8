"""Answers from k trained networks."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.models.grid_model import GridModel
from snhkit.neural.networks.network import MLP, FeatureGrid, Params, network_from, network_settings
from snhkit.neural.networks.tiles import Tiles, core_and_frame, tile, tiles_needed

__all__ = ["MOST_TILES", "SNHModel", "evaluate"]

MOST_TILES = 10_000  # along a side of the region: a thin box must not become a million tiles

_TILES_A_CHUNK = 500_000
_BATCHES = (256, 8192)  # shapes that are compiled: for a few boxes, and for many


@dataclass(frozen=True, eq=False)
class SNHModel:
    """k networks, one for each query size; any rectangle is answered through them.

    A box is cut to the region. Where whole blocks of the noisy grid fit inside it, they are
    added up as they are: in large boxes the noise of a sum does less harm than the small biases
    of many networks' answers. What is left is cut into tiles (``tiles_needed``). Each tile is
    answered by the network whose size is nearest to the side of a square of the tile's area,
    asked for the square around the tile's centre, and its answer is scaled by area.

    Parameters
    ----------
    region : Region
        Where it can be asked.
    cell_m : float
        The width of the noisy grid it was trained on, in metres.
    sizes_m : tuple of float
        Query sizes, ascending, in metres.
    bounds_m : (float, float)
        l and u: tiles lie between.
    scale : float
        The networks answer in units of it.
    scaling : "area", "linear" or "learned"
        Scale an answer by the ratio of areas, or by that of sides as the paper writes; or networks
        have learned how counts change with the size, which they are told (the paper's SNH+QS).
    network : Network
        The architecture.
    params : mapping of ndarray
        Parameters, each with a first axis of length k.
    blocks : ndarray, shape (b, b)
        Sums of the noisy grid over blocks of at least u by u metres.
    """

    region: Region
    cell_m: float
    sizes_m: tuple[float, ...]
    bounds_m: tuple[float, float]
    scale: float
    scaling: Literal["area", "linear", "learned"]
    network: MLP | FeatureGrid
    params: Mapping[str, NDArray]
    blocks: NDArray
    kind: ClassVar[str] = "snh"

    def cells(self) -> Grid:
        """The cells of the noisy grid it was trained on."""
        return Grid.of_width(self.region, self.cell_m)

    def additive(self) -> GridModel:
        """The blocks: networks' answers, never negative, pile up where many are added."""
        return GridModel(self._block_table.grid, self.blocks)

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Estimated counts of the boxes, shape (q,)."""
        side = self.region.side_m
        x0, y0 = np.clip(queries.x, 0, side), np.clip(queries.y, 0, side)
        x1 = np.clip(queries.x + queries.width, 0, side)
        y1 = np.clip(queries.y + queries.height, 0, side)
        inside = RangeQueries(self.region, x0, y0, x1 - x0, y1 - y0)
        table = self._block_table
        core, frame, owner = core_and_frame(inside, table.grid.edges())
        learned = self._answer_frame(frame)
        return table.sums(core) + np.bincount(owner, learned, minlength=len(queries))

    def noise_variance(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Not known: nan, shape (q,)."""
        return np.full(len(queries), np.nan)

    @cached_property
    def _block_table(self) -> SummedArea:
        return SummedArea(Grid(self.region, len(self.blocks)), self.blocks)

    def _answer_frame(self, boxes: RangeQueries) -> NDArray[np.float64]:
        if not len(boxes):
            return np.zeros(0)
        per_side = tiles_needed(boxes, *self.bounds_m)
        chunk = np.cumsum(per_side.prod(axis=1)) // _TILES_A_CHUNK
        starts = np.flatnonzero(np.diff(chunk, prepend=-1))
        result = np.zeros(len(boxes))
        for first, last in zip(starts, [*starts[1:], len(boxes)], strict=True):
            tiles = tile(boxes[first:last], per_side[first:last])
            parts = self._answer_tiles(tiles)
            result[first:last] = np.bincount(tiles.box, parts, minlength=last - first)
        return result

    def _answer_tiles(self, tiles: Tiles) -> NDArray[np.float64]:
        sizes = np.asarray(self.sizes_m)
        side = np.sqrt(tiles.area)
        nearest = np.searchsorted((sizes[1:] + sizes[:-1]) / 2, side)
        own = sizes[nearest]
        spread = self._spread()
        size = np.clip(side, own - spread, own + spread)
        # The square must lie in the region: nothing else was trained.
        centre = np.clip(tiles.centre, size[:, None] / 2, self.region.side_m - size[:, None] / 2)
        told = centre / self.region.side_m
        if spread:
            told = np.column_stack([told, (size - own) / (2 * spread) + 0.5])
        counts = np.empty(len(side))
        for j in np.unique(nearest):
            rows = np.flatnonzero(nearest == j)
            params = {name: jnp.asarray(a[j], jnp.float32) for name, a in self.params.items()}
            counts[rows] = evaluate(self.network, params, told[rows])
        ratio = side / own
        return counts * self.scale * (ratio if self.scaling == "linear" else ratio**2)

    def _spread(self) -> float:
        """How far from its own size a network is told sizes, in metres."""
        low, high = self.bounds_m
        return (high - low) / (2 * len(self.sizes_m)) if self.scaling == "learned" else 0.0

    @property
    def separate(self) -> bool:
        """No."""
        return False

    def arrays(self) -> dict[str, NDArray]:
        """The parameters and the blocks."""
        return {"blocks": self.blocks, **self.params}

    def settings(self) -> dict[str, Any]:
        """All but the arrays, as JSON values."""
        return {
            "cell_m": self.cell_m,
            "sizes_m": list(self.sizes_m),
            "bounds_m": list(self.bounds_m),
            "scale": self.scale,
            "scaling": self.scaling,
            "network": network_settings(self.network),
        }

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "SNHModel":
        """Rebuild from a file."""
        network = network_from(settings["network"])
        sizes = tuple(float(s) for s in settings["sizes_m"])
        low, high = (float(b) for b in settings["bounds_m"])
        cell_m, scale = float(settings["cell_m"]), float(settings["scale"])
        ordered = all(a < b for a, b in itertools.pairwise(sizes))
        if not (
            sizes
            and ordered
            and region.side_m / MOST_TILES <= low <= sizes[0]
            and sizes[-1] <= high <= region.side_m
        ):
            raise InputError(f"query sizes {sizes} do not fit bounds [{low}, {high}].")
        if not (0 < cell_m < np.inf and 0 < scale < np.inf):
            raise InputError("cell_m and scale must be positive.")
        scaling = settings["scaling"]
        if scaling not in ("area", "linear", "learned"):
            raise InputError(f"scaling {scaling!r} is unknown.")
        params = {name: a for name, a in arrays.items() if name != "blocks"}
        blocks = arrays["blocks"]
        if blocks.ndim != 2 or blocks.shape[0] != blocks.shape[1]:
            raise InputError(f"the blocks must be square, not {blocks.shape}.")
        Grid(region, len(blocks))  # refuses what no grid can be
        Grid.of_width(region, cell_m)
        ends = 2 if scaling == "learned" and low < high else 1
        nodes = jax.ShapeDtypeStruct((network.node_count, ends), np.float32)
        expected = jax.eval_shape(network.init, jax.random.key(0), nodes)
        shapes = {name: (len(sizes), *a.shape) for name, a in expected.items()}
        if {name: a.shape for name, a in params.items()} != shapes:
            raise InputError("the parameters do not fit the network that the file describes.")
        bounds = (low, high)
        return cls(region, cell_m, sizes, bounds, scale, scaling, network, params, blocks)


def evaluate(
    network: MLP | FeatureGrid, params: Params, at: NDArray[np.float64]
) -> NDArray[np.float32]:
    """What a network says of squares, shape (b,); few shapes are compiled, whatever b is."""
    batch = _BATCHES[len(at) > _BATCHES[0]]
    padded = np.zeros((-(-len(at) // batch) * batch, at.shape[1]), np.float32)
    padded[: len(at)] = at
    parts = [_apply(network, params, part) for part in padded.reshape(-1, batch, at.shape[1])]
    return np.concatenate([np.asarray(part) for part in parts])[: len(at)]


@partial(jax.jit, static_argnums=0)
def _apply(network: MLP | FeatureGrid, params: Params, at: jax.Array) -> jax.Array:
    return network.apply(params, at)
