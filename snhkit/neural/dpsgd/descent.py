"""Gradient descent in which every gradient is clipped and noisy (Abadi et al. 2016)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Float32, Float64, Int, Key

from snhkit import progress
from snhkit.neural.networks.mlp import MLP
from snhkit.neural.networks.network import Params
from snhkit.privacy import NoisyGradients

__all__ = ["descend"]


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

    The exact counts that the network is to learn are private, and only ``gradients`` holds them.
    Adam is used because its steps do not grow with the noise in the gradients; plain gradient
    descent would diverge.

    Parameters
    ----------
    network : MLP
        The architecture.
    squares : ndarray, shape (t, i)
        The network's i inputs for each of t training squares, in [0, 1].
    gradients : NoisyGradients
        The object that returns noisy sums of clipped gradients.
    steps : int
        The number of steps.
    batch : int
        The number of squares drawn for each step: the size of the paper's set S.
    learning_rate : float
        The learning rate of Adam.
    seed : int
        The public seed of the initial parameters and of the batches.
    watch : callable, optional
        A function that is called with the parameters before each step.

    Returns
    -------
    dict of ndarray
        The trained parameters, computed from noisy gradients and public values only.
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
