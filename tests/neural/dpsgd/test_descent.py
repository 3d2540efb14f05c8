"""Without noise the descent learns, and its steps are those of Adam."""

import jax.numpy as jnp
import numpy as np
import pytest

from snhkit.neural import MLP
from snhkit.neural.dpsgd.dpsgd import descend
from snhkit.neural.networks.network import parameter_count
from snhkit.privacy.gradients import NoisyGradients

NETWORK = MLP(depth=3, width=16, span=2)


def test_parameters_are_counted():
    """Weights 3 x 16, 16 x 16 and 16 x 1, and 33 biases."""
    assert parameter_count(NETWORK, 3) == 48 + 256 + 16 + 33


@pytest.fixture
def hill() -> tuple[np.ndarray, np.ndarray]:
    squares = np.random.default_rng(2).uniform(size=(512, 3))
    return squares, 4 * np.exp(-8 * ((squares[:, :2] - 0.5) ** 2).sum(1))


def trained(network, hill, noise, **changes) -> tuple[dict, list[float]]:
    """The parameters after a step for each row of noise, and the losses before each step."""
    settings = {"batch": 128, "clip": 10.0, "learning_rate": 0.03, "seed": 0} | changes
    squares, labels = hill
    clip, losses = settings.pop("clip"), []
    gradients = NoisyGradients(labels, noise, batch=settings["batch"], clip=clip)

    def watch(params):
        errors = np.asarray(network.apply(params, jnp.asarray(squares, jnp.float32))) - labels
        losses.append(float((errors**2).mean()))

    steps = len(noise)
    return descend(network, squares, gradients, steps=steps, watch=watch, **settings), losses


def test_without_noise_the_loss_falls_and_with_much_it_does_not(hill):
    none = np.zeros((200, 353), np.float32)
    assert trained(NETWORK, hill, none)[1][-1] < 0.1 * hill[1].var()
    noise = np.random.default_rng(1).normal(0, 2 * 128 * 10 * 50, (200, 353)).astype(np.float32)
    assert trained(NETWORK, hill, noise)[1][-1] > hill[1].var()


def test_the_first_step_is_by_hand(hill):
    """One square, clipped to 1 in a network of one layer's depth: Adam's step has length rate."""
    network = MLP(depth=2, width=1)
    squares, labels = hill[0][:1], hill[1][:1]
    noise = np.zeros((1, parameter_count(network, 3)), np.float32)
    options = {"batch": 1, "clip": 1.0, "seed": 4}
    start, _ = trained(network, (squares, labels), noise, learning_rate=0.0, **options)
    end, loss = trained(network, (squares, labels), noise, learning_rate=0.01, **options)
    h = np.sin((2 * squares - 1) @ start["w0"] + start["b0"])
    error = (h @ start["w1"] + start["b1"])[0, 0] - labels[0]
    assert loss == pytest.approx([error**2], rel=1e-4)
    assert end["b1"] - start["b1"] == pytest.approx(-0.01 * np.sign(error), rel=1e-3)


def test_noise_moves_the_parameters_as_a_gradient_would(hill):
    """Noise that drowns all gradients: Adam's first step goes against its sign."""
    noise = np.array([[1e9, -1e9] * 176 + [1e9]], np.float32)
    options = {"batch": 8, "clip": 1.0, "seed": 0}
    start, _ = trained(NETWORK, hill, noise, learning_rate=0.0, **options)
    end, _ = trained(NETWORK, hill, noise, learning_rate=0.01, **options)
    moved = np.concatenate([(end[k] - start[k]).ravel() for k in sorted(end)])
    np.testing.assert_allclose(moved, -0.01 * np.sign(noise[0]), rtol=1e-3)
