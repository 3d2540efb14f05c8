from fractions import Fraction

import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit.builders.adaptive import consistent, consistent_noise
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries, Region
from snhkit.models import variance
from snhkit.models.grid_model import GridModel
from snhkit.models.partition_model import PartitionModel
from snhkit.models.variance import (
    AxisNoise,
    BlockNoise,
    CellNoise,
    fractions,
    spans,
    squared_fractions,
)

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


def test_a_grid_without_known_noise_says_nan():
    model = GridModel(Grid(CITY, 2), np.ones((2, 2)))
    assert np.isnan(model.noise_variance(boxes(0))).all()
    assert model.noise_variance(boxes(0)).shape == (10,)
    assert model.settings() == {}


def test_a_variance_is_never_negative():
    """As rounding, or the weights of a file, may make it."""
    model = GridModel(Grid(CITY, 2), np.ones((2, 2)), BlockNoise((1, 2), ((-1.0, 0.0), (0.0, 0.5))))
    found = model.noise_variance(RangeQueries(CITY, [0, 0], [0, 0], [400, 200], [400, 200]))
    assert found.tolist() == [0, pytest.approx(0.25)]


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
            {"weights": [[1, 2], [3]]},
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


GRID = Grid(CITY, 8)


@given(st.integers(0, 2**32))
def test_it_is_the_dense_quadratic_form(seed):
    rng = np.random.default_rng(seed)
    low, size = rng.uniform(-100, 400, (2, 10)), rng.uniform(0, 500, (2, 10))
    factor = rng.normal(size=(8, 8))
    factor = factor @ factor.T
    edges = np.arange(8) * 50
    x, y = (
        (np.clip(a + b - edges[:, None], 0, 50) - np.clip(a - edges[:, None], 0, 50)) / 50
        for a, b in zip(low, size, strict=True)
    )
    covered = np.einsum("iq,jq->qij", x, y).reshape(10, 64)
    expected = np.einsum("qi,ij,qj->q", covered, np.kron(factor, factor), covered)
    queries = RangeQueries(CITY, *low, *size)
    np.testing.assert_allclose(
        AxisNoise(GRID, factor).variance(GRID, queries), expected, rtol=1e-9, atol=1e-9
    )


def test_a_box_of_no_area_has_no_noise():
    factor = np.linalg.inv(np.eye(8) + np.full((8, 8), 0.3))
    empty = RangeQueries(CITY, [33, 33, 0], [77, 0, 50], [0, 400, 0], [77, 0, 0])
    assert AxisNoise(GRID, factor).variance(GRID, empty).tolist() == [0, 0, 0]


class TestAxisFile:
    model = GridModel(GRID, np.ones((8, 8)), AxisNoise(GRID, np.eye(8, dtype=np.float32)))

    def test_restored_it_is_the_same(self):
        again = GridModel.restore(CITY, self.model.arrays(), self.model.settings())
        boxes = RangeQueries.sample(CITY, 20, (1, 300))
        assert (again.noise_variance(boxes) == self.model.noise_variance(boxes)).all()

    @pytest.mark.parametrize(
        "arrays",
        [
            {},
            {"covariance": np.eye(7)},
            {"covariance": np.ones(8)},
            {"covariance": np.eye(8), "more": np.eye(8)},
        ],
        ids=str,
    )
    def test_what_is_wrong_is_refused(self, arrays):
        with pytest.raises(InputError, match="noise must have one array"):
            GridModel.restore(CITY, {"values": np.ones((8, 8))} | arrays, self.model.settings())


CELLS = Partition.split(Grid(CITY, 2), np.array([[1, 2], [3, 4]]))
BOXES = RangeQueries.sample(CITY, 200, (5, 390))


def covered_cells(cells: Partition, boxes: RangeQueries) -> np.ndarray:
    """Fractions of cells, shape (q, c), one corner sum at a time."""
    columns = []
    for nth in range(len(cells)):
        alone = np.zeros(len(cells))
        alone[nth] = 1
        columns.append(PartitionModel(cells, alone).answer(boxes))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("chunks", [(64, 4_096), (7, 5)])
def test_it_is_the_sum_of_squares(chunks, monkeypatch):
    monkeypatch.setattr(variance, "_BOXES", chunks[0])
    monkeypatch.setattr(variance, "_CELLS", chunks[1])
    expected = 3 * (covered_cells(CELLS, BOXES) ** 2).sum(axis=1)
    np.testing.assert_allclose(CellNoise(3.0).of(CELLS, BOXES), expected, atol=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.fractions("1/20", "19/20"))
def test_of_adaptive_grids_it_is_that_of_the_estimator(seed, alpha):
    """Each noisy number's factor in an answer, from ``consistent`` itself."""
    rng = np.random.default_rng(seed)
    pieces = rng.integers(1, 4, (2, 2))
    cells, boxes = Partition.split(Grid(CITY, 2), pieces), RangeQueries.sample(CITY, 5, (5, 390))
    of_coarse, of_fine = rng.uniform(1, 9, 2)
    factors = np.stack(
        [
            consistent(one[:4].reshape(2, 2), pieces, one[4:], alpha)
            for one in np.eye(4 + len(cells))
        ]
    )
    spread = np.repeat([of_coarse, of_fine], [4, len(cells)])
    expected = (covered_cells(cells, boxes) @ factors.T) ** 2 @ spread
    noise = consistent_noise(pieces, Fraction(alpha), of_coarse, of_fine)
    np.testing.assert_allclose(noise.of(cells, boxes), expected, atol=1e-9)


def test_cells_without_known_noise_say_nan():
    assert np.isnan(PartitionModel(CELLS, np.ones(len(CELLS))).noise_variance(BOXES)).all()


class TestCellFile:
    model = PartitionModel(CELLS, np.ones(len(CELLS)), CellNoise(2.0, np.array([[-0.1]])))

    @pytest.mark.parametrize("noise", [CellNoise(2.0), CellNoise(2.0, np.eye(2))])
    def test_restored_it_is_the_same(self, noise):
        model = PartitionModel(CELLS, np.ones(len(CELLS)), noise)
        again = PartitionModel.restore(CITY, model.arrays(), model.settings())
        assert (again.noise_variance(BOXES) == model.noise_variance(BOXES)).all()

    @pytest.mark.parametrize("variance", [-1, float("nan"), float("inf")])
    def test_a_wrong_variance_is_refused(self, variance):
        with pytest.raises(InputError, match="variance of noise"):
            PartitionModel.restore(CITY, self.model.arrays(), {"noise": {"variance": variance}})

    @pytest.mark.parametrize("coarse", [np.ones(3), np.ones((2, 3)), np.ones((0, 0))])
    def test_wrong_weights_are_refused(self, coarse):
        arrays = self.model.arrays() | {"noise": coarse}
        with pytest.raises(InputError, match="array 'noise' must be square"):
            PartitionModel.restore(CITY, arrays, self.model.settings())

    def test_arrays_that_nothing_asks_for_are_refused(self):
        more = self.model.arrays() | {"more": np.ones(2)}
        for told in ({}, self.model.settings()):
            with pytest.raises(InputError, match="more"):
                PartitionModel.restore(CITY, more, told)


places = st.one_of(st.floats(0, 1), st.integers(0, 12).map(lambda twelfth: twelfth / 12))


@given(st.lists(st.tuples(places, places), min_size=1), st.integers(1, 12))
def test_the_short_way_is_the_long_one(pairs, m):
    span = np.sort(np.array(pairs), axis=1).T
    long = fractions(span, m)
    assert ((long >= 0) & (long <= 1)).all()
    np.testing.assert_allclose(long.sum(axis=1), (span[1] - span[0]) * m, atol=1e-12)
    np.testing.assert_allclose(squared_fractions(span, m), (long**2).sum(axis=1), atol=1e-12)


def test_by_hand():
    """Of five cells from 0 to 1: 0.1 to 0.7 covers half of the first and third and a half."""
    span = np.array([[0.1], [0.7]])
    np.testing.assert_allclose(fractions(span, 5), [[0.5, 1, 1, 0.5, 0]])
    np.testing.assert_allclose(squared_fractions(span, 5), 2.5)


def test_what_sticks_out_is_cut_off():
    city = Region.around(lat=0, lon=0, side_m=10)
    x, y = spans(RangeQueries(city, [-5, 12, 4], [2, 2, -9], [8, 5, 2], [3, 3, 50]))
    assert x.T.tolist() == [[0, 0.3], [1, 1], [0.4, 0.6]]
    assert y.T.tolist() == [[0.2, 0.5], [0.2, 0.5], [0, 1]]


def test_shapes_in_signatures_are_checked_here():
    with pytest.raises(jaxtyping.TypeCheckError, match="span"):
        fractions(np.zeros((3, 5)), 4)
