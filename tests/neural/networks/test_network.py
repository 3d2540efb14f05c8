import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from snhkit.errors import InputError
from snhkit.neural import MLP, FeatureGrid, Networks
from snhkit.neural.networks.network import network_from, network_settings, parameter_count

KEY = jax.random.key(0)
AT = jnp.asarray(np.random.default_rng(1).uniform(0, 1, (50, 2)), jnp.float32)
GRID = FeatureGrid((3, 5), features=2, hidden=4)
networks = pytest.mark.parametrize("network", [GRID, MLP(2, 8), MLP(4, 5)])
pytestmark = pytest.mark.usefixtures("hasty_compiler")


def started(network, inputs=2):
    return network.init(KEY, inputs)


@networks
def test_one_count_a_place(network):
    counts = network.apply(started(network), AT)
    assert counts.shape == (50,)
    assert np.isfinite(counts).all()


@networks
def test_one_that_is_told_sizes_uses_them(network):
    rng = np.random.default_rng(2)
    shapes = started(network, 3)
    params = {k: jnp.asarray(rng.normal(0, 1, a.shape), jnp.float32) for k, a in shapes.items()}
    small, large = (
        network.apply(params, jnp.column_stack([AT, jnp.full(50, size, jnp.float32)]))
        for size in (0, 1)
    )
    assert small.shape == (50,)
    assert np.abs(small - large).max() > 0.05


@networks
def test_a_network_is_counted_without_making_it(network):
    assert parameter_count(network, 3) == sum(a.size for a in started(network, 3).values())


@networks
def test_a_network_survives_json(network):
    assert network_from(json.loads(json.dumps(network_settings(network)))) == network


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "os.system"},
        {"name": "mlp", "depth": 1},
        {"name": "mlp", "depth": 101},
        {"name": "mlp", "width": 2.5},
        {"name": "mlp", "width": True},
        {"name": "mlp", "span": 0},
        {"name": "mlp", "span": 1e7},
        {"name": "mlp", "span": "60"},
        {"name": "feature-grid", "levels": []},
        {"name": "feature-grid", "levels": [64] * 17},
        {"name": "feature-grid", "levels": [4_097]},
        {"name": "feature-grid", "features": 65},
        {"name": "feature-grid", "hidden": "16"},
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_impossible_networks_are_refused(settings):
    with pytest.raises(InputError):
        network_from(settings)


class TestFeatureGrid:
    def test_it_corrects_nothing_at_first(self):
        assert not GRID.apply(started(GRID), AT).any()

    def test_its_features_matter(self):
        """The whole by hand, from features interpolated by scipy."""
        rng = np.random.default_rng(5)
        params = {k: rng.normal(0, 1, a.shape) for k, a in started(GRID).items()}

        def features(name, level):
            edge = np.linspace(0, 1, level + 1)
            table = params[name].reshape(level + 1, level + 1, -1)
            return RegularGridInterpolator((edge, edge), table)(AT)

        z = np.concatenate([features("grid0", 3), features("grid1", 5)], 1)
        z = z @ params["w0"] + params["b0"]
        expected = (z / (1 + np.exp(-z)) @ params["w1"])[:, 0]
        got = GRID.apply({k: jnp.asarray(a, jnp.float32) for k, a in params.items()}, AT)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


class TestMLP:
    def test_the_papers_has_20_swish_layers_of_80(self):
        """Sec. 6.1; 129,921 numbers, in 32 bits and for k = 8 the paper's 4.06 MB of 1,024,000."""
        network = Networks.paper().network
        assert network == MLP(depth=22, width=80)
        shapes = jax.eval_shape(lambda key: network.init(key, 2), KEY)
        assert shapes["w0"].shape == (2, 80)
        assert all(shapes[f"w{i}"].shape == (80, 80) for i in range(1, 21))
        assert shapes["w21"].shape == (80, 1)
        count = parameter_count(network, 2)
        assert count == 2 * 80 + 80 + 20 * (80 * 80 + 80) + 81
        assert round(8 * 4 * count / 1_024_000, 2) == 4.06

    def test_first_sin_then_swish_last_linear(self):
        rng = np.random.default_rng(6)
        network = MLP(depth=4, width=5, span=7)
        p = {k: rng.normal(0, 1, a.shape) for k, a in started(network).items()}
        h = np.sin((np.asarray(AT, float) - 0.5) * 7 @ p["w0"] + p["b0"])
        for i in (1, 2):
            z = h @ p[f"w{i}"] + p[f"b{i}"]
            h = z / (1 + np.exp(-z))
        expected = (h @ p["w3"] + p["b3"])[:, 0]
        got = network.apply({k: jnp.asarray(a, jnp.float32) for k, a in p.items()}, AT)
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)

    def test_the_span_follows_the_region(self):
        """One unit for each 220 m, unless a span is given."""
        assert MLP().bound(13_200).span == 60
        assert MLP().bound(2_200).span == 10
        assert MLP(span=5).bound(13_200).span == 5

    def test_weights_start_he_uniform(self):
        """Within sqrt(6 / fan-in), with variance 2 / fan-in; 6 standard errors, p < 1e-8."""
        params = started(MLP(depth=3, width=64))
        weights = np.asarray(params["w1"], float)
        most = np.sqrt(6 / 64)
        assert 0.99 * most < np.abs(weights).max() <= most
        # The fourth moment of a uniform distribution is 9 / 5 of the variance squared.
        assert abs(weights.var() * 32 - 1) < 6 * np.sqrt(0.8 / 4_096)
        assert not params["b0"].any()

    def test_signals_survive_the_papers_depth(self):
        """Measured: 0.0018; it is 2e-6 where weights have half the variance."""
        network = MLP().bound(13_200)
        assert np.std(network.apply(started(network), AT)) > 1e-3


def test_the_papers_preset():
    paper = Networks.paper(k=3)
    assert (paper.k, paper.positions, paper.workload_floor) == (3, "aligned", 0)
    assert (paper.steps, paper.batch, paper.learning_rate) == (10_000, 150_000, 0.001)
    assert (paper.schedule, paper.output_scale, paper.clip_labels) == ("constant", 1, True)
