import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit import PrivateDataset
from snhkit.builders import Privelet
from snhkit.builders.privelet import haar_matrix, inverted
from snhkit.privacy.products import column_norm


def weighted_coefficients(counts: np.ndarray) -> list[float]:
    """Return the paper's weighted coefficients: half the difference of means, times the length."""
    if len(counts) == 1:
        return []
    left, right = np.split(counts, 2)
    own = (left.mean() - right.mean()) / 2 * len(counts)
    below = [weighted_coefficients(half) for half in (left, right)]
    return [own, *interleaved(*below)]


def interleaved(left: list[float], right: list[float]) -> list[float]:
    """Merge two hierarchies level by level."""
    out, size = [], 1
    while left:
        out += left[:size] + right[:size]
        left, right, size = left[size:], right[size:], 2 * size
    return out


@given(st.integers(0, 5), st.integers(0, 2**32))
def test_the_matrix_gives_the_weighted_coefficients(k, seed):
    counts = np.random.default_rng(seed).integers(0, 100, 2**k)
    expected = [counts.mean() * len(counts), *weighted_coefficients(counts)]
    np.testing.assert_allclose(haar_matrix(k) @ counts, expected)


@pytest.mark.parametrize("k", range(8))
def test_a_record_changes_one_coefficient_of_each_level_and_the_total(k):
    haar = haar_matrix(k)
    assert (np.abs(haar.toarray()).sum(axis=0) == k + 1).all()
    assert column_norm(haar) == k + 1


@given(st.integers(0, 5), st.integers(0, 2**32))
def test_the_inverse_restores_the_counts(k, seed):
    counts = np.random.default_rng(seed).integers(0, 10**6, (2**k, 2**k))
    haar = haar_matrix(k)
    assert (inverted(haar, haar @ counts @ haar.T) == counts).all()


def test_the_spend_says_how_many_sums_were_measured(records):
    data = PrivateDataset(records, budget=1, unit="record")
    (spend,) = data.release(Privelet(50), epsilon="0.5").spends
    assert str(spend) == "0.5 for 64 weighted sums of counts of 64 cells"


@pytest.mark.parametrize(
    ("cell_m", "k"), [(13_200, 0), (20_000, 0), (6_600, 1), (6_599, 2), (30, 9), (13_200 / 64, 6)]
)
def test_a_given_width_is_made_smaller_to_a_power_of_two(cell_m, k):
    assert Privelet(cell_m).halvings(13_200, 0, 1) == k


def test_more_records_or_epsilon_make_finer_cells_within_limits():
    ks = [Privelet().halvings(13_200, n, e) for n, e in ((10**4, 0.1), (10**6, 1), (0, 1))]
    assert ks[0] < ks[1]
    assert ks[2] >= 3
    assert Privelet().halvings(200_000, 10**9, 10**6) == 11
    assert Privelet().halvings(1, 1, 0.001) == 3
