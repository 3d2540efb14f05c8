"""Discrete Gaussian noise; each statistical test has a false-alarm rate of 1e-8."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare, norm

from snhkit.errors import InputError
from snhkit.geometry import Histogram
from snhkit.privacy import (
    ReplayableEntropy,
    Rho,
    SystemEntropy,
    discrete_gaussian,
    epsilon_lower_bound,
    epsilon_of,
    noise_variance,
)
from snhkit.privacy.noise import noisy_count, noisy_histogram
from snhkit.privacy.scale import gaussian_scale

FALSE_ALARM = 1e-8
DRAWS = 200_000
TENTH = Fraction(11, 10)

scales = pytest.mark.parametrize(
    "scale",
    [Fraction(1, 3), Fraction(3, 7), Fraction(1), Fraction(5, 2), Fraction(20), Fraction(10**7, 9)],
    ids=str,
)


def p_value(draws: np.ndarray, scale: Fraction) -> float:
    """Return the p-value of a chi-square test against the exact probabilities."""
    s = float(scale)
    if s > 1_000:  # the sums of probabilities are then those of the normal distribution
        edges = np.round(norm.ppf(np.linspace(0, 1, 42)[1:-1]) * s)
        share = np.diff(np.concatenate([[0], norm.cdf((edges + 0.5) / s), [1]]))
        return chisquare(np.bincount(np.searchsorted(edges, draws), minlength=41), share * DRAWS)[1]
    x = np.arange(-math.ceil(40 * s), math.ceil(40 * s) + 1)
    weights = np.exp(-((x / s) ** 2) / 2)
    low = np.cumsum(weights) / weights.sum()
    edges = np.unique(x[np.searchsorted(low, np.linspace(0, 1, 42)[1:-1])])
    edges = edges[1 - low[edges - x[0]] > 1e-3]
    share = np.diff(np.concatenate([[0], low[edges - x[0]], [1]]))
    seen = np.bincount(np.searchsorted(edges, draws), minlength=len(share))
    return float(chisquare(seen, share * len(draws)).pvalue)


@pytest.mark.chance(2 * FALSE_ALARM)
@scales
def test_draws_follow_the_exact_probabilities_and_no_scale_a_tenth_off(scale):
    """Both signs are equally probable, too."""
    draws = discrete_gaussian(DRAWS, scale, SystemEntropy())
    above, below = int((draws > 0).sum()), int((draws < 0).sum())
    assert binomtest(above, above + below).pvalue > FALSE_ALARM
    assert p_value(draws, scale) > FALSE_ALARM
    assert p_value(draws, scale * TENTH) < FALSE_ALARM
    assert p_value(draws, scale / TENTH) < FALSE_ALARM


@pytest.mark.chance(FALSE_ALARM)
def test_the_tail_beyond_three_and_four_scales_has_its_exact_weight():
    draws = abs(discrete_gaussian(1_000_000, Fraction(5), SystemEntropy()))
    x = np.arange(-400, 401)
    weights = np.exp(-((x / 5) ** 2) / 2)
    for far in (15, 20):
        share = weights[abs(x) > far].sum() / weights.sum()
        assert binomtest(int((draws > far).sum()), draws.size, share).pvalue > FALSE_ALARM / 2


@given(
    st.fractions(min_value=Fraction(1, 10**12), max_value=10**6, max_denominator=2**100),
    st.integers(1, 10**6),
)
def test_the_scale_is_rounded_up_and_hardly(rho, sensitivity):
    square = Fraction(sensitivity) ** 2 / (2 * rho)
    scale = gaussian_scale(Rho(rho), sensitivity)
    assert square <= scale**2 <= square * (1 + Fraction(1, 2**37))
    assert scale.numerator < 2**51


def test_a_scale_that_is_exact_is_not_rounded():
    assert gaussian_scale(Rho(Fraction(1, 8)), 3) == 6  # 3 / sqrt(2 / 8)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**51), Fraction(1, 2**62)])
def test_scales_beyond_64_bits_are_refused(scale):
    with pytest.raises(InputError, match=r"scale must|sensitivity / epsilon must"):
        discrete_gaussian(1, scale, SystemEntropy())


def test_the_largest_and_least_scales_fit():
    assert abs(discrete_gaussian(10_000, Fraction(2**50), SystemEntropy())).max() > 2**50
    assert not discrete_gaussian(100, Fraction(1, 2**61), SystemEntropy()).any()


@pytest.mark.chance(FALSE_ALARM)
@pytest.mark.parametrize(("rho", "sensitivity"), [(Fraction(1, 50), 1), (Fraction(1, 2), 7)])
def test_a_histogram_gets_noise_of_its_rho(rho, sensitivity, histogram: Histogram):
    noisy, spend = noisy_histogram(histogram, Rho(rho), sensitivity, SystemEntropy())
    noise, scale = (noisy - histogram.counts).ravel(), gaussian_scale(Rho(rho), sensitivity)
    assert scale == pytest.approx(sensitivity / math.sqrt(2 * rho))
    assert p_value(noise, scale) > FALSE_ALARM
    assert p_value(noise, scale / TENTH) < FALSE_ALARM
    assert (spend.epsilon, spend.rho, spend.delta) == (0, rho, 0)
    assert spend.composition == "parallel"


def test_a_count_gets_noise_of_its_rho():
    noisy, spend = noisy_count(5, Rho(Fraction(1, 8)), 3, ReplayableEntropy(4), "people")
    assert noisy - 5 == discrete_gaussian(1, Fraction(6), ReplayableEntropy(4))[0]
    assert str(spend) == "rho 0.125 for people"


@pytest.mark.parametrize("rho", [Fraction(10), Fraction(1, 2), Fraction(1, 30), Fraction(1, 10**6)])
def test_the_variance_is_that_of_the_probabilities(rho):
    scale = float(gaussian_scale(Rho(rho), 1))
    x = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + 1, dtype=float)
    weights = np.exp(-((x / scale) ** 2) / 2)
    expected = (weights * x**2).sum() / weights.sum()
    assert noise_variance(Rho(rho), 1) == pytest.approx(expected, rel=1e-9)


@pytest.mark.chance(2 * FALSE_ALARM)
def test_an_audit_of_a_person_of_three_stays_below_and_finds_noise_of_one_record():
    """A person's three records lie in one place, the worst case of the Euclidean norm."""
    rho, delta = Fraction(1, 4), Fraction(1, 100)
    promised = float(epsilon_of(rho, delta))

    def shown(sensitivity: int) -> float:
        """Return what 200,000 counts of each file show of epsilon, by a threshold fixed before."""
        scale = gaussian_scale(Rho(rho), sensitivity)
        noise = [discrete_gaussian(DRAWS, scale, SystemEntropy()) for _ in range(2)]
        hits = (int((3 + noise[0] > 4).sum()), int((noise[1] > 4).sum()))
        runs = (DRAWS, DRAWS)
        return float(epsilon_lower_bound(hits, runs, 1 - FALSE_ALARM, float(delta)))

    assert 0.7 < shown(3) <= promised < shown(1)
