"""DP-SGD, for demonstrations only: training with clipped, noisy gradients, and its model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Float32, Float64, Int, Key, Shaped
from numpy.typing import NDArray

from snhkit import progress
from snhkit.builders.base import Extra, publish, refuse_wide, sizes
from snhkit.builders.jax_ready import refuse_forked, require_jax
from snhkit.checks import positive, whole
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.model import OwnSums
from snhkit.models.variance import UnknownNoise
from snhkit.neural.networks.mlp import MLP
from snhkit.neural.networks.model import evaluate
from snhkit.neural.networks.network import (
    Params,
    network_from,
    network_settings,
    parameter_count,
    refuse_other_shapes,
)
from snhkit.privacy import Epsilon, Measurements, Terms, exact
from snhkit.privacy.gradients import NoisyGradients
from snhkit.release import Release

INPUTS = 3  # a square's centre and its side

_MOST_WIDTH, _MOST_DEPTH = 256, 5
_MOST_WEIGHT = 1e5  # limit on the absolute value of a parameter, so that answers stay finite


@dataclass(frozen=True, eq=False)
class NetworkModel(UnknownNoise, OwnSums):
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
        refuse_other_shapes(network, INPUTS, arrays)
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


_MOST_STEPS = 10_000
_MOST_NOISE = 2**25  # random numbers, which take 128 MB


@dataclass(frozen=True)
class DPSGD:
    """A network trained on exact counts with noisy gradients, a baseline for demonstrations.

    Every step uses the records again, so epsilon is divided among all steps. One record may lie in
    every square of a batch, so the noise of a step must hide a change in all gradients at once. The
    noise is therefore far larger than the gradient, and the network learns almost nothing.

    Releases are for demonstration and must not be published: their noise is drawn in floating
    point, and they guarantee only (epsilon, delta)-differential privacy.

    Parameters
    ----------
    sizes_m : (float, float)
        The smallest and the largest side of the training squares, in metres.
    network : MLP
        The architecture; at most 5 layers of 256 units.
    samples : int
        The number of training squares, which are placed uniformly in the region.
    steps : int
        The number of training steps, each with one noisy gradient. At most 10,000 steps are
        possible, and fewer for a large network.
    batch : int
        The number of squares in each gradient: the size of the paper's set S.
    clip : float
        The largest L2 norm of the gradient of one square's error, from 0.001 to 1,000: the paper's
        B. Longer gradients are scaled down to this norm.
    learning_rate : float
        Adam's learning rate, at most 1.
    delta : number
        The delta of (epsilon, delta)-differential privacy; it should be far below 1 / n.
    seed : int
        Public seed of the squares and of the training; the noise does not depend on the seed.

    Raises
    ------
    InputError
        If a number is out of its range.

    Examples
    --------
    >>> DPSGD(steps=100).delta
    1e-06

    Notes
    -----
    Zeighami et al., PVLDB 15, 2022, Sec. 3.1; Abadi et al., "Deep Learning with Differential
    Privacy", CCS 2016. Unlike theirs, this training has no amplification by sampling, since
    training queries are sampled and records are not. The noise is the same for every unit of
    privacy, since clipping bounds the gradient of a square however many records change.
    """

    sizes_m: tuple[float, float] = DEFAULT_SIZES_M
    network: MLP = field(default_factory=lambda: MLP(depth=3, width=64, span=2))
    samples: int = 4096
    steps: int = 300
    batch: int = 256
    clip: float = 10.0
    learning_rate: float = 0.01
    delta: Epsilon = 1e-6
    seed: int = 0
    extra: ClassVar[Extra] = Extra("dpsgd", package="dp_accounting")

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))
        for name in ("samples", "steps", "batch"):
            whole(name, getattr(self, name), least=1)
        whole("seed", self.seed, least=0)
        for name in ("clip", "learning_rate"):
            positive(name, getattr(self, name))
        if not 1e-3 <= self.clip <= 1e3 or self.learning_rate > 1:
            raise InputError(
                "clip must lie in [0.001, 1000] and learning_rate in (0, 1], not "
                f"{self.clip!r} and {self.learning_rate!r}."
            )
        refuse_large(self.network)
        if self.steps * self._size > _MOST_NOISE or self.steps > _MOST_STEPS:
            raise InputError(
                f"steps must be at most {min(_MOST_STEPS, _MOST_NOISE // self._size):,} for this "
                f"network, not {self.steps:,}."
            )
        try:
            delta = exact(self.delta)
        except InputError:
            delta = 1
        if delta >= 1:
            raise InputError(f"delta must be a number in (0, 1) such as 1e-6, not {self.delta!r}.")

    @property
    def _size(self) -> int:
        return parameter_count(self.network, INPUTS)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if the region is too small for ``sizes_m``.

        The same error is raised if a package that DP-SGD needs cannot be used.
        """
        self.extra.require()
        refuse_wide("DPSGD", self.sizes_m[1], region, narrower=True)
        Grid.of_width(region, self.sizes_m[1])
        require_jax("DPSGD")

    def training_set(
        self, region: Region, n: int
    ) -> tuple[RangeQueries, Float64[np.ndarray, "s i"], float]:
        """Return public training squares, the network's inputs for them, and the scale of counts.

        Inputs, shape (samples, 3), are centre and side in [0, 1]; the scale is the count of a
        square of the largest size if n records were spread evenly.
        """
        boxes = RangeQueries.sample(region, self.samples, self.sizes_m, self.seed)
        centres = np.stack([boxes.x, boxes.y], axis=1) + boxes.width[:, None] / 2
        inputs = described(centres, boxes.width, region.side_m, self.sizes_m)
        return boxes, inputs, max(n, 1) * (self.sizes_m[1] / region.side_m) ** 2

    def build(self, private: Measurements) -> Release:
        """Return a release whose network is trained with noisy gradients (paper, Sec. 3.1)."""
        boxes, inputs, scale = self.training_set(private.region, private.number())
        gradients = private.gradients(
            boxes,
            scale,
            steps=self.steps,
            size=self._size,
            batch=self.batch,
            clip=float(self.clip),
            epsilon=private.epsilon,
        )
        network = self.network.bound(private.region.side_m)
        params = descend(
            network,
            inputs,
            gradients,
            steps=self.steps,
            batch=self.batch,
            learning_rate=float(self.learning_rate),
            seed=self.seed,
        )
        model = NetworkModel(private.region, self.sizes_m, scale, network, params)
        return publish(self, private, model)


def descend(
    network: MLP,
    squares: Float64[np.ndarray, "t i"],
    gradients: NoisyGradients,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    seed: int,
    watch: Callable[[Params], None] | None = None,
) -> dict[str, Float32[np.ndarray, "..."]]:
    """Return the parameters of a network after training with noisy gradients.

    Only ``gradients`` holds private counts. Adam's steps, unlike plain ones, bear the noise.
    """
    first, batches = jax.random.split(jax.random.key(seed))
    theta, unravel = ravel_pytree(network.init(first, squares.shape[1]))
    state = optax.scale_by_adam().init(theta)
    inputs = jnp.asarray(squares, jnp.float32)

    with progress.steps(steps, "training with noisy gradients") as advance:
        for key in jax.random.split(batches, steps):
            if watch is not None:
                watch(unravel(theta))
            drawn, predicted, slopes = _batch(network, batch, theta, inputs, key)
            total = gradients.sum(np.asarray(drawn), predicted, slopes)
            mean = jnp.asarray(total / np.float32(batch))
            theta, state = _stepped(theta, state, mean, jnp.float32(learning_rate))
            advance()
    return {name: np.asarray(value) for name, value in unravel(theta).items()}


@partial(jax.jit, static_argnums=(0, 1))
def _batch(
    network: MLP,
    batch: int,
    theta: Float[Array, " p"],
    inputs: Float[Array, "t i"],
    key: Key[Array, ""],
) -> tuple[Int[Array, " s"], Float[Array, " s"], Float[Array, "s p"]]:
    """Return the indices of random squares, the predictions, and the predictions' gradients."""
    _, unravel = ravel_pytree(network.init(jax.random.key(0), inputs.shape[1]))

    def predict(theta: Float[Array, " p"], x: Float[Array, " i"]) -> Float[Array, ""]:
        return network.apply(unravel(theta), x[None])[0]

    drawn = jax.random.randint(key, (batch,), 0, len(inputs))
    values, slopes = jax.vmap(jax.value_and_grad(predict), (None, 0))(theta, inputs[drawn])
    return drawn, values, slopes


@jax.jit
def _stepped(
    theta: Float[Array, " p"],
    state: optax.OptState,
    mean: Float[Array, " p"],
    rate: Float[Array, ""],
) -> tuple[Float[Array, " p"], optax.OptState]:
    """Return the parameters and Adam's state after one descent step, given a mean gradient."""
    direction: Any
    direction, state = optax.scale_by_adam().update(mean, state)
    stepped: Any = optax.apply_updates(theta, -rate * direction)
    return stepped, state
