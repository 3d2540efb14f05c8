"""Audits of mechanisms whose epsilon is known."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from snhkit.errors import InputError
from snhkit.privacy import (
    Audit,
    ReplayableEntropy,
    audit_mechanism,
    audited_epsilon,
    discrete_laplace,
    epsilon_lower_bound,
    largest_accuracy,
    membership_accuracy,
)


def counting(scale: Fraction, seed: int = 0, draws: int = 40_000):
    """Return a mechanism that adds noise to a count, whose epsilon is 1 / scale."""
    draws = iter(discrete_laplace(draws, scale, ReplayableEntropy(seed)).tolist())
    return lambda count: count + next(draws)


@pytest.mark.parametrize("confidence", [0.9, 0.99])
@pytest.mark.parametrize("hits", [(900, 100), (1_000, 0), (3, 0), (500, 480), (0, 0), (0, 9)])
def test_bounds_are_those_of_scipy(hits, confidence):
    inside = [
        binomtest(k, 1_000).proportion_ci(confidence_level=confidence, method="exact") for k in hits
    ]
    expected = np.log(max(inside[0].low / inside[1].high, 1))
    found = epsilon_lower_bound(hits, (1_000, 1_000), confidence)
    assert found == pytest.approx(expected, abs=1e-9)


def test_delta_is_subtracted_before_the_quotient():
    """The mechanism reveals its input in one run of ten, and nothing in the others."""
    assert epsilon_lower_bound((100, 0), (1_000, 1_000)) > 2
    assert epsilon_lower_bound((100, 0), (1_000, 1_000), delta=0.1) == 0


def test_a_delta_is_given_to_every_bound():
    """One run of ten returns the input."""
    rng = np.random.default_rng(0)

    def leak(given):
        return given * (rng.random() < 0.1)

    assert audited_epsilon(leak, 1, 2, 2_000) > 2
    assert audited_epsilon(leak, 1, 2, 2_000, delta=0.15) == 0
    assert audit_mechanism(leak, {"": (1, 2)}, 1, 2_000, delta=0.15).largest == 0
    assert largest_accuracy(1, 0.15) == pytest.approx((np.e + 0.15) / (np.e + 1))


def test_the_bound_holds_with_its_confidence():
    """More than 90 wrong bounds in 300 audits at 80 % have a probability below 2e-5."""
    fair = (counting(Fraction(1), seed, 200) for seed in range(300))
    bounds = [audited_epsilon(mechanism, 0, 1, 100, confidence=0.8) for mechanism in fair]
    assert sum(bound > 1 for bound in bounds) <= 90


def test_the_bound_is_close_to_a_known_epsilon():
    assert 0.85 < audited_epsilon(counting(Fraction(1)), 5, 6, 20_000) <= 1


@pytest.mark.parametrize("promised", [0.5, 1, 2])
def test_half_of_the_noise_is_detected(promised):
    assert audited_epsilon(counting(1 / (2 * Fraction(promised))), 0, 1, 4_000) > promised


def test_the_bound_is_0_for_equal_distributions():
    assert audited_epsilon(counting(Fraction(1)), 5, 5, 4_000) == 0
    assert audited_epsilon(lambda _: [1.0, 2.0], 0, 1, 100) == 0


def test_all_outputs_are_used_together():
    """Two of four noisy numbers change by 1: epsilon is 2 together, and 1 for each alone."""
    draws = discrete_laplace((8_000, 4), Fraction(1), ReplayableEntropy(2))
    runs = iter(draws)
    found = audited_epsilon(lambda step: np.array([step, 7, -step, 7]) + next(runs), 0, 1, 4_000)
    assert 1.1 < found <= 2


def test_a_mechanism_without_noise_is_detected():
    found = audited_epsilon(lambda given: given, 0, 1, 4_000)
    assert found > 5
    assert audited_epsilon(lambda given: -given, 0, 1, 4_000) == found


def test_too_few_runs_are_refused():
    with pytest.raises(InputError, match="runs must be at least 4, not 3"):
        audited_epsilon(lambda given: given, 0, 1, 3)


class TestSeveralPairs:
    def test_the_pair_that_shows_most_is_named(self):
        """The mechanism protects small inputs only."""
        noise = counting(Fraction(1))
        found = audit_mechanism(
            lambda count: count if count > 100 else noise(count),
            {"small": (1, 2), "large": (200, 201)},
            promised=1,
            runs=1_000,
        )
        assert found.refuted
        assert found.shown["small"] <= 1 < found.shown["large"] == found.largest
        assert str(found).startswith("promised 1, at least 4.4")
        assert str(found).endswith("shown (by large; 2 pairs, 1,000 runs, 99 %)")

    def test_more_pairs_need_more_evidence(self):
        alone, among = (
            audit_mechanism(counting(Fraction(1)), dict.fromkeys(range(pairs), (0, 1)), 1, 1_000)
            for pairs in (1, 9)
        )
        assert 0 < among.shown[0] < alone.shown[0]
        less = audit_mechanism(counting(Fraction(1)), {0: (0, 1)}, 1, 1_000, confidence=0.8)
        assert less.shown[0] > alone.shown[0]
        assert (less.confidence, alone.confidence) == (0.8, 0.99)

    def test_a_promise_that_holds_is_not_refuted(self):
        assert not Audit(0.5, {"a": 0.31, "b": 0.5}, 2_000, 0.99).refuted
        assert str(Audit(0.5, {"a": 0.31}, 2_000, 0.99)) == (
            "promised 0.5, at least 0.31 shown (by a; 1 pair, 2,000 runs, 99 %)"
        )

    def test_no_pairs_are_refused(self):
        with pytest.raises(InputError, match="at least one pair"):
            audit_mechanism(lambda given: given, {}, 1)


class TestMembership:
    def test_the_accuracy_of_the_laplace_mechanism_is_known(self):
        """Where the threshold lies between both counts: 1 / (1 + exp(-1)) for noise of scale 1."""
        right, least = membership_accuracy(counting(Fraction(1), draws=80_000), 5, 6, 20_000)
        assert right == pytest.approx(largest_accuracy(1), abs=0.01)
        assert least < right

    def test_equal_inputs_are_told_apart_by_chance_only(self):
        right, least = membership_accuracy(counting(Fraction(1)), 5, 5, 4_000)
        assert right == pytest.approx(0.5, abs=0.03)
        assert least < 0.5

    @pytest.mark.parametrize("sign", [1, -1])
    def test_inputs_without_noise_are_always_told_apart(self, sign):
        right, least = membership_accuracy(lambda given: sign * given, 0, 1, 400)
        assert right == 1
        # By hand: 400 guesses are right with a probability of p^400, which is 1 %.
        assert least == pytest.approx(0.01 ** (1 / 400))
        _, surer = membership_accuracy(lambda given: sign * given, 0, 1, 400, confidence=0.999)
        assert surer == pytest.approx(0.001 ** (1 / 400))

    def test_what_is_mostly_smaller_and_rarely_far_larger_is_told_apart(self):
        outputs = itertools.cycle([0] * 9 + [20])
        right, _ = membership_accuracy(lambda given: given or next(outputs), 0, 1, 400)
        assert right == pytest.approx(0.95, abs=0.01)

    def test_the_largest_accuracy_is_that_of_randomised_response(self):
        assert largest_accuracy(np.log(3)) == pytest.approx(0.75)
        assert largest_accuracy(0, delta=1) == 1
