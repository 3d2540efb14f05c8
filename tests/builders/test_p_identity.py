import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders.hdmm import (
    best_extra_rows,
    interval_gram,
    loss_and_gradient,
    p_identity,
)
from snhkit.builders.privelet import haar_matrix


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
