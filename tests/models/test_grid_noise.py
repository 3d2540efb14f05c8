import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.grid_model import GridModel
from snhkit.models.variance import BlockNoise

CITY = Region.around(lat=45, lon=7, side_m=400)
SEED = st.integers(0, 2**32)


def boxes(seed: int, m: int = 12) -> RangeQueries:
    """Five with edges anywhere, and five with edges of cells."""
    rng = np.random.default_rng(seed)
    edges = np.concatenate([rng.uniform(0, 400, (5, 4)), rng.integers(0, m + 1, (5, 4)) * 400 / m])
    (x, y), (x1, y1) = np.sort(edges.reshape(10, 2, 2).T, axis=1).transpose(1, 0, 2)
    return RangeQueries(CITY, x, y, x1 - x, y1 - y)


def covered(m: int, queries: RangeQueries) -> np.ndarray:
    """The fraction of each cell that each box covers, shape (q, m * m)."""
    edges = np.arange(m) * 400 / m

    def along(low, width):
        high = np.minimum((low + width)[:, None], edges + 400 / m)
        return np.maximum(high - np.maximum(low[:, None], edges), 0) * m / 400

    x, y = along(queries.x, queries.width), along(queries.y, queries.height)
    return (x[:, :, None] * y[:, None]).reshape(len(queries), -1)


def averages(m: int, b: int) -> np.ndarray:
    return np.kron(np.eye(b), np.full((m // b, m // b), b / m))


@given(SEED)
def test_it_is_the_sum_over_pairs_of_projections(seed):
    rng = np.random.default_rng(seed)
    blocks, weights = (3, 12, 4), rng.normal(size=(3, 3))
    covariance = sum(
        w * np.kron(averages(12, b), averages(12, c))
        for b, row in zip(blocks, weights, strict=True)
        for c, w in zip(blocks, row, strict=True)
    )
    queries = boxes(seed)
    fractions = covered(12, queries)
    expected = np.einsum("qi,ij,qj->q", fractions, covariance, fractions)
    noise = BlockNoise(blocks, tuple(map(tuple, weights.tolist())))
    np.testing.assert_allclose(noise.variance(Grid(CITY, 12), queries), expected, atol=1e-9)


@settings(max_examples=40)
@given(SEED, st.sampled_from([(1, 2, 4), (1, 3, 6, 12), (3, 12), (2,), (12,)]))
def test_what_least_squares_leaves_is_exact(seed, sides):
    """Against the dense estimator, also where it assumed other variances than there are."""
    rng = np.random.default_rng(seed)
    m = sides[-1]
    assumed, variances = rng.uniform(0.1, 9, (2, len(sides)))
    rows = []
    for side in sides:
        along = np.kron(np.eye(side), np.ones(m // side))
        rows.append(np.kron(along, along))
    asked = np.concatenate(rows)
    counts = [side**2 for side in sides]
    weight, true = np.repeat(1 / assumed, counts), np.repeat(variances, counts)
    estimator = np.linalg.inv(asked.T * weight @ asked) @ (asked.T * weight)
    queries = boxes(seed, m)
    expected = (covered(m, queries) @ estimator) ** 2 @ true
    noise = BlockNoise.consistent(sides, assumed, variances)
    np.testing.assert_allclose(noise.variance(Grid(CITY, m), queries), expected, atol=1e-9)


def test_a_tree_of_two_levels_by_hand():
    """Root and quarters of variance 1.

    The whole is 0.8 root + 0.2 sum: 0.64 + 4 * 0.04. A quarter is itself and a fifth of what the
    root has above the sum: 0.64 + 3 * 0.04 + 0.04.
    """
    noise = BlockNoise.consistent([1, 2], [1, 1], [1, 1])
    queries = RangeQueries(CITY, [0, 0], [0, 0], [400, 200], [400, 200])
    np.testing.assert_allclose(noise.variance(Grid(CITY, 2), queries), [0.8, 0.8])


def test_a_grid_without_known_noise_says_nan():
    model = GridModel(Grid(CITY, 2), np.ones((2, 2)))
    assert np.isnan(model.noise_variance(boxes(0))).all()
    assert model.noise_variance(boxes(0)).shape == (10,)
    assert model.settings() == {}


class TestFile:
    noise = BlockNoise.consistent([2, 4], [1, 2], [3, 4])
    model = GridModel(Grid(CITY, 4), np.ones((4, 4)), noise)

    def test_restored_it_is_the_same(self):
        again = GridModel.restore(CITY, self.model.arrays(), self.model.settings())
        assert again.noise_model == self.noise

    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "other"},
            {"blocks": [3, 4]},
            {"blocks": [0, 4]},
            {"blocks": [-2, 4]},
            {"blocks": [2, 8]},
            {"blocks": [4]},
            {"blocks": [1] * 100_000},
            {"weights": []},
            {"weights": [[1, 2]]},
            {"weights": [[1], [2]]},
            {"weights": [[1, 2], [3, float("nan")]]},
            {"weights": [[1, 2], [3, float("inf")]]},
        ],
        ids=lambda change: str(change)[:40],
    )
    def test_what_is_wrong_is_refused(self, change):
        told = {"noise": self.model.settings()["noise"] | change}
        with pytest.raises(InputError, match="noise"):
            GridModel.restore(CITY, self.model.arrays(), told)

    def test_arrays_that_nothing_asks_for_are_refused(self):
        more = self.model.arrays() | {"more": np.ones(2)}
        for told in ({}, self.model.settings()):
            with pytest.raises(InputError, match="array"):
                GridModel.restore(CITY, more, told)
