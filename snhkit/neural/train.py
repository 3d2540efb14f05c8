"""Training: k networks at once, in one compiled program."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray
from tqdm.auto import tqdm

from snhkit.neural.network import MLP, FeatureGrid, Params

__all__ = ["train"]

_ADAM = optax.scale_by_adam()
_STEPS_A_CALL = 25  # between two looks at the clock: progress shows, and Ctrl-C is heard


def train(
    network: MLP | FeatureGrid,
    at_nodes: NDArray,
    at: NDArray,
    labels: NDArray,
    weights: NDArray,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    seed: int,
) -> dict[str, NDArray[np.float32]]:
    """Fit k networks of one architecture, each to its own squares, by weighted least squares.

    Parameters
    ----------
    network : Network
        The architecture.
    at_nodes : ndarray, shape (k, v)
        Noisy counts at the network's nodes, in units of the output scale, to start from.
    at : ndarray, shape (k, t, 2)
        Centres of the training squares in [0, 1).
    labels : ndarray, shape (k, t)
        Counts in units of the output scale.
    weights : ndarray, shape (k, t)
        Of the squared errors.
    steps, batch : int
        Adam steps, and squares a network sees in each; all of them if ``batch`` is as many.
    learning_rate : float
        At the start; it falls to 0 along a cosine.
    seed : int
        Public; of the start and of the batches.

    Returns
    -------
    dict of ndarray
        Parameters; each with a first axis of length k.
    """
    k, count = labels.shape
    start, batches = jax.random.split(jax.random.key(seed))
    keys = jax.random.split(start, k)
    params = jax.vmap(network.init)(keys, jnp.asarray(at_nodes, jnp.float32))
    state = jax.vmap(_ADAM.init)(params)
    data = tuple(jnp.asarray(a, jnp.float32) for a in (at, labels, weights))
    keys = jax.random.split(batches, steps)
    rates = jnp.asarray(optax.cosine_decay_schedule(learning_rate, steps)(jnp.arange(steps)))
    run = partial(_run, network, min(batch, count))
    with tqdm(total=steps, desc=f"training {k} networks", unit="step", leave=False) as bar:
        for first in range(0, steps, _STEPS_A_CALL):
            part = slice(first, first + _STEPS_A_CALL)
            params, state, loss = run(params, state, keys[part], rates[part], *data)
            bar.set_postfix(loss=f"{float(loss):.2e}", refresh=False)
            bar.update(len(keys[part]))
    return {name: np.asarray(value) for name, value in params.items()}


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2, 3))
def _run(
    network: MLP | FeatureGrid,
    batch: int,
    params: Params,
    state: optax.OptState,
    keys: jax.Array,
    rates: jax.Array,
    at: jax.Array,
    labels: jax.Array,
    weights: jax.Array,
) -> tuple[Params, optax.OptState, jax.Array]:
    k, count = labels.shape

    def loss(p: Params, x: jax.Array, y: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.mean(w * (network.apply(p, x) - y) ** 2)

    def step(carry: tuple[Params, optax.OptState], now: tuple[jax.Array, jax.Array]):
        params, state = carry
        key, rate = now

        def update(p: Params, s: optax.OptState, x: jax.Array, y: jax.Array, w: jax.Array):
            value, grads = jax.value_and_grad(loss)(p, x, y, w)
            change, s = _ADAM.update(grads, s)
            return jax.tree.map(lambda a, d: a - rate * d, p, change), s, value

        if batch < count:
            rows = jax.random.randint(key, (k, batch), 0, count)
            x, y, w = (jax.vmap(lambda a, i: a[i])(a, rows) for a in (at, labels, weights))
        else:
            x, y, w = at, labels, weights
        params, state, value = jax.vmap(update)(params, state, x, y, w)
        return (params, state), value.mean()

    (params, state), losses = jax.lax.scan(step, (params, state), (keys, rates))
    return params, state, losses[-1]
