from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import Histogram, Points
from snhkit.privacy import (
    ReplayableEntropy,
    Spend,
    SystemEntropy,
    discrete_gaussian,
    discrete_laplace,
    exact,
)
from snhkit.privacy.budget import MAX_PART
from snhkit.privacy.noise import noisy_count, noisy_histogram, uniform_below
from snhkit.privacy.scale import noise_scale

TOP = 2**64 - 1


class Stuck:
    replayable = False

    def __init__(self, word: int) -> None:
        self.word = word

    def words(self, count):
        return np.full(count, self.word, np.uint64)


def test_words_beyond_the_last_multiple_of_n_are_drawn_again(scripted):
    # 2**64 = 3 * q + 1, so only the largest word is rejected.
    entropy = scripted([TOP, TOP - 1, 5, TOP, 7])
    assert uniform_below(3, 3, entropy).tolist() == [7 % 3, (TOP - 1) % 3, 5 % 3]
    assert not entropy.left.size


def test_a_power_of_two_uses_every_word(scripted):
    assert uniform_below(8, 2, scripted([TOP, 0])).tolist() == [7, 0]


def test_one_outcome_needs_no_word(scripted):
    assert uniform_below(1, 4, scripted([])).tolist() == [0, 0, 0, 0]


@pytest.mark.chance(1e-7)
def test_draws_are_uniform_where_remainders_are_biased():
    # 2**64 is 5 + 1/3 times n, so plain remainders would favour the lowest third 6 to 5.
    n = 3 * 2**60
    low, middle, high = np.bincount(uniform_below(n, 300_000, SystemEntropy()) // 2**60)
    assert chisquare([low, middle, high]).pvalue > 1e-7
    words = SystemEntropy().words(300_000)
    biased = np.bincount((words % np.uint64(n) // np.uint64(2**60)).astype(int))
    assert chisquare(biased).pvalue < 1e-7


@pytest.mark.parametrize("word", [0, TOP])
@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
def test_a_broken_source_of_entropy_is_detected(draw, word):
    with pytest.raises(SnhkitError, match="entropy is broken"):
        draw(10, Fraction(3), Stuck(word))


@pytest.mark.chance(1e-99)  # 1,200 numbers, none of which is likelier than 1 in 200
def test_only_a_seed_repeats_the_noise():
    scale = Fraction(100)
    one, two = (discrete_laplace((30, 40), scale, ReplayableEntropy(5)) for _ in range(2))
    assert one.shape == (30, 40)
    assert one.dtype == np.int64
    assert (one == two).all()
    assert (one != discrete_laplace((30, 40), scale, ReplayableEntropy(6))).any()
    fresh = [discrete_laplace((30, 40), scale, SystemEntropy()) for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()
    assert ReplayableEntropy(5).replayable
    assert not SystemEntropy().replayable


@pytest.mark.parametrize("seed", [-1, 0.5, True, None, "7"])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        ReplayableEntropy(seed)


@pytest.mark.parametrize("shape", [0, (0, 3), 1, (2, 3, 4)])
def test_any_shape(shape):
    assert discrete_laplace(shape, Fraction(2), SystemEntropy()).shape == np.empty(shape).shape


@pytest.mark.parametrize(
    "scale",
    [
        Fraction(0),
        Fraction(-1),
        Fraction(2**50 + 1),
        Fraction(2**62 + 1, 2**62),
        Fraction(1, 2**62),
    ],
)
def test_scales_beyond_64_bits_are_refused(scale):
    with pytest.raises(InputError, match="discrete_laplace: "):
        discrete_laplace(1, scale, SystemEntropy())


def test_the_largest_scales_fit():
    assert abs(discrete_laplace(10_000, Fraction(2**50), SystemEntropy())).max() > 2**50
    least = Fraction(1, 2**62 - 1)
    assert not discrete_laplace(100, least, SystemEntropy()).any()


def test_noise_does_not_depend_on_the_counts(histogram: Histogram):
    grid = histogram.partition
    empty = grid.count(Points(grid.region, np.empty((0, 2))))
    a, _ = noisy_histogram(histogram, Fraction(1, 5), 1, ReplayableEntropy(3))
    b, _ = noisy_histogram(empty, Fraction(1, 5), 1, ReplayableEntropy(3))
    assert (a - histogram.counts == b).all()


def test_without_noise_the_counts_are_exact(histogram: Histogram):
    counts, _ = noisy_histogram(histogram, Fraction(10**6), 1, SystemEntropy())
    assert (counts == histogram.counts).all()
    assert noisy_count(41, Fraction(10**6), 1, SystemEntropy(), "n")[0] == 41


def test_the_cost_of_a_partition_is_epsilon_once(histogram: Histogram):
    _, spend = noisy_histogram(histogram, Fraction(1, 5), 7, SystemEntropy())
    assert spend == Spend(Fraction(1, 5), "counts of 202,500 cells", "parallel")


def test_the_cost_of_a_count():
    noisy, spend = noisy_count(np.int64(10), 0.1, 1, SystemEntropy(), "number of records")
    assert type(noisy) is int
    assert spend == Spend(Fraction(1, 10), "number of records", "sequential")


def test_only_a_histogram_is_accepted(histogram: Histogram):
    with pytest.raises(InputError, match=r"Histogram that .*count makes, not a ndarray"):
        noisy_histogram(histogram.counts, Fraction(1), 1, SystemEntropy())  # pyright: ignore


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=1000, max_denominator=2**200),
    st.integers(1, 10**6),
)
def test_rounding_a_long_scale_adds_hardly_any_noise_and_removes_none(epsilon, sensitivity):
    exactly, drawn = sensitivity / epsilon, noise_scale(epsilon, sensitivity)
    assert exactly <= drawn <= exactly * (1 + Fraction(1, 2**39))
    assert max(drawn.numerator, drawn.denominator) < MAX_PART


@pytest.mark.parametrize("epsilon", [exact(1 / 3), Fraction(10**30 + 1, 10**31), Fraction(10**40)])
def test_a_long_share_of_epsilon_costs_what_it_says(epsilon):
    share = epsilon * Fraction(19, 2_000_003)
    _, spend = noisy_count(3, share, 1_000, SystemEntropy(), "n")
    assert spend.epsilon == share


def test_scales_that_fit_are_not_rounded():
    assert noise_scale(exact(1 / 3), 7) == 7 / exact(1 / 3)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), float("nan")])
def test_noise_needs_a_positive_epsilon(epsilon):
    with pytest.raises(InputError, match="epsilon must be"):
        noisy_count(1, epsilon, 1, SystemEntropy(), "n")


@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, True])
def test_sensitivity_is_a_whole_number(sensitivity):
    with pytest.raises(InputError, match="sensitivity must be a whole number, at least 1"):
        noisy_count(1, Fraction(1), sensitivity, SystemEntropy(), "n")


@pytest.mark.chance(1e-9)
def test_no_word_of_the_operating_system_is_used_twice():
    words = SystemEntropy().words(100_000)  # two are equal by chance with probability 3e-10
    assert len(np.unique(words)) == len(words)
