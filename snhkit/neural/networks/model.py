"""A model that estimates counts of boxes with k trained networks."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Float64, Int, Num, Shaped
from numpy.typing import NDArray

from snhkit.builders.jax_ready import refuse_forked
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.models.grid_model import GridModel
from snhkit.models.variance import UnknownNoise
from snhkit.neural.networks.feature_grid import FeatureGrid
from snhkit.neural.networks.mlp import MLP
from snhkit.neural.networks.network import (
    Params,
    network_from,
    network_settings,
    refuse_other_shapes,
)
from snhkit.neural.networks.tiles import Tiles, core_and_frame, tile, tiles_needed

MOST_TILES = 10_000  # per side of the region, so that a thin box does not become a million tiles

_TILES_A_CHUNK = 500_000
_BATCHES = (256, 8192)  # the two batch sizes that are compiled, for few boxes and for many
_WIDE = 512  # with more units per layer, a large batch would need hundreds of megabytes


@dataclass(frozen=True, eq=False)
class SNHModel(UnknownNoise):
    """A model that estimates counts of boxes with k networks, one for each of k query sizes.

    Sums over equal ``blocks``, no narrower than u of ``sizes_m``, are stored. A box is clipped;
    whole blocks in it are added up, since the noise of a sum is below the bias of many answers, and
    the rest is cut into tiles (``tiles_needed``). The network of the nearest query size answers a
    tile: an ``MLP`` for a square of equal area and centre, scaled by ``scaling`` (the ratio of
    areas; "linear" of sides, as in the paper; "learned", an input: SNH+QS); with a ``map``, its sum
    over the tile is multiplied by 1 plus the output. ``scale`` is the records of a unit of map or
    output.
    """

    region: Region
    cell_m: float
    query_sizes_m: tuple[float, ...]
    sizes_m: tuple[float, float]
    scale: float
    scaling: Literal["area", "linear", "learned"]
    network: MLP | FeatureGrid
    params: Mapping[str, Shaped[np.ndarray, "..."]]
    map: Float[np.ndarray, "m m"]
    blocks: Num[np.ndarray, "b b"]
    kind: ClassVar[str] = "snh"

    def cells(self) -> Grid:
        """Return the cells of the noisy grid that the networks were trained on."""
        if self._map_table is not None:
            return self._map_table.grid
        return Grid.of_width(self.region, self.cell_m)

    def additive(self) -> GridModel:
        """Return a grid of counts, which add up: the map or, if there is none, the blocks."""
        if self._map_table is not None:
            return GridModel(self._map_table.grid, self.map.astype(float) * self.scale)
        return GridModel(self._block_table.grid, self.blocks)

    def remarks(self) -> dict[str, str]:
        """Return further lines for the card: without a map, how polygons are counted."""
        if self._map_table is not None:
            return {}
        return {"Polygons": "counted with blocks of the noisy grid, not with the networks"}

    def answer(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the estimated number of records in each of q boxes, shape (q,)."""
        refuse_forked("SNH")
        inside = queries.clipped()
        table = self._block_table
        core, frame, owner = core_and_frame(inside, table.grid.edges())
        rest = self._answer_frame(frame)
        inner = table.sums(core)
        inner += np.bincount(owner, rest, minlength=len(queries))
        return inner

    @cached_property
    def _block_table(self) -> SummedArea:
        return SummedArea(Grid(self.region, len(self.blocks)), self.blocks)

    @cached_property
    def _map_table(self) -> SummedArea | None:
        if not self.map.size:
            return None
        return SummedArea(Grid(self.region, len(self.map)), self.map.astype(float) * self.scale)

    def _answer_frame(self, boxes: RangeQueries) -> Float[np.ndarray, " {len(boxes)}"]:
        """Return the estimated counts of boxes: sums of the answers for their tiles, shape (q,)."""
        if not len(boxes):
            return np.zeros(0)
        per_side = tiles_needed(boxes, *self.sizes_m)
        chunk = np.cumsum(per_side.prod(axis=1)) // _TILES_A_CHUNK
        starts = np.flatnonzero(np.diff(chunk, prepend=-1))
        result = np.zeros(len(boxes))
        for first, last in zip(starts, [*starts[1:], len(boxes)], strict=True):
            tiles = tile(boxes[first:last], per_side[first:last])
            parts = self._answer_tiles(tiles)
            if self._map_table is not None:
                parts = (1 + parts) * self._map_table.sums(tiles.boxes(self.region))
            result[first:last] = np.bincount(tiles.box, parts, minlength=last - first)
        return result

    def _answer_tiles(self, tiles: Tiles) -> Float[np.ndarray, " {len(tiles.box)}"]:
        """Return the networks' answers for tiles: counts or, with a map, relative corrections."""
        sizes = np.asarray(self.query_sizes_m)
        side = np.sqrt(tiles.area)
        nearest = np.searchsorted((sizes[1:] + sizes[:-1]) / 2, side)
        own = sizes[nearest]
        spread = self._spread()
        size = np.clip(side, own - spread, own + spread)
        # The square must lie in the region, since networks were trained on such squares only.
        centre = np.clip(tiles.centre, size[:, None] / 2, self.region.side_m - size[:, None] / 2)
        told = centre / self.region.side_m
        if spread:
            told = np.column_stack([told, (size - own) / (2 * spread) + 0.5])
        counts = _each_by_its_own(self.network, self.params, nearest, told)
        if self._map_table is not None:
            return counts
        ratio = side / own
        return counts * self.scale * (ratio if self.scaling == "linear" else ratio**2)

    def _spread(self) -> float:
        """Return by how many metres a square may differ from its network's query size."""
        low, high = self.sizes_m
        return (high - low) / (2 * len(self.query_sizes_m)) if self.scaling == "learned" else 0.0

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays for a file: the parameters, the map, and the sums over blocks."""
        return {"blocks": self.blocks, "map": self.map, **self.params}

    def settings(self) -> dict[str, Any]:
        """Return the settings that describe the model in a file, as JSON values."""
        return {
            "cell_m": self.cell_m,
            "query_sizes_m": list(self.query_sizes_m),
            "sizes_m": list(self.sizes_m),
            "scale": self.scale,
            "scaling": self.scaling,
            "network": network_settings(self.network),
        }

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "SNHModel":
        """Return the model that a file's arrays and settings describe, after a check."""
        network = network_from(settings["network"]).bound(region.side_m)
        queries = tuple(float(s) for s in settings["query_sizes_m"])
        low, high = (float(b) for b in settings["sizes_m"])
        cell_m, scale = float(settings["cell_m"]), float(settings["scale"])
        ordered = low == high or all(a < b for a, b in itertools.pairwise(queries))
        if not (
            queries
            and ordered
            and region.side_m / MOST_TILES <= low <= queries[0]
            and queries[-1] <= high <= region.side_m
        ):
            raise InputError(
                f"the query sizes {queries} must ascend and lie within sizes_m, from {low:g} to "
                f"{high:g} m. Both limits of sizes_m must be from {region.side_m / MOST_TILES:g} m "
                f"to the region's side of {region.side_m:g} m."
            )
        if not (0 < cell_m < np.inf and 0 < scale < np.inf):
            raise InputError(
                f"cell_m and scale must be positive numbers, not {cell_m} and {scale}."
            )
        scaling = settings["scaling"]
        if scaling not in ("area", "linear", "learned"):
            raise InputError(f"scaling must be 'area', 'linear' or 'learned', not {scaling!r}.")
        params = {name: a for name, a in arrays.items() if name not in ("blocks", "map")}
        blocks, counts = arrays["blocks"], arrays["map"]
        if blocks.ndim != 2 or blocks.shape[0] != blocks.shape[1]:
            raise InputError(f"the array 'blocks' must be square, not of shape {blocks.shape}.")
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
            raise InputError(f"the array 'map' must be square, not of shape {counts.shape}.")
        if bool(counts.size) != network.has_map:
            raise InputError(
                f"the array 'map' must have {'' if network.has_map else 'no '}cells, not "
                f"{counts.shape}."
            )
        Grid(region, len(blocks))  # raises InputError if there are no blocks, or too many
        if len(blocks) != blocks_along(region, high):
            # With wider blocks, the rest of a box could have too many tiles for the memory.
            raise InputError(
                f"the array 'blocks' must have {blocks_along(region, high):,} blocks per side, not "
                f"{len(blocks):,}."
            )
        Grid.of_width(region, cell_m)
        inputs = 3 if scaling == "learned" and low < high else 2
        refuse_other_shapes(network, inputs, params, (len(queries),))
        return cls(
            region, cell_m, queries, (low, high), scale, scaling, network, params, counts, blocks
        )


def blocks_along(region: Region, least_m: float) -> int:
    """Return how many blocks, at least 1, of ``least_m`` metres fit along a region's side."""
    return max(1, int(region.side_m // least_m))


def _each_by_its_own(
    network: MLP | FeatureGrid,
    params: Mapping[str, Shaped[np.ndarray, "..."]],
    nearest: Int[np.ndarray, " b"],
    at: Float64[np.ndarray, "b i"],
) -> Float64[np.ndarray, " b"]:
    """Return one output for each square, from the network whose index is in ``nearest``."""
    counts = np.empty(len(at))
    for j in np.unique(nearest):
        rows = np.flatnonzero(nearest == j)
        own = {name: jnp.asarray(a[j], jnp.float32) for name, a in params.items()}
        counts[rows] = evaluate(network, own, at[rows])
    return counts


def evaluate(
    network: MLP | FeatureGrid, params: Params, at: Float64[np.ndarray, "b i"]
) -> Float32[np.ndarray, " b"]:
    """Return the network's outputs for b squares, shape (b,).

    The outputs are computed in batches of two sizes only, since JAX compiles code for each size.
    """
    widest = max(a.shape[-1] for a in params.values())
    batch = _BATCHES[len(at) > _BATCHES[0] and widest <= _WIDE]
    padded = np.zeros((-(-len(at) // batch) * batch, at.shape[1]), np.float32)
    padded[: len(at)] = at
    parts = [_apply(network, params, part) for part in padded.reshape(-1, batch, at.shape[1])]
    return np.concatenate([np.asarray(part) for part in parts])[: len(at)]


@partial(jax.jit, static_argnums=0)
def _apply(
    network: MLP | FeatureGrid, params: Params, at: Float[Array, "b i"]
) -> Float[Array, " b"]:
    return network.apply(params, at)
