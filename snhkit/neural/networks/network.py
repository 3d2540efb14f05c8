"""The number of a network's parameters, and its settings as in a file."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import jax
from jaxtyping import Array, Float

from snhkit.errors import InputError
from snhkit.neural.networks.feature_grid import FeatureGrid
from snhkit.neural.networks.mlp import MLP

Params = dict[str, Float[Array, "..."]]
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


def refuse_other_shapes(
    network: MLP | FeatureGrid, inputs: int, params: Mapping[str, Any], first: tuple[int, ...] = ()
) -> None:
    """Raise InputError unless parameters, after axes ``first``, have the shapes of a network's."""
    expected = jax.eval_shape(lambda: network.init(jax.random.key(0), inputs=inputs))
    shapes = {name: (*first, *a.shape) for name, a in expected.items()}
    if {name: a.shape for name, a in params.items()} != shapes:
        raise InputError("the parameters do not fit the network that the file describes.")
