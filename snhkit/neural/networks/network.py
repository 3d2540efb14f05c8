"""The networks: each maps a square's centre to a count, for one query size or a range of them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError

__all__ = ["MLP", "FeatureGrid", "Network", "Params", "network_from", "network_settings"]

Params = dict[str, jax.Array]

_MOST_LEVELS = 16
_LEAST = 0.05  # of the output scale: below it softplus is too flat to learn from


class Network(Protocol):
    """A function of position with parameters; frozen, to be a static argument of jitted code.

    A network for one size is told i = 2 numbers, a place in [0, 1). One for a range of sizes is
    told i = 3: also where the size lies in its range, from 0 to 1.
    """

    name: ClassVar[str]

    @property
    def node_count(self) -> int:
        """How many nodes there are, known without making them."""
        ...

    def nodes(self) -> NDArray[np.float64]:
        """Places in [0, 1], shape (v, 2), whose noisy counts ``init`` starts from."""
        ...

    def init(self, key: jax.Array, at_nodes: jax.Array) -> Params:
        """Parameters to start from, given counts at the nodes in units of the output scale.

        They have the shape (v, 1), or (v, 2) for the smallest and the largest size of a range.
        """
        ...

    def apply(self, params: Params, at: jax.Array) -> jax.Array:
        """Counts in units of the output scale, shape (b,), of what it is told, shape (b, i)."""
        ...


@dataclass(frozen=True)
class MLP:
    """The paper's fully connected network: first layer sin, then swish (Sec. 6.1).

    Parameters
    ----------
    depth : int
        Layers, the last one included.
    width : int
        Units in each.
    """

    depth: int = 20
    width: int = 80
    name: ClassVar[str] = "mlp"

    def __post_init__(self) -> None:
        _between("depth", self.depth, 2, 100)
        _between("width", self.width, 1, 4096)

    @property
    def node_count(self) -> int:
        """None."""
        return 0

    def nodes(self) -> NDArray[np.float64]:
        """None: it starts from chance."""
        return np.empty((0, 2))

    def init(self, key: jax.Array, at_nodes: jax.Array) -> Params:
        """LeCun-normal weights, zero biases."""
        return self.start(key, 1 + at_nodes.shape[1])

    def start(self, key: jax.Array, inputs: int) -> Params:
        """``init`` for squares described by any number of inputs."""
        ends = [inputs, *[self.width] * (self.depth - 1), 1]
        weights = _normals(key, list(itertools.pairwise(ends)))
        params = {f"w{i}": w / jnp.sqrt(len(w)) for i, w in enumerate(weights)}
        return params | {f"b{i}": jnp.zeros(end) for i, end in enumerate(ends[1:])}

    def apply(self, params: Params, at: jax.Array) -> jax.Array:
        """Counts of squares centred at ``at``."""
        h = jnp.sin((2 * at - 1) @ params["w0"] + params["b0"])
        for i in range(1, self.depth - 1):
            h = jax.nn.swish(h @ params[f"w{i}"] + params[f"b{i}"])
        last = self.depth - 1
        return (h @ params[f"w{last}"] + params[f"b{last}"])[:, 0]


@dataclass(frozen=True)
class FeatureGrid:
    """Learned features on grids of two widths, corrections to a fine map; never negative.

    A fully connected network needs very many steps before it can tell one street from the next.
    Here a fine map starts from the noisy counts themselves, and features that live at a place,
    mixed by one hidden layer, learn with it. For a range of sizes there are two fine maps, of the
    smallest and of the largest size, and what is between is interpolated.

    Parameters
    ----------
    levels : tuple of int
        Intervals a side of the feature grids; features lie on the corners and are interpolated.
    fine : int
        Intervals a side of the fine map.
    features : int
        Numbers a corner.
    hidden : int
        Units of the hidden layer.

    Notes
    -----
    After Mueller et al., "Instant neural graphics primitives", SIGGRAPH 2022, with dense grids.
    """

    levels: tuple[int, ...] = (64, 256)
    fine: int = 768
    features: int = 2
    hidden: int = 16
    name: ClassVar[str] = "feature-grid"

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        if not 1 <= len(self.levels) <= _MOST_LEVELS:
            raise InputError(f"levels must name 1 to {_MOST_LEVELS} grids, not {len(self.levels)}.")
        for level in (*self.levels, self.fine):
            _between("levels", level, 1, 4096)
        _between("features", self.features, 1, 64)
        _between("hidden", self.hidden, 1, 4096)

    @property
    def node_count(self) -> int:
        """Corners of the fine map."""
        return (self.fine + 1) ** 2

    def nodes(self) -> NDArray[np.float64]:
        """The corners of the fine map."""
        edge = np.linspace(0, 1, self.fine + 1)
        return np.stack(np.meshgrid(edge, edge, indexing="ij"), axis=-1).reshape(-1, 2)

    def init(self, key: jax.Array, at_nodes: jax.Array) -> Params:
        """Nearly flat features, and a fine map that gives back the counts at its corners."""
        width = self.features * len(self.levels) + at_nodes.shape[1] - 1
        shapes = [((level + 1) ** 2, self.features) for level in self.levels]
        *grids, w0, w1 = _normals(key, [*shapes, (width, self.hidden), (self.hidden, 1)])
        params = {f"grid{i}": 0.01 * grid for i, grid in enumerate(grids)}
        params |= {"w0": w0 * jnp.sqrt(2 / width), "b0": jnp.zeros(self.hidden), "w1": 0.1 * w1}
        count = jnp.maximum(at_nodes, _LEAST)
        params["fine"] = count + jnp.log(-jnp.expm1(-count))  # the inverse of softplus
        return params

    def apply(self, params: Params, at: jax.Array) -> jax.Array:
        """Counts of squares centred at ``at``."""
        place, size = at[:, :2], at[:, 2:]
        parts = [
            _interpolated(params[f"grid{i}"], level, place) for i, level in enumerate(self.levels)
        ]
        told = jnp.concatenate([*parts, 2 * size - 1], axis=1)
        h = jax.nn.swish(told @ params["w0"] + params["b0"])
        fine = _interpolated(params["fine"], self.fine, place)
        share = jnp.concatenate([1 - size.sum(axis=1, keepdims=True), size], axis=1)
        return jax.nn.softplus((h @ params["w1"])[:, 0] + (fine * share).sum(axis=1))


def _normals(key: jax.Array, shapes: Sequence[tuple[int, int]]) -> list[jax.Array]:
    """Arrays of standard normal numbers, drawn at once: each draw takes a second to compile."""
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    parts = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _interpolated(table: jax.Array, level: int, at: jax.Array) -> jax.Array:
    """Bilinear features, shape (b, features), from a table of shape ((level + 1)**2, features)."""
    t = jnp.clip(at * level, 0, level)
    cell = jnp.minimum(t.astype(jnp.int32), level - 1)
    u, v = jnp.split(t - cell, 2, axis=1)
    first = cell[:, 0] * (level + 1) + cell[:, 1]
    low = table[first] * (1 - v) + table[first + 1] * v
    high = table[first + level + 1] * (1 - v) + table[first + level + 2] * v
    return low * (1 - u) + high * u


_NETWORKS: dict[str, type[MLP] | type[FeatureGrid]] = {
    MLP.name: MLP,
    FeatureGrid.name: FeatureGrid,
}


def network_from(settings: Mapping[str, Any]) -> MLP | FeatureGrid:
    """The network that ``network_settings`` described."""
    kind, rest = settings["name"], {k: v for k, v in settings.items() if k != "name"}
    if kind not in _NETWORKS:
        raise InputError(f"network {kind!r} is unknown; there are {sorted(_NETWORKS)}.")
    return _NETWORKS[kind](**rest)


def network_settings(network: MLP | FeatureGrid) -> dict[str, Any]:
    """A network as JSON values."""
    return {"name": network.name} | {
        k: list(v) if isinstance(v, tuple) else v for k, v in asdict(network).items()
    }


def _between(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
