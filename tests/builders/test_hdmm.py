import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from snhkit import PrivateDataset
from snhkit.builders import HDMM
from snhkit.builders.hdmm import (
    best_extra_rows,
    covariance,
    interval_gram,
    least_squares,
    loss_and_gradient,
    p_identity,
)
from snhkit.builders.privelet import haar_matrix
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.privacy.products import column_norm

TOWN = Region.around(lat=45, lon=7, side_m=13_200)


@given(st.integers(1, 5), st.integers(0, 3), st.integers(0, 2**32))
def test_estimates_are_the_least_squares_solution(m, more, seed):
    rng = np.random.default_rng(seed)
    weights = np.concatenate([5 * np.eye(m, dtype=int), rng.integers(0, 4, (more, m))])
    sums = rng.integers(-50, 50, (m + more, m + more))
    best, *_ = np.linalg.lstsq(np.kron(weights, weights), sums.ravel(), rcond=None)
    rows = csr_array(weights)
    ours = least_squares(rows, covariance(rows), sums)
    np.testing.assert_allclose(ours.ravel(), best, atol=1e-9)


def test_the_spend_says_how_many_sums_were_measured(records):
    data = PrivateDataset(records, budget=1, unit="record")
    (spend,) = data.release(HDMM(50), epsilon="0.5").spends
    assert str(spend) == "0.5 for 81 weighted sums of counts of 64 cells"


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.001, 1, 1e9])
def test_column_sums_are_as_large_as_the_noise_allows_and_the_rank_is_full(epsilon):
    weights = HDMM(sizes_m=None).weights(Grid(TOWN, 64), epsilon)
    assert weights.dtype == np.int64
    assert column_norm(weights) ** 2 / epsilon <= 2**50
    assert column_norm(weights) <= 2**15 + 4
    assert np.linalg.matrix_rank(weights.toarray()) == 64
    if epsilon >= 0.001:
        sums = weights.sum(axis=0)
        assert sums.min() >= 2**15 - 4


def test_no_cell_is_rounded_away(monkeypatch):
    rows = lambda m, _: np.full((1, m), 10.0**6)  # noqa: E731
    monkeypatch.setattr("snhkit.builders.hdmm.best_extra_rows", rows)
    assert (HDMM().weights(Grid(TOWN, 8), 1.0).diagonal() == 1).all()


def test_rounding_hardly_increases_the_error():
    grid = Grid(TOWN, 64)
    fine = HDMM(sizes_m=None).weights(grid, 1)
    coarse = HDMM(sizes_m=None).weights(grid, 2.0**-20)
    assert column_norm(coarse) < 2**15
    errors = [column_norm(w) ** 2 * np.trace(covariance(w)) for w in (fine, coarse)]
    assert errors[1] == pytest.approx(errors[0], rel=0.01)


def test_large_boxes_have_less_noise_than_with_cells_alone():
    grid = Grid(TOWN, 256)
    weights = HDMM(sizes_m=(1_000, 5_000)).weights(grid, 1)
    shape = column_norm(weights) ** 2 * covariance(weights)
    boxes = RangeQueries.sample(TOWN, 1_000, (1_000, 5_000))
    cells = (boxes.width / grid.cell_m) ** 2
    edges = np.arange(256)[:, None] * grid.cell_m

    def along(low, width):
        w = np.clip(low + width - edges, 0, grid.cell_m) - np.clip(low - edges, 0, grid.cell_m)
        return np.einsum("iq,ij,jq->q", w, shape, w) / grid.cell_m**2

    ours = along(boxes.x, boxes.width) * along(boxes.y, boxes.height)
    assert ours.mean() < cells.mean() / 3


class TestWidth:
    def test_larger_boxes_get_wider_cells(self):
        """Boxes of 1 to 5 km are 48 times wider on average."""
        small, large = (HDMM(sizes_m=s).width(13_200, 10**5, 0.2) for s in ((25, 100), (1e3, 5e3)))
        assert small == pytest.approx(34.68, abs=0.01)
        assert large == pytest.approx(48**0.5 * small)
        assert HDMM(sizes_m=None).width(3 * 62.5, 10**5, 0.2) == small

    def test_the_number_of_cells_is_limited(self):
        assert HDMM().width(102_400, 10**9, 1e6) == 100


@pytest.mark.parametrize("sizes", [(0, 1), (2, 1), (-1, 5), (1, np.inf), (np.nan, 1)])
def test_invalid_sizes_are_refused(sizes):
    with pytest.raises(InputError, match="sizes_m must be None or"):
        HDMM(sizes_m=sizes)


def test_messages_say_which_values_are_possible(records):
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    with pytest.raises(InputError, match=r"cell_m = 0\.1 .* make cell_m 0\.391 or more"):
        data.release(HDMM(0.1), epsilon=1)
    with pytest.raises(InputError, match=r"boxes of 500 m do not fit into a region of 400 m"):
        data.release(HDMM(sizes_m=(25, 500)), epsilon=1)


def expected_error(strategy: np.ndarray, gram: np.ndarray) -> float:
    """Return the error of least squares, with noise scaled to the largest column sum."""
    change = np.abs(strategy).sum(axis=0).max()
    return float(change**2 * np.trace(gram @ np.linalg.inv(strategy.T @ strategy)))


def found(m: int, lengths: tuple[float, float] | None) -> float:
    """Return the root mean square error of the identity, divided by that of the strategy found."""
    gram = interval_gram(m, lengths)
    ours = expected_error(p_identity(best_extra_rows(m, lengths)), gram)
    return float(np.sqrt(np.trace(gram) / ours))


@given(st.integers(1, 4), st.integers(2, 9), st.integers(0, 2**32))
def test_loss_and_gradient_equal_dense_algebra_and_finite_differences(p, m, seed):
    rng = np.random.default_rng(seed)
    rows, gram = rng.uniform(0, 1, (p, m)), np.cov(rng.normal(size=(m, 2 * m)))
    loss, gradient = loss_and_gradient(rows.ravel(), gram)
    assert loss == pytest.approx(expected_error(p_identity(rows), gram))
    step = 1e-6 * np.eye(p * m)
    ahead, behind = (
        np.array([loss_and_gradient(rows.ravel() + s, gram)[0] for s in steps])
        for steps in (step, -step)
    )
    np.testing.assert_allclose(gradient, (ahead - behind) / 2e-6, atol=1e-5 * m)


@given(st.integers(1, 9))
def test_gram_matrix_of_all_intervals(m):
    intervals = [
        (np.arange(m) >= i) & (np.arange(m) < j) for i in range(m) for j in range(i + 1, m + 1)
    ]
    w = np.array(intervals, float)
    np.testing.assert_allclose(interval_gram(m, None), w.T @ w / len(w))


def test_gram_matrix_of_intervals_of_one_cell_by_hand():
    """An interval on two cells begins at s, uniform in [0, 1], and covers 1 - s and s of them."""
    np.testing.assert_allclose(
        interval_gram(2, (1, 1)), [[1 / 3, 1 / 6], [1 / 6, 1 / 3]], atol=1e-5
    )


@pytest.mark.parametrize("lengths", [(0.2, 0.7), (1, 4), (3, 3), (2.5, 11.9)])
def test_gram_matrix_of_intervals_of_given_lengths(lengths):
    """The reference is a million random intervals, with six standard errors of at most 0.0005."""
    rng = np.random.default_rng(0)
    length = rng.uniform(*lengths, 10**6)
    start = rng.uniform(0, 12 - length)
    edges = np.arange(12)[:, None]
    w = np.clip(start + length - edges, 0, 1) - np.clip(start - edges, 0, 1)
    np.testing.assert_allclose(interval_gram(12, lengths), w @ w.T / 10**6, atol=0.003)


def test_the_strategy_by_hand():
    """One extra row of ones on two cells, where the inverse is known."""
    strategy = p_identity(np.ones((1, 2)))
    assert strategy.tolist() == [[0.5, 0], [0, 0.5], [0.5, 0.5]]
    assert loss_and_gradient(np.ones(2), np.eye(2))[0] == pytest.approx(2 * 8 / 3)


def test_gain_over_identity_and_wavelets_on_128_cells_is_as_published():
    """The wavelet strategy, whose error is known in closed form, is a second reference."""
    gram = interval_gram(128, None)
    wavelet = np.sqrt(expected_error(haar_matrix(7).toarray(), gram) / np.trace(gram))
    assert found(128, None) == pytest.approx(1.385, abs=0.01)
    assert found(128, None) * wavelet == pytest.approx(1.845, abs=0.015)


def test_long_intervals_gain_and_short_ones_get_the_identity():
    assert found(128, (10, 48)) > 1.15
    assert not best_extra_rows(64, (1, 4)).any()


@pytest.mark.parametrize("m", [1, 2, 5, 16])
@pytest.mark.parametrize("lengths", [None, (0.1, 1.0)])
def test_the_strategy_is_never_worse_than_the_identity(m, lengths):
    assert found(m, lengths) >= 1 - 1e-9


def test_the_strategy_is_cached_read_only_and_reproducible():
    rows = best_extra_rows(32, None)
    assert best_extra_rows(32, None) is rows
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 1
    best_extra_rows.cache_clear()
    assert (best_extra_rows(32, None) == rows).all()
