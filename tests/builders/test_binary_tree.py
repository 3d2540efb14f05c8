import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders.dawa import fitted_leaves


def design(leaves: int, level: int) -> np.ndarray:
    """Return the matrix that sums leaves into the nodes of a level."""
    node = np.arange(leaves) >> level
    return (np.arange(node[-1] + 1)[:, None] == node).astype(float)


@given(st.integers(1, 21), st.sets(st.integers(1, 5)), st.integers(0, 2**32 - 1))
def test_leaves_are_the_weighted_least_squares_solution(leaves, upper, seed):
    rng = np.random.default_rng(seed)
    height = (leaves - 1).bit_length()
    levels = [0, *sorted(level for level in upper if level <= height)]
    counts = {k: rng.integers(-9, 99, design(leaves, k).shape[0]) for k in levels}
    variances = {k: float(rng.uniform(0.1, 10)) for k in levels}
    rows = np.concatenate([design(leaves, k) / variances[k] ** 0.5 for k in levels])
    told = np.concatenate([counts[k] / variances[k] ** 0.5 for k in levels])
    expected = np.linalg.lstsq(rows, told, rcond=None)[0]
    np.testing.assert_allclose(fitted_leaves(counts, variances), expected, atol=1e-8)


def test_a_small_tree_worked_out_by_hand():
    # The pair is counted as 10, and its leaves add up to 1 + 3 = 4 with variance 2. The weighted
    # mean is 4 + 2/3 * 6 = 8.
    leaves = fitted_leaves({0: np.array([1, 3, 5]), 1: np.array([10, 5])}, {0: 1.0, 1: 1.0})
    assert leaves == pytest.approx([3, 5, 5])


def test_consistent_counts_are_unchanged():
    x = np.arange(13)
    counts = {k: design(13, k) @ x for k in range(5)}
    assert fitted_leaves(counts, dict.fromkeys(counts, 2.0)) == pytest.approx(x)
