"""The interface of a network, and conversion of its settings to and from those in a file."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any, ClassVar, Protocol

import jax
from jaxtyping import Array, Float, Key

from snhkit.errors import InputError
from snhkit.neural.networks.feature_grid import FeatureGrid
from snhkit.neural.networks.mlp import MLP

__all__ = ["Network", "Params", "network_from", "network_settings", "parameter_count"]

Params = dict[str, Float[Array, "..."]]


class Network(Protocol):
    """The interface of a network: an architecture that maps squares to numbers.

    Networks are frozen and hashable, as static arguments of jitted code; parameters are arguments.
    Inputs are the centre, from 0 to 1, and, for a range of sizes, the place of the size in it. With
    ``has_map``, the k networks share a trained map of the noisy grid's cells.
    """

    name: ClassVar[str]
    has_map: ClassVar[bool]

    def bound(self, side_m: float) -> "Network":
        """Return this network with values for a region, ``side_m`` wide, in place of None."""
        ...

    def init(self, key: Key[Array, ""], inputs: int) -> Params:
        """Return random initial parameters of a network with the given number of inputs."""
        ...

    def apply(self, params: Params, at: Float[Array, "b i"]) -> Float[Array, " b"]:
        """Return one output for each of b squares: a count in units of output.

        With a map, its sum over the square is multiplied by 1 plus the output.
        """
        ...


_NETWORKS: dict[str, type[MLP] | type[FeatureGrid]] = {
    MLP.name: MLP,
    FeatureGrid.name: FeatureGrid,
}


@cache
def parameter_count(network: MLP | FeatureGrid, inputs: int) -> int:
    """Return the number of trained parameters of one network, without the shared map."""
    # The key is made inside the traced function; outside, it would start JAX's threads.
    shapes = jax.eval_shape(lambda: network.init(jax.random.key(0), inputs=inputs))
    return sum(a.size for a in shapes.values())


def network_from(settings: Mapping[str, Any]) -> MLP | FeatureGrid:
    """Return the network that has the given settings, as from ``network_settings``."""
    kind = settings["name"]
    rest: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v
        for k, v in settings.items()
        if k not in ("name", "cells")  # files of 2026-11 also state the number of the map's cells
    }
    if kind not in _NETWORKS:
        raise InputError(f"network must be one of {sorted(_NETWORKS)}, not {kind!r}.")
    return _NETWORKS[kind](**rest)


def network_settings(network: MLP | FeatureGrid) -> dict[str, Any]:
    """Return the name and the settings of a network as JSON values."""
    return {"name": network.name} | {
        k: list(v) if isinstance(v, tuple) else v for k, v in asdict(network).items()
    }
