"""Clipping bounds what any records can do, and without noise the descent learns."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from snhkit.neural import MLP
from snhkit.neural.dpsgd.descent import clipped_sum, descend
from snhkit.neural.networks.network import parameter_count

NETWORK = MLP(depth=3, width=16, span=2)
anything = arrays(np.float32, (6, 5), elements=st.floats(width=32))


def test_clipping_by_hand():
    """(6, 8) has norm 10 and becomes (3, 4); (0, 1) and (0, 0) are within 5 and stay."""
    total = clipped_sum(jnp.array([[6.0, 8.0], [0.0, 1.0], [0.0, 0.0]]), 5.0)
    np.testing.assert_allclose(total, [3, 5], rtol=1e-6)


@given(anything, anything, st.sampled_from([1e-3, 0.7, 10.0, 1e3]))
def test_whatever_the_gradients_the_sum_moves_by_twice_their_number_times_clip(one, other, clip):
    """All of them may change, to anything; not even what is not finite gets past."""
    a, b = (np.asarray(clipped_sum(jnp.asarray(g), clip), float) for g in (one, other))
    assert np.linalg.norm(a) <= 6 * clip * (1 + 1e-5)
    assert np.linalg.norm(a - b) <= 2 * 6 * clip * (1 + 1e-5)


def test_the_bound_is_reached():
    """Opposite gradients: no smaller sensitivity would do."""
    up = jnp.tile(jnp.array([[0.0, 9.0]]), (6, 1))
    difference = clipped_sum(up, 2.0) - clipped_sum(-up, 2.0)
    assert float(jnp.linalg.norm(difference)) == pytest.approx(2 * 6 * 2)


def test_parameters_are_counted():
    """Weights 3 x 16, 16 x 16 and 16 x 1, and 33 biases."""
    assert parameter_count(NETWORK, 3) == 48 + 256 + 16 + 33


@pytest.fixture
def hill() -> tuple[np.ndarray, np.ndarray]:
    squares = np.random.default_rng(2).uniform(size=(512, 3))
    return squares, 4 * np.exp(-8 * ((squares[:, :2] - 0.5) ** 2).sum(1))


def losses(hill, noise, **changes) -> np.ndarray:
    settings = {"batch": 128, "clip": 10.0, "learning_rate": 0.03, "seed": 0} | changes
    _, found = descend(NETWORK, *hill, noise, **settings)
    return found / hill[1].var()


def test_without_noise_the_loss_falls_and_with_much_it_does_not(hill):
    none = np.zeros((200, 353), np.float32)
    assert losses(hill, none)[-1] < 0.1
    noise = np.random.default_rng(1).normal(0, 2 * 128 * 10 * 50, (200, 353)).astype(np.float32)
    assert losses(hill, noise)[-1] > 1


def test_the_first_step_is_by_hand(hill):
    """One square, clipped to 1 in a network of one layer's depth: Adam's step has length rate."""
    network = MLP(depth=2, width=1)
    squares, labels = hill[0][:1], hill[1][:1]
    noise = np.zeros((1, parameter_count(network, 3)), np.float32)
    start, _ = descend(
        network, squares, labels, noise, batch=1, clip=1.0, learning_rate=0.0, seed=4
    )
    end, loss = descend(
        network, squares, labels, noise, batch=1, clip=1.0, learning_rate=0.01, seed=4
    )
    h = np.sin((2 * squares - 1) @ start["w0"] + start["b0"])
    error = (h @ start["w1"] + start["b1"])[0, 0] - labels[0]
    assert loss == pytest.approx([error**2], rel=1e-4)
    assert end["b1"] - start["b1"] == pytest.approx(-0.01 * np.sign(error), rel=1e-3)


def test_noise_moves_the_parameters_as_a_gradient_would(hill):
    """Noise that drowns all gradients: Adam's first step goes against its sign."""
    noise = np.array([[1e9, -1e9] * 176 + [1e9]], np.float32)
    squares, labels = hill
    options = {"batch": 8, "clip": 1.0, "seed": 0}
    start, _ = descend(NETWORK, squares, labels, noise, learning_rate=0.0, **options)
    end, _ = descend(NETWORK, squares, labels, noise, learning_rate=0.01, **options)
    moved = np.concatenate([(end[k] - start[k]).ravel() for k in sorted(end)])
    np.testing.assert_allclose(moved, -0.01 * np.sign(noise[0]), rtol=1e-3)
