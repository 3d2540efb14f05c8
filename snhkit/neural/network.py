"""The networks: each maps a square's centre to a count, for one query size."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp

from snhkit.errors import InputError

__all__ = ["MLP", "FeatureGrid", "Network", "Params", "network_from", "network_settings"]

Params = dict[str, jax.Array]


class Network(Protocol):
    """A function of position with parameters; frozen, to be a static argument of jitted code."""

    name: ClassVar[str]

    def init(self, key: jax.Array) -> Params:
        """Parameters to start from."""
        ...

    def apply(self, params: Params, at: jax.Array) -> jax.Array:
        """Counts in units of the output scale, shape (b,), at places in [0, 1), shape (b, 2)."""
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

    def init(self, key: jax.Array) -> Params:
        """LeCun-normal weights, zero biases."""
        ends = [2, *[self.width] * (self.depth - 1), 1]
        params: Params = {}
        for i, layer_key in enumerate(jax.random.split(key, self.depth)):
            shape = (ends[i], ends[i + 1])
            params[f"w{i}"] = jax.random.normal(layer_key, shape) / jnp.sqrt(ends[i])
            params[f"b{i}"] = jnp.zeros(ends[i + 1])
        return params

    def apply(self, params: Params, at: jax.Array) -> jax.Array:
        """Counts of squares centred at ``at``."""
        h = jnp.sin((2 * at - 1) @ params["w0"] + params["b0"])
        for i in range(1, self.depth - 1):
            h = jax.nn.swish(h @ params[f"w{i}"] + params[f"b{i}"])
        last = self.depth - 1
        return (h @ params[f"w{last}"] + params[f"b{last}"])[:, 0]


@dataclass(frozen=True)
class FeatureGrid:
    """Learned features on grids of several widths, mixed by one hidden layer; never negative.

    A fully connected network needs very many steps before it can tell one street from the next.
    Features that live at a place learn it at once, and the coarse ones hold the noise of the fine
    ones down.

    Parameters
    ----------
    levels : tuple of int
        Grid intervals a side, coarse to fine; features lie on the corners and are interpolated.
    features : int
        Numbers a corner.
    hidden : int
        Units of the hidden layer.

    Notes
    -----
    After Mueller et al., "Instant neural graphics primitives", SIGGRAPH 2022, with dense grids.
    """

    levels: tuple[int, ...] = (64, 256, 512)
    features: int = 2
    hidden: int = 16
    name: ClassVar[str] = "feature-grid"

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        if not self.levels:
            raise InputError("levels must name at least one grid.")
        for level in self.levels:
            _between("levels", level, 1, 4096)
        _between("features", self.features, 1, 64)
        _between("hidden", self.hidden, 1, 4096)

    def init(self, key: jax.Array) -> Params:
        """Nearly flat features, and an output that starts small."""
        keys = jax.random.split(key, len(self.levels) + 2)
        width = self.features * len(self.levels)
        params = {
            f"grid{i}": 0.01 * jax.random.normal(keys[i], ((level + 1) ** 2, self.features))
            for i, level in enumerate(self.levels)
        }
        params["w0"] = jax.random.normal(keys[-2], (width, self.hidden)) * jnp.sqrt(2 / width)
        params["b0"] = jnp.zeros(self.hidden)
        params["w1"] = jax.random.normal(keys[-1], (self.hidden, 1)) / jnp.sqrt(self.hidden)
        params["b1"] = jnp.full(1, -2.0, jnp.float32)
        return params

    def apply(self, params: Params, at: jax.Array) -> jax.Array:
        """Counts of squares centred at ``at``."""
        parts = [
            _interpolated(params[f"grid{i}"], level, at) for i, level in enumerate(self.levels)
        ]
        h = jax.nn.swish(jnp.concatenate(parts, axis=1) @ params["w0"] + params["b0"])
        return jax.nn.softplus((h @ params["w1"] + params["b1"])[:, 0])


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
