"""DP-SGD as a builder, and the model it releases."""

import dataclasses
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load as parse

import snhkit as snh
from snhkit.errors import InputError, ReleaseFileError
from snhkit.neural import DPSGD, MLP
from snhkit.neural.dpsgd import NetworkModel, descend
from snhkit.neural.networks.network import parameter_count
from snhkit.privacy.gradients import NoisyGradients
from snhkit.progress import watched

TINY = DPSGD(network=MLP(3, 8), samples=64, steps=3, batch=16)
SIZES = (20.0, 100.0)


def data(records, **terms) -> snh.PrivateDataset:
    return snh.PrivateDataset(
        records, budget=10**15, **({"unit": "record", "n_public": True} | terms)
    )


class TestBuilder:
    def test_squares_are_described_and_labels_have_a_public_unit(self, records):
        """300 records, squares of 100 m in 400 m: 300 / 16 each, were they even."""
        builder = dataclasses.replace(TINY, sizes_m=SIZES, samples=50, seed=3)
        boxes, inputs, scale = builder.training_set(records.region, 300)
        assert scale == 300 / 16
        side = SIZES[0] + inputs[:, 2] * (SIZES[1] - SIZES[0])
        again = snh.RangeQueries.squares(records.region, inputs[:, :2] * 400, side)
        np.testing.assert_allclose(again.x, boxes.x, atol=1e-9)
        np.testing.assert_allclose(again.width, boxes.width, atol=1e-9)

    def test_with_a_huge_epsilon_it_learns_where_records_are(self, records):
        builder = DPSGD(
            sizes_m=(100, 200),
            network=MLP(3, 16),
            samples=256,
            steps=150,
            batch=64,
            learning_rate=0.03,
        )
        release = data(records).release(builder, epsilon=10**14, seed=1)
        boxes = snh.RangeQueries.sample(records.region, 500, (100, 200), seed=7)
        truth = snh.exact_counts(records, boxes)
        assert np.corrcoef(release.answer(boxes), truth)[0, 1] > 0.8

    def test_the_noise_is_the_same_for_a_person_as_for_a_record(self, records):
        """Clipping bounds each gradient, however many records change."""
        one = data(records).release(TINY, epsilon=1, seed=2)
        many = data(records, unit="user", max_per_user=300).release(TINY, epsilon=1, seed=2)
        assert all((one.model.params[k] == many.model.params[k]).all() for k in one.model.params)

    def test_delta_is_told_wherever_epsilon_is(self, records):
        books = data(records)
        for delta in ("1/3000000", "0.000002"):
            release = books.release(dataclasses.replace(TINY, delta=delta), epsilon="0.5")
        assert "(2 x 0.5), delta = 0.000002 x (1 + e^0.5), hides" in repr(release)
        assert "0.5 (delta = 0.000002) for 3 noisy sums" in repr(release)
        assert "a demonstration" in release.card()["Warning"]
        assert "Not to publish" in release._repr_html_()
        assert "and delta 7/3000000: not pure" in repr(books.ledger).splitlines()[0]
        assert books.ledger.to_frame().delta.tolist() == [float(1 / 3e6), 2e-6]

    def test_a_build_that_fails_has_spent_delta_too(self, records, monkeypatch):
        def broken(*args, **options):
            raise MemoryError

        monkeypatch.setattr("snhkit.neural.dpsgd.descend", broken)
        books = data(records)
        with pytest.raises(MemoryError):
            books.release(TINY, epsilon=1)
        assert "and delta 0.000001: not pure" in repr(books.ledger)

    def test_training_can_be_stopped_at_each_step_and_stays_paid(self, records):
        def stop(step):
            if step.done == 2:
                raise KeyboardInterrupt(step.what)

        books = data(records)
        with watched(stop), pytest.raises(KeyboardInterrupt, match="noisy gradients"):
            books.release(TINY, epsilon=1)
        (entry,) = books.ledger.entries
        assert (entry.state, entry.epsilon) == ("failed", 1)

    def test_without_the_package_nothing_is_spent(self, records, monkeypatch):
        monkeypatch.setattr("snhkit.builders.base.find_spec", lambda name: None)
        books = data(records)
        with pytest.raises(InputError, match=r"snhkit\[dpsgd\]"):
            books.release(TINY, epsilon=1)
        assert books.ledger.entries == ()

    def test_with_a_broken_package_nothing_is_spent(self, records, monkeypatch):
        def broken(name):
            raise ImportError("numpy is too old")

        monkeypatch.setattr("snhkit.builders.base.import_module", broken)
        books = data(records)
        with pytest.raises(InputError, match=r"cannot be imported \(numpy is too old\)"):
            books.release(TINY, epsilon=1)
        assert books.ledger.entries == ()

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"sizes_m": (50, 20)}, "sizes_m"),
            ({"sizes_m": (0, 20)}, "sizes_m"),
            ({"samples": 0}, "samples"),
            ({"batch": 1.5}, "batch"),
            ({"steps": 0}, "steps"),
            ({"steps": 10_001}, "at most 7,488 for this network"),
            ({"steps": 10_001, "network": MLP(2, 2)}, "at most 10,000"),
            ({"network": MLP(6, 8)}, "at most 5 layers of 256"),
            ({"network": MLP(2, 257)}, "at most 5 layers of 256"),
            ({"clip": 0}, "clip"),
            ({"clip": 1e4}, "clip"),
            ({"learning_rate": 2}, "learning_rate"),
            ({"learning_rate": float("nan")}, "learning_rate"),
            ({"delta": 0}, "delta must be"),
            ({"delta": 1}, "delta must be"),
            ({"delta": "one"}, "delta must be"),
            ({"delta": float("nan")}, "delta must be"),
            ({"seed": -1}, "seed"),
        ],
        ids=str,
    )
    @pytest.mark.usefixtures("unchecked")
    def test_what_cannot_be_is_refused(self, changes, told):
        with pytest.raises(InputError, match=told):
            DPSGD(**changes)


def model(**changes) -> NetworkModel:
    """Answers 2 (x + 2 size) in sides of the region: sin is undone by small weights."""
    params = {
        "w0": np.array([[1e-3], [0], [2e-3]], np.float32),
        "b0": np.array([3e-3], np.float32),
        "w1": np.array([[500]], np.float32),
        "b1": np.array([0], np.float32),
    }
    region = snh.Region.around(lat=45, lon=7, side_m=400)
    parts = {"region": region, "sizes_m": SIZES, "scale": 2.0, "network": MLP(2, 1)}
    return NetworkModel(**(parts | {"params": params} | changes))


class TestModel:
    @pytest.mark.parametrize(
        ("box", "count"),
        [
            ((100, 100, 60, 60), 2 * (130 / 400 + 2 * 0.5)),
            ((300, 0, 100, 100), 2 * (350 / 400 + 2)),
            ((100, 100, 10, 10), 2 * (105 / 400) * (10 / 20) ** 2),
            ((100, 100, 200, 200), 2 * (200 / 400 + 2) * 4),
            ((100, 100, 120, 30), 2 * (160 / 400 + 2 * 0.5)),
            ((-50, 100, 110, 60), 2 * (30 / 400 + 2 * 0.5)),
            ((0, 100, 5, 80), 2 * 10 / 400),
        ],
        ids=str,
    )
    def test_by_hand(self, box, count):
        """Of a size it knows; the largest; small; large; not square; cut; moved inside."""
        x, y, width, height = box
        boxes = snh.RangeQueries(model().region, [x], [y], [width], [height])
        assert model().answer(boxes)[0] == pytest.approx(count, rel=1e-4)

    def test_cells_are_of_the_largest_size_and_noise_is_unknown(self):
        assert model().cells().m == 4
        boxes = model().cells().boxes()
        assert np.isnan(model().noise_variance(boxes)).tolist() == [True] * 16

    def test_one_size_only(self):
        same = model(sizes_m=(50.0, 50.0))
        boxes = snh.RangeQueries(same.region, [100], [100], [60], [60])
        assert same.answer(boxes)[0] == pytest.approx(2 * 130 / 400 * 1.44, rel=1e-4)


@pytest.fixture(scope="module")
def whole(records) -> bytes:
    return data(records).release(TINY, epsilon=1).to_bytes()


class TestDistrust:
    @pytest.fixture
    def file(self, whole, altered):
        return partial(altered, whole)

    def test_the_file_itself_is_good(self, file):
        assert snh.load(file()).delta == Fraction(1, 10**6)

    @pytest.mark.parametrize(
        "settings",
        [
            {"sizes_m": [30]},
            {"sizes_m": [0, 30]},
            {"sizes_m": [30, 401]},
            {"sizes_m": [30, 20]},
            {"sizes_m": [1e-3, 1e-3]},
            {"sizes_m": [30, float("nan")]},
            {"scale": 0},
            {"scale": float("inf")},
            {"network": {"name": "mlp"}},
            {"network": {"name": "mlp", "depth": 100, "width": 4096}},
            {"network": {"name": "mlp", "depth": 3, "width": 9}},
            {"network": {"name": "feature-grid"}},
            {"network": None},
        ],
        ids=str,
    )
    def test_settings(self, file, settings):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            snh.load(file(settings))

    @pytest.mark.parametrize(
        "arrays",
        [
            {"w3": np.zeros((8, 1), np.float32)},
            {"w0": np.zeros((2, 8), np.float32)},
            {"w0": np.zeros((3, 8), np.float64)},
            {"w0": np.full((3, 8), 1e6, np.float32)},
            {"w0": np.full((3, 8), np.nan, np.float32)},
        ],
        ids=lambda a: str({k: (v.shape, v.dtype, v.flat[0]) for k, v in a.items()}),
    )
    def test_arrays(self, file, arrays):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            snh.load(file(arrays=arrays))

    def test_a_missing_array(self, file):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            snh.load(file(drop=("w0",)))

    @pytest.mark.parametrize("delta", ["1", "-1", "1e-999999999", 0.1, None, "1/0", "0.1"])
    def test_delta(self, file, delta):
        spends = [["1", "noisy gradients", "sequential", delta]]
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            snh.load(file(spends=spends))

    def test_the_largest_weights_still_answer(self, file):
        arrays = {k: np.sign(a) * np.float32(1e5) for k, a in parse(file().read_bytes()).items()}
        release = snh.load(file(arrays=arrays))
        assert np.isfinite(release.answer(release.model.cells().boxes())).all()


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
    inputs, answered = jnp.asarray(squares, jnp.float32), jax.jit(network.apply)
    gradients = NoisyGradients(labels, noise, batch=settings["batch"], clip=clip)

    def watch(params):
        errors = np.asarray(answered(params, inputs)) - labels
        losses.append(float((errors**2).mean()))

    steps = len(noise)
    return descend(network, squares, gradients, steps=steps, watch=watch, **settings), losses


def test_without_noise_the_loss_falls_and_with_much_it_does_not(hill):
    none = np.zeros((100, 353), np.float32)
    assert trained(NETWORK, hill, none, learning_rate=0.05)[1][-1] < 0.1 * hill[1].var()
    noise = np.random.default_rng(1).normal(0, 2 * 128 * 10 * 50, (40, 353)).astype(np.float32)
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
