"""Training of k networks at once, in one compiled program, on one or several devices."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Key

from snhkit import progress
from snhkit.neural.networks.feature_grid import FeatureGrid
from snhkit.neural.networks.mlp import MLP
from snhkit.neural.networks.network import Params
from snhkit.neural.networks.squares import Batch, Scattered, Stored, summed_area, table_sums

_ADAM = optax.scale_by_adam()
# The map starts from the smoothed noisy counts. Where few queries are expected, weights and
# gradients are small, and the map should stay smooth. With this large epsilon, Adam does not turn
# small gradients into full steps, which would put the noise of empty land back into the map.
_ADAM_OF_MAPS = optax.scale_by_adam(eps=1e-3)
_OWN_SHARE = 0.2  # factor of the learning rate of corrections, which are small
_STEPS_A_CALL = 25  # steps per compiled call, between which progress and Ctrl-C are handled


class Learned(NamedTuple):
    """The parameters that are trained: the k networks' own, and the map that they share, if any."""

    own: Params
    map: Float[Array, "m m"]


def train(
    network: MLP | FeatureGrid,
    k: int,
    start_map: Float[np.ndarray, "m m"],
    squares: Stored | Scattered,
    *,
    steps: int,
    batch: int,
    rates: optax.Schedule,
    seed: int,
    held_out: Batch | None = None,
    patience: int = 1,
    watch: Callable[[int, Learned], object] | None = None,
) -> Learned:
    """Train k networks of one architecture, each on its own squares, by weighted least squares.

    Every 25 steps, ``watch`` is called and the loss on ``held_out`` measured; training ends when
    that fell by less than 1 % over ``patience`` measurements, and its best parameters are returned.
    """
    mesh = _mesh(k, batch)
    everywhere = NamedSharding(mesh, PartitionSpec())
    by_network = NamedSharding(mesh, PartitionSpec("networks"))
    start, batches = jax.random.split(jax.random.key(seed))
    inputs = 3 if isinstance(squares, Scattered) and squares.sized else 2
    if isinstance(squares, Stored):
        inputs = squares.squares.at.shape[-1]
    learned, state = _start(
        network, inputs, jax.random.split(start, k), jnp.asarray(start_map, jnp.float32)
    )
    squares = jax.device_put(squares, everywhere)
    keys = jax.random.split(batches, steps)
    by_step = jnp.broadcast_to(jnp.asarray(rates(jnp.arange(steps)), jnp.float32), (steps,))
    run = partial(_run, network, batch, mesh)
    best: Learned | None = None
    looks: list[float] = []
    if watch is not None:
        watch(0, _on_host(learned))
    with progress.steps(steps, f"training {k} networks") as advance:
        for first in range(0, steps, _STEPS_A_CALL):
            part = slice(first, first + _STEPS_A_CALL)
            learned, state = _placed((learned, state), by_network, everywhere)
            learned, state, loss = run(learned, state, keys[part], by_step[part], squares)
            advance(len(keys[part]), loss=f"{float(loss):.2e}")
            if watch is not None:
                watch(min(part.stop, steps), _on_host(learned))
            if held_out is None:
                continue
            looks.append(float(_look(network, learned, held_out)))
            if not looks[-1] > min(looks):
                best = _on_host(learned)
            if stalled(looks, patience):
                break
    return best or _on_host(learned)


def _placed(
    trained: tuple[Learned, optax.OptState], by_network: NamedSharding, everywhere: NamedSharding
) -> tuple[Learned, optax.OptState]:
    """Return parameters and Adam's state, placed so that the devices share the networks."""

    def put(part: Any) -> Any:
        if not isinstance(part, Learned):
            return jax.device_put(part, everywhere)
        return Learned(jax.device_put(part.own, by_network), jax.device_put(part.map, everywhere))

    return jax.tree.map(put, trained, is_leaf=lambda part: isinstance(part, Learned))


def _on_host(learned: Learned) -> Learned:
    """Return copies of the parameters in main memory, which later training steps do not change."""
    return jax.tree.map(np.array, learned)


def stalled(losses: Sequence[float], patience: int) -> bool:
    """Return whether the last ``patience`` losses improve on all earlier ones by less than 1 %."""
    if len(losses) <= patience:
        return False
    return min(losses[-patience:]) >= 0.99 * min(losses[:-patience])


def mesh_shape(devices: int, k: int, batch: int) -> tuple[int, int]:
    """Return into how many parts networks and batches are divided among devices."""
    rows = math.gcd(k, devices)
    return rows, math.gcd(batch, devices // rows)


def _mesh(k: int, batch: int) -> Mesh:
    devices = jax.devices()
    rows, columns = mesh_shape(len(devices), k, batch)
    grid = np.array(devices[: rows * columns]).reshape(rows, columns)
    return Mesh(grid, ("networks", "squares"))


def _adam(network: MLP | FeatureGrid) -> optax.GradientTransformation:
    return _ADAM_OF_MAPS if network.has_map else _ADAM


@partial(jax.jit, static_argnums=(0, 1))
def _start(
    network: MLP | FeatureGrid, inputs: int, keys: Key[Array, " k"], start_map: Float[Array, "m m"]
) -> tuple[Learned, optax.OptState]:
    """Return the initial parameters of all networks and of the map that they share."""
    learned = Learned(jax.vmap(partial(network.init, inputs=inputs))(keys), start_map)
    return learned, _adam(network).init(learned)


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=(3, 4))
def _run(
    network: MLP | FeatureGrid,
    batch: int,
    mesh: Mesh,
    learned: Learned,
    state: optax.OptState,
    keys: Key[Array, " s"],
    rates: Float[Array, " s"],
    squares: Stored | Scattered,
) -> tuple[Learned, optax.OptState, Float[Array, ""]]:
    over_devices = NamedSharding(mesh, PartitionSpec("networks", "squares"))

    def step(carry: tuple[Learned, optax.OptState], now: tuple[jax.Array, jax.Array]):
        learned, state = carry
        key, rate = now
        drawn = jax.lax.with_sharding_constraint(squares.draw(key, batch), over_devices)
        losses, grads = jax.value_and_grad(partial(_loss, network))(learned, drawn)
        direction: Any
        direction, state = _adam(network).update(grads, state)
        own = rate * (_OWN_SHARE if network.has_map else 1.0)
        change = Learned(jax.tree.map(lambda d: -own * d, direction.own), -rate * direction.map)
        stepped: Any = optax.apply_updates(learned, change)
        return (stepped, state), losses

    (learned, state), losses = jax.lax.scan(step, (learned, state), (keys, rates))
    return learned, state, losses[-1]


@partial(jax.jit, static_argnums=0)
def _look(network: MLP | FeatureGrid, learned: Learned, squares: Batch) -> Float[Array, ""]:
    return _loss(network, learned, squares)


def _loss(network: MLP | FeatureGrid, learned: Learned, squares: Batch) -> Float[Array, ""]:
    """Return the sum of the k networks' losses, each of which only its own network changes."""
    said = jax.vmap(network.apply)(learned.own, squares.at)
    if network.has_map:
        table = summed_area(learned.map)
        corner = squares.at[..., :2] - squares.side[..., None] / 2
        counts = table_sums(table, corner, squares.side) * (1 + said)
    else:
        counts = squares.area * said
    return jnp.mean(squares.weights * (counts - squares.labels) ** 2, axis=1).sum()
