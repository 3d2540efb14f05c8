"""Gradient descent whose every gradient is clipped and noisy (Abadi et al. 2016)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Float32, Float64, Key

from snhkit.neural.networks.mlp import MLP
from snhkit.neural.networks.network import Params
from snhkit.privacy import noisy_gradient

__all__ = ["clipped_sum", "descend"]


def clipped_sum(
    gradients: Float[Array, "s p"], clip: float | Float[Array, ""]
) -> Float[Array, " p"]:
    """Return the sum, shape (p,), of gradients, shape (s, p), each cut to an L2 norm of ``clip``.

    Whatever one unit of privacy changes, each term moves by at most 2 ``clip``, and the sum
    therefore by at most 2 s ``clip``.

    Examples
    --------
    >>> print(clipped_sum(jnp.array([[6.0, 8.0], [0.0, 1.0]]), clip=5.0))
    [3. 5.]
    """
    norms = jnp.linalg.norm(gradients, axis=1, keepdims=True)
    # Not min(1, clip / norm): that has no value for a norm of 0.
    cut = gradients * (clip / jnp.maximum(norms, clip))
    return jnp.where(jnp.isfinite(norms), cut, 0).sum(axis=0)


def descend(
    network: MLP,
    squares: Float64[np.ndarray, "t i"],
    labels: Float64[np.ndarray, " t"],
    noise: Float[np.ndarray, "steps p"],
    *,
    batch: int,
    clip: float,
    learning_rate: float,
    seed: int,
) -> tuple[dict[str, Float32[np.ndarray, "..."]], Float32[np.ndarray, " steps"]]:
    """Train a network by noisy gradient descent, and return its parameters and losses.

    The gradients are clipped, summed, made noisy and averaged. Adam turns them into steps whose
    length does not grow with the noise; plain descent would be thrown out of all bounds by it.

    Parameters
    ----------
    network : MLP
        The architecture.
    squares : ndarray, shape (t, i)
        The network's inputs for each training square, in [0, 1].
    labels : ndarray, shape (t,)
        The squares' counts, in units of the output scale.
    noise : ndarray, shape (steps, p)
        Noise that is added to the sums, in units of the gradient.
    batch : int
        Squares drawn for each step: the paper's abs(S).
    clip : float
        The L2 norm B that each square's gradient is cut to.
    learning_rate : float
        Adam's learning rate.
    seed : int
        Public seed of the initial parameters and of the batches.

    Returns
    -------
    params : dict of ndarray
        The trained parameters, which are as private as ``noise`` makes them.
    losses : ndarray, shape (steps,)
        The mean squared error over all the squares before each step. They are computed from the
        labels without noise: for public or synthetic labels only.
    """
    params, losses = _run(
        noisy_gradient,
        network,
        batch,
        jax.random.key(seed),
        *(jnp.asarray(a, jnp.float32) for a in (squares, labels, noise, clip, learning_rate)),
    )
    return {name: np.asarray(value) for name, value in params.items()}, np.asarray(losses)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _run(
    made_noisy: Callable,
    network: MLP,
    batch: int,
    key: Key[Array, ""],
    squares: Float[Array, "t i"],
    labels: Float[Array, " t"],
    noise: Float[Array, "steps p"],
    clip: Float[Array, ""],
    rate: Float[Array, ""],
) -> tuple[Params, Float[Array, " steps"]]:
    first, batches = jax.random.split(key)
    start, unravel = ravel_pytree(network.init(first, squares.shape[1]))
    adam = optax.scale_by_adam()

    def predict(theta: Float[Array, " p"], x: Float[Array, "b i"]) -> Float[Array, " b"]:
        return network.apply(unravel(theta), x)

    def loss(
        theta: Float[Array, " p"], x: Float[Array, " i"], y: Float[Array, ""]
    ) -> Float[Array, ""]:
        return (predict(theta, x[None])[0] - y) ** 2

    def step(carry: tuple[jax.Array, optax.OptState], now: tuple[jax.Array, jax.Array]):
        theta, state = carry
        key, row = now
        drawn = jax.random.randint(key, (batch,), 0, len(labels))
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(theta, squares[drawn], labels[drawn])
        mean = made_noisy(clipped_sum(gradients, clip), row) / batch
        direction: Any
        direction, state = adam.update(mean, state)
        whole = jnp.mean((predict(theta, squares) - labels) ** 2)
        stepped: Any = optax.apply_updates(theta, -rate * direction)
        return (stepped, state), whole

    keys = jax.random.split(batches, len(noise))
    (theta, _), losses = jax.lax.scan(step, (start, adam.init(start)), (keys, noise))
    return unravel(theta), losses
