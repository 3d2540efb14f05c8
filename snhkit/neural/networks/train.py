"""Training: k networks at once, in one compiled program, on as many devices as divide the work."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from snhkit import progress
from snhkit.neural.networks.network import MLP, FeatureGrid, Params
from snhkit.neural.networks.squares import Batch, Scattered, Stored

__all__ = ["mesh_shape", "stalled", "train"]

Learned = tuple[Params, optax.OptState]

_ADAM = optax.scale_by_adam()
_STEPS_A_CALL = 25  # between two looks at the clock: progress shows, and Ctrl-C is heard


def train(
    network: MLP | FeatureGrid,
    at_nodes: NDArray,
    squares: Stored | Scattered,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    seed: int,
    held_out: Batch | None = None,
    patience: int = 1,
    watch: Callable[[int, dict[str, NDArray[np.float32]]], object] | None = None,
) -> dict[str, NDArray[np.float32]]:
    """Fit k networks of one architecture, each to its own squares, by weighted least squares.

    Parameters
    ----------
    network : Network
        The architecture.
    at_nodes : ndarray, shape (k, v, 1) or (k, v, 2)
        Noisy counts at the network's nodes, in units of the output scale, to start from.
    squares : Stored or Scattered
        What is learned.
    steps, batch : int
        Adam steps, and squares a network sees in each.
    learning_rate : float
        At the start; it falls to 0 along a cosine.
    seed : int
        Public; of the start and of the batches.
    held_out : Batch, optional
        Squares that are not learned. Their loss is looked at every 25 steps, and the parameters
        with the smallest are kept.
    patience : int
        After so many looks in a row that together bring it down by less than 1 %, training ends.
    watch : callable, optional
        Is given how many steps were made, and the parameters then: at the start and after every 25.

    Returns
    -------
    dict of ndarray
        Parameters; each with a first axis of length k.
    """
    k = len(at_nodes)
    mesh = _mesh(k, batch)
    by_network, everywhere = (
        NamedSharding(mesh, PartitionSpec(*axes)) for axes in (["networks"], [])
    )
    start, batches = jax.random.split(jax.random.key(seed))
    nodes = jax.device_put(jnp.asarray(at_nodes, jnp.float32), by_network)
    learned = _start(network, jax.random.split(start, k), nodes)
    squares = jax.device_put(squares, everywhere)
    keys = jax.random.split(batches, steps)
    rates = jnp.asarray(optax.cosine_decay_schedule(learning_rate, steps)(jnp.arange(steps)))
    run = partial(_run, network, batch, mesh)
    best: dict[str, NDArray[np.float32]] = {}
    looks: list[float] = []
    if watch is not None:
        watch(0, _on_host(learned[0]))
    with progress.steps(steps, f"training {k} networks") as advance:
        for first in range(0, steps, _STEPS_A_CALL):
            part = slice(first, first + _STEPS_A_CALL)
            learned = jax.device_put(learned, by_network)
            learned, loss = run(learned, keys[part], rates[part], squares)
            advance(len(keys[part]), loss=f"{float(loss):.2e}")
            if watch is not None:
                watch(min(part.stop, steps), _on_host(learned[0]))
            if held_out is None:
                continue
            looks.append(float(_look(network, learned[0], held_out)))
            if not looks[-1] > min(looks):
                best = _on_host(learned[0])
            if stalled(looks, patience):
                break
    return best or _on_host(learned[0])


def _on_host(params: Params) -> dict[str, NDArray[np.float32]]:
    """Copies: the next steps overwrite what is on the device."""
    return {name: np.array(value) for name, value in params.items()}


def stalled(losses: Sequence[float], patience: int) -> bool:
    """Whether the last losses are less than 1 % smaller than all before them.

    Examples
    --------
    >>> stalled([3.0, 2.0, 1.999, 1.98], patience=2), stalled([3.0, 2.0, 1.999, 1.97], patience=2)
    (True, False)
    """
    if len(losses) <= patience:
        return False
    return min(losses[-patience:]) >= 0.99 * min(losses[:-patience])


def mesh_shape(devices: int, k: int, batch: int) -> tuple[int, int]:
    """How many devices share the networks, and how many the squares of each network's batch.

    Examples
    --------
    >>> mesh_shape(8, k=4, batch=4096)
    (4, 2)
    """
    rows = math.gcd(k, devices)
    return rows, math.gcd(batch, devices // rows)


def _mesh(k: int, batch: int) -> Mesh:
    devices = jax.devices()
    rows, columns = mesh_shape(len(devices), k, batch)
    grid = np.array(devices[: rows * columns]).reshape(rows, columns)
    return Mesh(grid, ("networks", "squares"))


@partial(jax.jit, static_argnums=0)
def _start(network: MLP | FeatureGrid, keys: jax.Array, at_nodes: jax.Array) -> Learned:
    params = jax.vmap(network.init)(keys, at_nodes)
    return params, jax.vmap(_ADAM.init)(params)


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=3)
def _run(
    network: MLP | FeatureGrid,
    batch: int,
    mesh: Mesh,
    learned: Learned,
    keys: jax.Array,
    rates: jax.Array,
    squares: Stored | Scattered,
) -> tuple[Learned, jax.Array]:
    over_devices = NamedSharding(mesh, PartitionSpec("networks", "squares"))

    def update(learned: Learned, rate: jax.Array, drawn: Batch):
        params, state = learned
        value, grads = jax.value_and_grad(partial(_loss, network))(params, drawn)
        change, state = _ADAM.update(grads, state)
        return (jax.tree.map(lambda a, d: a - rate * d, params, change), state), value

    def step(learned: Learned, now: tuple[jax.Array, jax.Array]):
        key, rate = now
        drawn = jax.lax.with_sharding_constraint(squares.draw(key, batch), over_devices)
        learned, value = jax.vmap(update, (0, None, 0))(learned, rate, drawn)
        return learned, value.mean()

    learned, losses = jax.lax.scan(step, learned, (keys, rates))
    return learned, losses[-1]


@partial(jax.jit, static_argnums=0)
def _look(network: MLP | FeatureGrid, params: Params, squares: Batch) -> jax.Array:
    return jax.vmap(partial(_loss, network))(params, squares).mean()


def _loss(network: MLP | FeatureGrid, params: Params, squares: Batch) -> jax.Array:
    at, labels, weights = squares
    return jnp.mean(weights * (network.apply(params, at) - labels) ** 2)
