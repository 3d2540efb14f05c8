"""The noise multiplier against another formula, and the standard deviation of the noise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import chi2, kstest

from snhkit.errors import BudgetExceeded, InputError
from snhkit.privacy import ReplayableEntropy, Spend, SystemEntropy
from snhkit.privacy.gradients import (
    NoisyGradients,
    clipped_sum,
    gradient_noise,
    noise_multiplier,
    noisy_gradient,
)
from snhkit.privacy.noise import gaussian_for_demonstration

MILLIONTH = Fraction(1, 10**6)
FALSE_ALARM = 1e-7
anything = arrays(np.float32, (6, 5), elements=st.floats(width=32))


def log_delta(std: float, epsilon: float) -> float:
    """Return log(delta) for sensitivity 1 (Balle and Wang 2018, Theorem 8)."""
    kept = log_ndtr(1 / (2 * std) - epsilon * std)
    lost = epsilon + log_ndtr(-1 / (2 * std) - epsilon * std)
    # If rounding makes the two equal, delta is nearly 0.
    return kept + math.log(-math.expm1(min(lost - kept, -1e-300)))


def by_formula(epsilon: float, delta: float, steps: int) -> float:
    """Return the multiplier of one Gaussian mechanism of sqrt(steps) times the sensitivity."""
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
    """The reference is the privacy loss distribution of one step, convolved with itself."""
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    enough = noise_multiplier(Fraction(1), MILLIONTH, steps)
    one, less = (from_gaussian_mechanism(enough * f) for f in (1.001, 0.97))
    assert one.self_compose(steps).get_delta_for_epsilon(1.0) <= 1e-6
    assert less.self_compose(steps).get_delta_for_epsilon(1.0) > 1e-6


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**12), Fraction(10**18)])
def test_the_multiplier_is_finite_wherever_a_dataset_allows_a_release(epsilon):
    assert 0 < noise_multiplier(epsilon, MILLIONTH, 10_000) < 1e18


@pytest.mark.chance(1.1 * FALSE_ALARM)
def test_draws_follow_the_normal_distribution():
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
def test_the_noise_has_the_standard_deviation_of_its_price():
    """The variance of 300,000 draws lies within the limits of the chi-square distribution."""
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


def test_only_a_seed_repeats_the_noise():
    def row(entropy):
        return gradient_noise(1, 4, 1.0, Fraction(1), MILLIONTH, entropy)[0].tolist()

    assert row(ReplayableEntropy(3)) == row(ReplayableEntropy(3))
    assert row(SystemEntropy()) != row(SystemEntropy())


def test_clipping_by_hand():
    """(6, 8) has norm 10 and becomes (3, 4); (0, 1) and (0, 0) are within 5 and stay."""
    total = clipped_sum(np.array([[6, 8], [0, 1], [0, 0]], np.float32), 5.0)
    np.testing.assert_allclose(total, [3, 5], rtol=1e-6)


@given(anything, anything, st.sampled_from([1e-3, 0.7, 10.0, 1e3]))
def test_whatever_the_gradients_the_sum_moves_by_twice_their_number_times_clip(one, other, clip):
    """All of them may change, to anything; not even what is not finite gets past."""
    a, b = (clipped_sum(g, clip).astype(float) for g in (one, other))
    assert np.linalg.norm(a) <= 6 * clip * (1 + 1e-5)
    assert np.linalg.norm(a - b) <= 2 * 6 * clip * (1 + 1e-5)


def test_the_bound_is_reached():
    """Opposite gradients: no smaller sensitivity would do."""
    up = np.tile(np.array([[0, 9]], np.float32), (6, 1))
    difference = clipped_sum(up, 2.0) - clipped_sum(-up, 2.0)
    assert np.linalg.norm(difference) == pytest.approx(2 * 6 * 2)


def test_the_gradient_is_that_of_the_squared_error():
    """Predictions 2 and 5 for labels 1 and 5, so the first alone has a gradient, 2 (2 - 1)."""
    gradients = NoisyGradients([5, 9, 1], np.array([[0.5, 0]]), batch=2, clip=100)
    slopes = np.array([[1, 3], [7, 7]])
    found = gradients.sum(np.array([2, 0]), np.array([2, 5]), slopes)
    np.testing.assert_allclose(found, [2.5, 6])


def test_each_sum_is_paid_for_and_has_at_most_a_batch():
    gradients = NoisyGradients([5, 9, 1], np.zeros((1, 2)), batch=2, clip=1)
    with pytest.raises(InputError, match="at most 2 boxes, not 3"):
        gradients.sum(np.arange(3), np.zeros(3), np.zeros((3, 2)))
    gradients.sum(np.arange(2), np.zeros(2), np.zeros((2, 2)))
    with pytest.raises(BudgetExceeded, match="used up"):
        gradients.sum(np.arange(2), np.zeros(2), np.zeros((2, 2)))


def test_each_sum_has_noise_of_its_own():
    noise, _ = gradient_noise(3, 50, 1.0, Fraction(1), MILLIONTH, SystemEntropy())
    assert len(np.unique(noise)) > 140


def test_a_sum_holds_clipped_gradients_only():
    of = NoisyGradients([0.0, 0.0], np.zeros((1, 2), np.float32), batch=2, clip=1.0)
    found = of.sum(np.array([0, 1]), np.array([100.0, 0.0]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    np.testing.assert_allclose(found, [0.6, 0.8], rtol=1e-6)
