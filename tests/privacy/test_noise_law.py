"""The noise follows its distribution; each test has a false-alarm rate of 1e-7.

With 200,000 draws, a scale that is wrong by a tenth is missed with probability below 1e-99.
"""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import binomtest, chi2_contingency, norm

from snhkit.geometry import Histogram
from snhkit.privacy import ReplayableEntropy, SystemEntropy, discrete_gaussian, discrete_laplace
from snhkit.privacy.noise import noisy_count, noisy_histogram

FALSE_ALARM = 1e-7
DRAWS = 200_000
TENTH = Fraction(11, 10)

scales = pytest.mark.parametrize(
    "scale",
    [
        Fraction(1, 2),
        Fraction(3, 7),
        Fraction(1),
        Fraction(5),
        Fraction(20),
        Fraction(10**9 + 7, 1000),
        Fraction(3 * 2**60 + 1, 2**61 - 1),  # the widest integers, with a carry almost always
    ],
    ids=str,
)


@pytest.mark.chance(2 * FALSE_ALARM)
@scales
def test_the_right_scale_passes_and_a_tenth_more_or_less_fails(scale, laplace_p):
    """Both signs are equally probable, too."""
    draws = discrete_laplace(DRAWS, scale, SystemEntropy())
    above, below = int((draws > 0).sum()), int((draws < 0).sum())
    assert binomtest(above, above + below).pvalue > FALSE_ALARM
    assert laplace_p(draws, scale) > FALSE_ALARM
    assert laplace_p(draws, scale * TENTH) < FALSE_ALARM
    assert laplace_p(draws, scale / TENTH) < FALSE_ALARM


@pytest.mark.chance(3 * FALSE_ALARM)
@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
def test_draws_are_uncorrelated(draw):
    # 65,536 draws are made at a time, so a word that is used twice would show at that distance.
    draws = draw(3 * 65_536, Fraction(20), SystemEntropy()) / 20
    limit = norm.isf(FALSE_ALARM / 2)
    for lag in (1, 2, 65_536):
        products = draws[lag:] * draws[:-lag]
        assert abs(products.mean()) / (products.std() / np.sqrt(products.size)) < limit


@pytest.mark.chance(FALSE_ALARM)
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(Fraction(1, 5), 1), (Fraction(7, 2), 3)])
def test_a_histogram_gets_noise_of_sensitivity_over_epsilon(
    epsilon, sensitivity, histogram: Histogram, laplace_p
):
    noisy, _ = noisy_histogram(histogram, epsilon, sensitivity, SystemEntropy())
    noise = (noisy - histogram.counts).ravel()
    scale = sensitivity / epsilon
    assert laplace_p(noise, scale) > FALSE_ALARM
    assert laplace_p(noise, scale * TENTH) < FALSE_ALARM
    assert laplace_p(noise, scale / TENTH) < FALSE_ALARM


def test_a_count_gets_noise_of_sensitivity_over_epsilon():
    def same(scale: Fraction) -> bool:
        return all(
            noisy_count(5, Fraction(1, 50), 3, ReplayableEntropy(seed), "n")[0] - 5
            == discrete_laplace(1, scale, ReplayableEntropy(seed))[0]
            for seed in range(20)
        )

    assert same(Fraction(150))
    assert not same(Fraction(150) * TENTH)
    assert not same(Fraction(150) / TENTH)


@pytest.mark.chance(FALSE_ALARM)
@pytest.mark.parametrize(("draw", "far"), [(discrete_laplace, 12), (discrete_gaussian, 8)])
def test_the_distribution_is_that_of_opendp(draw, far):
    """With 40,000 of their draws, a tenth is missed with probability below 1e-18."""
    dp.enable_features("contrib")
    distance = dp.l1_distance(T=int) if draw is discrete_laplace else dp.l2_distance(T=float)
    make = dp.m.make_laplace if draw is discrete_laplace else dp.m.make_gaussian
    vectors = dp.vector_domain(dp.atom_domain(T=int))
    theirs = np.array(make(vectors, distance, scale=2.5)([0] * 40_000))

    def p_value(scale: Fraction) -> float:
        ours = draw(DRAWS, scale, SystemEntropy())
        table = [np.bincount(np.clip(x, -far, far) + far) for x in (ours, theirs)]
        return chi2_contingency(table).pvalue

    assert p_value(Fraction(5, 2)) > FALSE_ALARM
    assert p_value(Fraction(5, 2) * TENTH) < FALSE_ALARM
    assert p_value(Fraction(5, 2) / TENTH) < FALSE_ALARM


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_no_stretch_of_noise_occurs_twice(law):
    """Sixteen draws in a row have some 70 bits, so a repetition means that noise was used again."""
    entropy, size = ReplayableEntropy(1), 700_000
    draw = discrete_laplace if law == "laplace" else discrete_gaussian
    noise = draw((size // 700, 700), Fraction(9), entropy).ravel()
    stretches = noise.reshape(-1, 20).astype(np.int32)
    for begin in (0, 7):
        shifted = noise[begin : size - 20 + begin].reshape(-1, 20).astype(np.int32)
        both = np.concatenate([stretches, shifted[: len(shifted) * bool(begin)]])
        assert len(np.unique(both, axis=0)) == len(both)
