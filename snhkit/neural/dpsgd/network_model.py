"""A model that estimates counts of boxes with one network for squares of all sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import NDArray

from snhkit.builders.jax_ready import refuse_forked
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.variance import UnknownNoise
from snhkit.neural.networks.mlp import MLP
from snhkit.neural.networks.model import evaluate
from snhkit.neural.networks.network import network_from, network_settings

INPUTS = 3  # a square's centre and its side

_MOST_WIDTH, _MOST_DEPTH = 256, 5
_MOST_WEIGHT = 1e5  # limit on the absolute value of a parameter, so that answers stay finite


@dataclass(frozen=True, eq=False)
class NetworkModel(UnknownNoise):
    """A model that estimates counts of boxes with one network for squares of all sizes.

    A box is clipped; the network answers for a square of equal area and nearest centre inside the
    region. A side outside ``sizes_m`` becomes the nearest in it, and the answer is scaled by area.
    One unit of output is ``scale`` records.
    """

    region: Region
    sizes_m: tuple[float, float]
    scale: float
    network: MLP
    params: Mapping[str, Shaped[np.ndarray, "..."]]
    kind: ClassVar[str] = "dpsgd"
    warning: ClassVar[str] = (
        "a demonstration: (epsilon, delta) only, with floating-point noise. Not to publish."
    )

    def cells(self) -> Grid:
        """Return a grid of squares of the largest size that the network was trained for."""
        return Grid.of_width(self.region, self.sizes_m[1])

    def additive(self) -> "NetworkModel":
        """Return the model for polygons: this model, since there is none whose answers add up."""
        return self

    def answer(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the estimated number of records in each of q boxes, shape (q,)."""
        refuse_forked("DPSGD")
        whole = self.region.side_m
        low = np.clip(np.stack([queries.x, queries.y], 1), 0, whole)
        far = np.stack([queries.x + queries.width, queries.y + queries.height], 1)
        high = np.clip(far, 0, whole)
        area = (high - low).prod(axis=1)
        asked = np.flatnonzero(area > 0)
        counts = np.zeros(len(queries))
        if asked.size:
            side = np.clip(np.sqrt(area[asked]), *self.sizes_m)
            half = side[:, None] / 2
            centre = np.clip((low + high)[asked] / 2, half, whole - half)
            params = {name: jnp.asarray(a) for name, a in self.params.items()}
            said = evaluate(self.network, params, described(centre, side, whole, self.sizes_m))
            counts[asked] = said * self.scale * area[asked] / side**2
        return counts

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays for a file: the parameters of the network."""
        return dict(self.params)

    def settings(self) -> dict[str, Any]:
        """Return the settings that describe the model in a file, as JSON values."""
        return {
            "sizes_m": list(self.sizes_m),
            "scale": self.scale,
            "network": network_settings(self.network),
        }

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "NetworkModel":
        """Return the model that a file's arrays and settings describe, after a check."""
        low, high = (float(s) for s in settings["sizes_m"])
        scale = float(settings["scale"])
        if not 0 < low <= high <= region.side_m:
            raise InputError(
                f"query sizes from {low} to {high} m do not fit a region of {region.side_m:g} m."
            )
        Grid.of_width(region, high)
        if not 0 < scale < np.inf:
            raise InputError(f"scale must be positive and finite, not {scale}.")
        network = network_from(settings["network"])
        if not isinstance(network, MLP):
            raise InputError(
                f"network must be an {MLP.name!r}, not a {network.name!r}, which cannot answer for "
                "squares of all sizes."
            )
        network = network.bound(region.side_m)
        refuse_large(network)
        expected = jax.eval_shape(partial(network.init, inputs=INPUTS), jax.random.key(0))
        shapes = {name: a.shape for name, a in expected.items()}
        if {name: a.shape for name, a in arrays.items()} != shapes:
            raise InputError("the parameters do not fit the network that the file describes.")
        for name, a in arrays.items():
            if a.dtype != np.float32 or (a.size and np.abs(a).max() > _MOST_WEIGHT):
                raise InputError(
                    f"array {name} must hold 32-bit floats from {-_MOST_WEIGHT:,.0f} to "
                    f"{_MOST_WEIGHT:,.0f}."
                )
        return cls(region, (low, high), scale, network, dict(arrays))


def described(
    centre: Float[np.ndarray, "b 2"],
    side: Float[np.ndarray, " b"],
    whole: float,
    sizes_m: tuple[float, float],
) -> Float[np.ndarray, "b 3"]:
    """Return the network's inputs for b squares: centres / ``whole``, and sides in ``sizes_m``."""
    low, high = sizes_m
    size = (side - low) / (high - low) if high > low else np.zeros_like(side)
    return np.column_stack([centre / whole, size])


def refuse_large(network: MLP) -> None:
    """Raise InputError if a network is so large that its answers could overflow."""
    if network.width > _MOST_WIDTH or network.depth > _MOST_DEPTH:
        raise InputError(
            f"network must have at most {_MOST_DEPTH} layers of {_MOST_WIDTH} units for DPSGD, not "
            f"{network!r}."
        )
