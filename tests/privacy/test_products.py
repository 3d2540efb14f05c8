import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csr_array
from scipy.stats import dlaplace, kstest

from snhkit.errors import InputError
from snhkit.geometry import Grid, Histogram, Partition, Points, Region
from snhkit.privacy import ReplayableEntropy, SystemEntropy
from snhkit.privacy.products import column_norm, noisy_products

CITY = Region.around(lat=0, lon=0, side_m=8)
FALSE_ALARM = 1e-7
weights_4 = arrays(np.int64, st.tuples(st.integers(1, 6), st.just(4)), elements=st.integers(-9, 9))


def histogram(counts: np.ndarray) -> Histogram:
    return Histogram(Grid(CITY, len(counts)), counts)


def empty(m: int) -> Histogram:
    return Grid(CITY, m).count(Points(CITY, np.empty((0, 2))))


@given(weights_4, st.integers(0, 2**32), st.booleans())
def test_sums_without_noise_are_the_matrix_products(weights, seed, sparse):
    if not weights.any():
        return
    counts = np.random.default_rng(seed).integers(0, 1_000, (4, 4))
    given_weights = csr_array(weights) if sparse else weights
    sums, spend = noisy_products(histogram(counts), given_weights, 10**8, 1, SystemEntropy())
    assert (sums == weights @ counts @ weights.T).all()
    assert sums.dtype == np.int64
    assert (spend.epsilon, spend.composition) == (10**8, "sequential")


@given(weights_4)
def test_the_sensitivity_is_the_squared_column_norm(weights):
    changes = []
    for cell in np.ndindex(4, 4):
        one = np.zeros((4, 4), np.int64)
        one[cell] = 1
        changes.append(np.abs(weights @ one @ weights.T).sum())
    if weights.any():
        assert max(changes) == column_norm(weights) ** 2


def test_the_scale_of_the_noise_is_sensitivity_over_epsilon(monkeypatch):
    scales = []

    def recording(shape, scale, entropy):
        scales.append(scale)
        return np.zeros(shape, np.int64)

    monkeypatch.setitem(noisy_products.__globals__, "discrete_laplace", recording)
    weights = np.array([[1, -2, 0, 1], [-3, 0, 1, 1]])
    noisy_products(empty(4), weights, 1, 1, SystemEntropy())
    noisy_products(empty(4), csr_array(weights), 2, 5, SystemEntropy())
    assert scales == [4**2, 5 * 4**2 / 2]


@pytest.mark.chance(FALSE_ALARM)
def test_the_noise_follows_its_distribution():
    """72,000 draws of scale 60^2 pass a test of that scale, and fail at a tenth less or more.

    A tenth changes the distribution function by 0.018, which is 4.9 in the units of the
    Kolmogorov-Smirnov test, where 1.6 is significant at 0.01.
    """
    weights = np.eye(60, 4, dtype=int) - np.ones((60, 4), int)
    weights[:4] = np.diag([4, 3, 2, 1])
    noise = np.concatenate(
        [noisy_products(empty(4), weights, 1, 1, SystemEntropy())[0].ravel() for _ in range(20)]
    )
    # With uniform noise of width 1 added, the distribution is continuous.
    spread = noise + np.random.default_rng(0).uniform(-0.5, 0.5, noise.size)

    def law(scale: float):
        def cdf(x):
            k = np.floor(x + 0.5)
            return dlaplace.cdf(k - 1, 1 / scale) + dlaplace.pmf(k, 1 / scale) * (x + 0.5 - k)

        return cdf

    assert kstest(spread, law(60**2)).pvalue > FALSE_ALARM
    for wrong in (0.9 * 60**2, 1.1 * 60**2):
        assert kstest(spread, law(wrong)).pvalue < 0.01


def test_duplicate_entries_of_a_sparse_matrix_are_added():
    weights = coo_array(([3, -2, 1], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    assert column_norm(weights) == 1
    sums, _ = noisy_products(
        histogram(np.array([[5, 0], [0, 7]])), weights, 10**6, 1, SystemEntropy()
    )
    assert sums.tolist() == [[5, 0], [0, 7]]


def test_the_weights_are_not_changed():
    weights = csr_array(np.array([[1, 2], [0, 3]], np.int32))
    noisy_products(empty(2), weights, 1, 1, ReplayableEntropy(1))
    assert weights.toarray().tolist() == [[1, 2], [0, 3]]


def test_large_numbers_stay_exact():
    weights = np.array([[2**15, 1], [1 - 2**15, 2**15]])
    counts = np.array([[2**29, 1], [3, 2**29 - 7]])
    sums, _ = noisy_products(histogram(counts), weights, 10**15, 1, SystemEntropy())
    exact = weights.astype(object) @ counts.astype(object) @ weights.T.astype(object)
    assert np.abs(sums - exact.astype(np.int64)).max() < 1_000


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.eye(4), "whole numbers"),
        (np.eye(4, dtype=bool), "whole numbers"),
        (np.zeros((4, 4), int), "that are not all 0"),
        (np.eye(3, dtype=int), "must have 4 columns, one for each column of the grid, not 3"),
        (np.full((1, 4), 2**15 + 1), "at most 2"),
        (np.full((1, 4), -(2**63)), "at most 2"),
        (np.full((1, 4), 2**63, np.uint64), "at most 2"),
    ],
)
def test_invalid_weights_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        noisy_products(empty(4), weights, 1, 1, SystemEntropy())


@pytest.mark.parametrize("records", [2**31, 2**40])
def test_errors_do_not_depend_on_the_number_of_records(records):
    """An error would reveal the number of records; sums that wrap around reveal nothing."""
    counts = np.array([[records, 0], [0, 0]])
    weights = np.full((1, 2), 2**15)
    sums, _ = noisy_products(histogram(counts), weights, 10**12, 1, SystemEntropy())
    exact = (records * 2**30 + 2**63) % 2**64 - 2**63
    assert abs(int(sums[0, 0]) - exact) < 1_000


def test_only_the_histogram_of_a_grid_is_accepted():
    halves = Partition(CITY, [0, 0], [0, 4], [8, 8], [4, 8])
    for wrong in (halves.count(Points(CITY, [[1, 1]])), np.ones((2, 2))):
        with pytest.raises(InputError, match=r"Grid\.count"):
            noisy_products(wrong, np.eye(2, dtype=int), 1, 1, SystemEntropy())


@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, True])
def test_invalid_sensitivities_are_refused(sensitivity):
    with pytest.raises(InputError, match="sensitivity"):
        noisy_products(empty(2), np.eye(2, dtype=int), 1, sensitivity, SystemEntropy())
