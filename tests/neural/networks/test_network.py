import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from snhkit.errors import InputError
from snhkit.neural import MLP, FeatureGrid, Networks
from snhkit.neural.networks.network import network_from, network_settings

KEY = jax.random.key(0)
AT = np.random.default_rng(1).uniform(0, 1, (50, 2)).astype(np.float32)
GRID = FeatureGrid((3, 5), fine=6, features=2, hidden=4)
networks = pytest.mark.parametrize("network", [GRID, MLP(2, 8), MLP(4, 5)])
pytestmark = pytest.mark.usefixtures("hasty_compiler")


@networks
def test_one_count_a_place(network):
    params = network.init(KEY, jnp.ones((network.node_count, 1)))
    counts = network.apply(params, AT)
    assert counts.shape == (50,)
    assert np.isfinite(counts).all()


@networks
def test_one_that_is_told_sizes_uses_them(network):
    """At the ends a feature grid starts from the counts of the smallest and the largest size."""
    nodes = np.repeat([[2.0, 6.0]], network.node_count, axis=0)
    params = network.init(KEY, jnp.asarray(nodes))
    small, middle, large = (
        network.apply(params, np.column_stack([AT, np.full(50, size, np.float32)]))
        for size in (0, 0.5, 1)
    )
    assert small.shape == (50,)
    assert np.abs(small - large).max() > 0.05
    if isinstance(network, FeatureGrid):
        np.testing.assert_allclose(small, 2, atol=0.2)
        np.testing.assert_allclose(middle, 4, atol=0.2)
        np.testing.assert_allclose(large, 6, atol=0.2)


@networks
def test_the_number_of_nodes_is_known_without_making_them(network):
    assert network.nodes().shape == (network.node_count, 2)
    assert ((network.nodes() >= 0) & (network.nodes() <= 1)).all()


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
        {"name": "feature-grid", "levels": []},
        {"name": "feature-grid", "levels": [64] * 17},
        {"name": "feature-grid", "levels": [4_097]},
        {"name": "feature-grid", "fine": 0},
        {"name": "feature-grid", "features": 65},
        {"name": "feature-grid", "hidden": "16"},
    ],
)
def test_impossible_networks_are_refused(settings):
    with pytest.raises(InputError):
        network_from(settings)


class TestFeatureGrid:
    def test_it_starts_from_the_counts_at_its_nodes(self):
        """But for the nearly flat features: they move it by 0.0025 at most here."""
        counts = np.random.default_rng(2).uniform(0.05, 30, GRID.node_count)
        params = GRID.init(KEY, jnp.asarray(counts[:, None], jnp.float32))
        np.testing.assert_allclose(GRID.apply(params, GRID.nodes()), counts, atol=0.01)

    def test_it_starts_from_nearly_0_where_noise_made_counts_negative(self):
        params = GRID.init(KEY, jnp.full((GRID.node_count, 1), -50.0))
        np.testing.assert_allclose(GRID.apply(params, AT), 0.05, atol=0.01)

    def test_it_is_never_negative(self):
        shapes = GRID.init(KEY, jnp.ones((GRID.node_count, 1)))
        rng = np.random.default_rng(3)
        params = {k: rng.normal(0, 100, a.shape).astype(np.float32) for k, a in shapes.items()}
        counts = GRID.apply(params, AT)
        assert (counts >= 0).all()
        assert (counts == 0).any()

    def test_between_nodes_it_interpolates(self):
        """Against scipy's, in the room before softplus."""
        table = np.random.default_rng(4).normal(3, 1, (7, 7)).astype(np.float32)
        params = GRID.init(KEY, jnp.ones((GRID.node_count, 1)))
        params |= {"w1": jnp.zeros((4, 1)), "fine": table.reshape(-1, 1)}
        edge = np.linspace(0, 1, 7)
        at = np.concatenate([AT, [[0, 0], [1, 1], [0, 0.99], [0.5, 1]]]).astype(np.float32)
        expected = np.logaddexp(0, RegularGridInterpolator((edge, edge), table)(at))
        np.testing.assert_allclose(GRID.apply(params, at), expected, rtol=1e-5)

    def test_its_features_matter(self):
        """The whole by hand, from features interpolated by scipy."""
        rng = np.random.default_rng(5)
        start = GRID.init(KEY, jnp.ones((GRID.node_count, 1)))
        params = {k: rng.normal(0, 1, a.shape) for k, a in start.items()}

        def features(name, level):
            edge = np.linspace(0, 1, level + 1)
            table = params[name].reshape(level + 1, level + 1, -1)
            return RegularGridInterpolator((edge, edge), table)(AT)

        z = np.concatenate([features("grid0", 3), features("grid1", 5)], 1)
        z = z @ params["w0"] + params["b0"]
        h = z / (1 + np.exp(-z)) @ params["w1"]
        expected = np.logaddexp(0, h + features("fine", 6))[:, 0]
        got = GRID.apply({k: jnp.asarray(a, jnp.float32) for k, a in params.items()}, AT)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


class TestMLP:
    def test_the_papers_is_20_layers_of_80(self):
        """Sec. 6.1; 116,721 parameters: 3 * 80 + 18 * 80 * 81 + 81 less biases, by hand."""
        network = Networks.paper().network
        assert network == MLP(depth=20, width=80)
        shapes = jax.eval_shape(network.init, KEY, jax.ShapeDtypeStruct((0, 1), np.float32))
        assert shapes["w0"].shape == (2, 80)
        assert all(shapes[f"w{i}"].shape == (80, 80) for i in range(1, 19))
        assert shapes["w19"].shape == (80, 1)
        assert sum(a.size for a in shapes.values()) == 2 * 80 + 80 + 18 * (80 * 80 + 80) + 81

    def test_first_sin_then_swish_last_linear(self):
        rng = np.random.default_rng(6)
        network = MLP(depth=4, width=5)
        start = network.init(KEY, jnp.zeros((0, 1)))
        p = {k: rng.normal(0, 1, a.shape) for k, a in start.items()}
        h = np.sin((2 * AT - 1) @ p["w0"] + p["b0"])
        for i in (1, 2):
            z = h @ p[f"w{i}"] + p[f"b{i}"]
            h = z / (1 + np.exp(-z))
        expected = (h @ p["w3"] + p["b3"])[:, 0]
        got = network.apply({k: jnp.asarray(a, jnp.float32) for k, a in p.items()}, AT)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)

    def test_weights_start_lecun_normal(self):
        """Variance 1 / fan-in; 4,096 normal numbers err by 6 standard errors with p < 1e-8."""
        params = MLP(depth=3, width=64).init(KEY, jnp.zeros((0, 1)))
        variance = np.var(params["w1"]) * 64
        assert abs(variance - 1) < 6 * np.sqrt(2 / 4_096)
        assert not params["b0"].any()


def test_the_papers_preset():
    paper = Networks.paper(k=3)
    assert (paper.k, paper.positions, paper.workload_floor) == (3, "aligned", 0)
    assert (paper.steps, paper.batch, paper.learning_rate) == (10_000, 150_000, 0.001)
    assert paper.clip_labels
