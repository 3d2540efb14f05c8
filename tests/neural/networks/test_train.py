import sys

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from snhkit.neural import MLP, FeatureGrid
from snhkit.neural.networks.squares import Batch, Stored
from snhkit.neural.networks.train import Learned, _look, _run, stalled, train

module = sys.modules["snhkit.neural.networks.train"]
NETWORK = MLP(depth=2, width=8)
AT = np.random.default_rng(0).uniform(0, 1, (3, 64, 2))
LABELS = np.stack([3 + 0 * AT[0, :, 0], 5 * AT[1, :, 0], 1 - AT[2, :, 1]])
WEIGHTS = np.ones_like(LABELS)
pytestmark = pytest.mark.usefixtures("hasty_compiler")


def batch_of(at, labels, weights) -> Batch:
    """Squares of the networks' own size."""
    at, labels, weights = (jnp.asarray(a, jnp.float32) for a in (at, labels, weights))
    return Batch(at, 0.1 + 0 * labels, 1 + 0 * labels, labels, weights)


def trained(labels=LABELS, weights=WEIGHTS, at=AT, k=3, **changes):
    options = {"steps": 50, "batch": 64, "learning_rate": 0.1, "seed": 1} | changes
    rates = optax.cosine_decay_schedule(options.pop("learning_rate"), options["steps"])
    squares = batch_of(at[:k], labels[:k], weights[:k])
    count = jnp.full(k, squares.labels.shape[1])
    return train(NETWORK, k, np.zeros((0, 0)), Stored(squares, count), rates=rates, **options).own


def losses(params, labels=LABELS, k=3):
    """Mean squared errors, k of them."""
    found = []
    for j in range(k):
        own = {name: jnp.asarray(a[j]) for name, a in params.items()}
        found.append(float(np.mean((NETWORK.apply(own, jnp.asarray(AT[j])) - labels[j]) ** 2)))
    return np.array(found)


@pytest.fixture(scope="module")
def three():
    return trained()


def test_each_network_learns_its_own_labels(three):
    assert {len(a) for a in three.values()} == {3}
    own, shuffled = losses(three), losses(three, LABELS[[1, 2, 0]])
    assert (own < 0.05 * shuffled).all()


def test_more_steps_less_loss(three):
    start = losses(trained(steps=1, learning_rate=1e-9))
    few = losses(trained(steps=5))
    assert (losses(three) < 0.2 * few).all()
    assert (few < start).all()


def test_networks_trained_together_are_those_trained_alone(three):
    alone = trained(k=1)
    for name, value in alone.items():
        np.testing.assert_allclose(value[0], three[name][0], rtol=1e-4, atol=1e-5)


def test_the_labels_of_one_network_are_nothing_to_the_others(three):
    other = LABELS.copy()
    other[2] += 9
    again = trained(labels=other)
    for name, value in three.items():
        assert (again[name][:2] == value[:2]).all()
    assert (again["w0"][2] != three["w0"][2]).any()


def test_what_weighs_nothing_teaches_nothing(three):
    half = np.arange(64) % 2 == 0
    spoilt = np.where(half, LABELS, -77)
    one, other = (trained(labels=labels, weights=WEIGHTS * half) for labels in (LABELS, spoilt))
    assert all((one[name] == other[name]).all() for name in one)
    assert any((one[name] != three[name]).any() for name in one)


def test_the_heavier_of_two_labels_wins():
    at = np.full((1, 2, 2), 0.5)
    params = trained(at=at, labels=np.array([[0.0, 1.0]]), weights=np.array([[1.0, 3.0]]), k=1)
    own = {name: jnp.asarray(a[0]) for name, a in params.items()}
    assert float(NETWORK.apply(own, jnp.asarray(at[0]))[0]) == pytest.approx(0.75, abs=0.02)


def test_a_seed_repeats_the_training(three):
    again, other = trained(), trained(seed=2)
    assert all((again[name] == three[name]).all() for name in three)
    assert (other["w0"] != three["w0"]).any()


def test_who_watches_sees_every_25_steps_and_changes_nothing(three):
    film = {}
    watched = trained(steps=60, watch=lambda step, now: film.__setitem__(step, now.own))
    assert list(film) == [0, 25, 50, 60]
    alone = trained(steps=60)
    for name, value in watched.items():
        assert (value == alone[name]).all()
        assert (film[60][name] == value).all()
    # Copies: a frame is not overwritten by the steps after it.
    assert (losses(film[0]) > losses(film[25])).all()
    assert (losses(film[25]) > losses(film[60])).all()


def test_batches_are_drawn_from_all_squares_and_keep_rows_together():
    params = trained(batch=16)
    assert (losses(params) < 0.05 * losses(params, LABELS[[1, 2, 0]])).all()
    repeated = trained(batch=16)
    assert all((repeated[name] == params[name]).all() for name in params)


def test_one_program_for_all_chunks_and_all_trainings_of_a_shape():
    before = _run._cache_size()
    trained(steps=100, batch=17)
    trained(steps=50, batch=17, labels=LABELS + 1, seed=4, learning_rate=0.01)
    assert _run._cache_size() == before + 1


def map_trained(start, labels, steps, rate=0.05):
    """A map of 4 by 4 cells; squares of one cell's size on every cell, told to two networks."""
    edge = (np.arange(4) + 0.5) / 4
    at = np.stack(np.meshgrid(edge, edge, indexing="ij"), -1).reshape(1, 16, 2).repeat(2, axis=0)
    squares = batch_of(at, np.tile(labels, (2, 1)), np.ones((2, 16)))
    squares = squares._replace(side=jnp.full((2, 16), 0.25, jnp.float32))
    stored, rates = Stored(squares, jnp.full(2, 16)), optax.constant_schedule(rate)
    network = FeatureGrid((2,))
    return train(network, 2, start, stored, steps=steps, batch=16, rates=rates, seed=0)


def test_the_map_is_shared_and_starts_where_it_is_told():
    start = np.random.default_rng(1).uniform(1, 9, (4, 4))
    learned = map_trained(start, np.zeros(16), steps=3, rate=1e-9)
    np.testing.assert_allclose(learned.map, start, rtol=1e-5)
    assert {len(a) for a in learned.own.values()} == {2}


def test_corrections_of_a_map_learn_a_fifth_as_fast():
    """While gradients hardly change, a step of Adam changes each parameter by the rate."""
    given = np.ones((4, 4)), np.full(16, 9.0), 3
    start, end = (map_trained(*given, rate).own for rate in (0, 1e-3))
    most = max(float(np.abs(end[name] - start[name]).max()) for name in start)
    assert most == pytest.approx(3 * 1e-3 / 5, rel=0.05)


def test_the_map_learns_the_cells_counts():
    counts = np.random.default_rng(1).uniform(1, 3, 16)
    learned = map_trained(np.full((4, 4), 2.0), counts, steps=200)
    np.testing.assert_allclose(learned.map.ravel(), counts, rtol=0.15)


def test_a_map_that_fits_its_labels_stays():
    """Rounding errors are no gradients to make steps of."""
    counts = np.random.default_rng(1).uniform(1, 3, (4, 4))
    learned = map_trained(counts, counts.ravel(), steps=100)
    np.testing.assert_allclose(learned.map, counts, rtol=0.01)


def test_it_ends_when_what_was_held_out_is_no_longer_learned_better(monkeypatch):
    """Held-out labels are the opposite. What was best is kept, repeatably."""
    looked = []
    monkeypatch.setattr(module, "_look", lambda *a: looked.append(_look(*a)) or looked[-1])
    options = {"steps": 250, "patience": 2, "held_out": batch_of(AT, -LABELS, WEIGHTS)}
    params, again = trained(**options), trained(**options)
    half = len(looked) // 2
    assert 3 <= half < 10
    assert looked[:half] == looked[half:]
    assert min(looked) < looked[-1]
    kept = Learned({n: jnp.asarray(a) for n, a in params.items()}, jnp.zeros((0, 0)))
    assert _look(NETWORK, kept, options["held_out"]) == min(looked)
    assert all((again[name] == params[name]).all() for name in params)


def test_it_does_not_end_while_what_was_held_out_is_learned_better(three):
    patient = trained(held_out=batch_of(AT, LABELS, WEIGHTS), patience=1)
    assert all((patient[name] == three[name]).all() for name in three)


def test_too_little_is_nothing():
    assert not stalled([1.0], 1)
    assert not stalled([1.0, 0.98], 1)
    assert stalled([1.0, 0.98, 0.98], 1)
    assert not stalled([1.0, 0.98, 0.98], 2)
    assert stalled([1.0, 2.0, 3.0], 2)
    assert stalled([1.0, 0.5, 0.499, 0.498], 2)
