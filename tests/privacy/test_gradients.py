"""The noise multiplier against another formula, and noise as wide as it says."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import chi2, kstest

from snhkit.privacy import (
    ReplayableEntropy,
    Spend,
    SystemEntropy,
    gaussian_for_demonstration,
    gradient_noise,
    noisy_gradient,
)
from snhkit.privacy.gradients import noise_multiplier

MILLIONTH = Fraction(1, 10**6)
FALSE_ALARM = 1e-7


def log_delta(std: float, epsilon: float) -> float:
    """Balle and Wang 2018, Theorem 8, for sensitivity 1, in logarithms."""
    kept = log_ndtr(1 / (2 * std) - epsilon * std)
    lost = epsilon + log_ndtr(-1 / (2 * std) - epsilon * std)
    # Where the two are one number, delta is as good as 0.
    return kept + math.log(-math.expm1(min(lost - kept, -1e-300)))


def by_formula(epsilon: float, delta: float, steps: int) -> float:
    """The steps are one Gaussian of sqrt(steps) times the sensitivity."""
    log_std = brentq(
        lambda s: log_delta(math.exp(s), epsilon) - math.log(delta), -4, 20, xtol=1e-12
    )
    return math.sqrt(steps) * math.exp(log_std)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("steps", [1, 3, 300])
@pytest.mark.parametrize("delta", [MILLIONTH, Fraction(1, 100)])
@pytest.mark.parametrize("epsilon", ["0.001", "0.19", "1", "10", "100"])
def test_the_multiplier_is_that_of_the_analytic_mechanism(epsilon, delta, steps):
    ours = noise_multiplier(Fraction(epsilon), delta, steps)
    assert ours == pytest.approx(by_formula(float(epsilon), float(delta), steps), rel=1e-6)


@pytest.mark.parametrize("steps", [2, 300])
def test_the_multiplier_passes_an_accountant_that_composes_numerically(steps):
    """What the privacy loss distribution of one step gives, convolved with itself."""
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    enough = noise_multiplier(Fraction(1), MILLIONTH, steps)
    one, less = (from_gaussian_mechanism(enough * f) for f in (1.001, 0.97))
    assert one.self_compose(steps).get_delta_for_epsilon(1.0) <= 1e-6
    assert less.self_compose(steps).get_delta_for_epsilon(1.0) > 1e-6


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**12), Fraction(10**18)])
def test_the_multiplier_is_finite_wherever_a_dataset_allows_a_release(epsilon):
    assert 0 < noise_multiplier(epsilon, MILLIONTH, 10_000) < 1e18


@pytest.mark.chance(1.1 * FALSE_ALARM)
def test_the_normal_law():
    draws = gaussian_for_demonstration(200_001, 5.0, SystemEntropy())
    assert draws.shape == (200_001,)
    assert kstest(draws / 5, "norm").pvalue > FALSE_ALARM
    for wrong in (4.5, 5.5):
        assert kstest(draws / wrong, "norm").pvalue < FALSE_ALARM
    pairs = np.corrcoef(draws[:100_000], draws[100_001:])[0, 1]
    assert abs(pairs) < 6 / math.sqrt(100_000)


def test_the_largest_and_smallest_words_give_finite_numbers(scripted):
    ends = [0, 2**64 - 1]
    words = [*ends, *ends, 0, 2**64 - 1, 2**64 - 1, 0]
    assert np.isfinite(gaussian_for_demonstration(8, 1.0, scripted(words))).all()


@pytest.mark.chance(FALSE_ALARM)
def test_the_noise_is_as_wide_as_sensitivity_and_price_say():
    """300,000 draws: their variance, by the chi-square law."""
    noise, spend = gradient_noise(3, 100_000, 40.0, Fraction(1), MILLIONTH, SystemEntropy())
    assert noise.shape == (3, 100_000)
    assert spend == Spend(
        Fraction(1), "3 noisy sums of gradients, in floating point", delta=MILLIONTH
    )
    std = 40 * by_formula(1, 1e-6, 3)
    low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], noise.size) / noise.size
    assert low < (noise.astype(float) ** 2).mean() / std**2 < high
    assert (
        noisy_gradient(np.full(100_000, 7, np.float32), noise[0]) == noise[0] + np.float32(7)
    ).all()


def test_a_seed_repeats_it_and_no_seed_does_not():
    def row(entropy):
        return gradient_noise(1, 4, 1.0, Fraction(1), MILLIONTH, entropy)[0].tolist()

    assert row(ReplayableEntropy(3)) == row(ReplayableEntropy(3))
    assert row(SystemEntropy()) != row(SystemEntropy())
