from fractions import Fraction

import pytest
from scipy.stats import dlaplace

from snhkit.privacy import Rho, SystemEntropy, discrete_laplace, noise_variance
from snhkit.privacy.scale import inverse_scale


@pytest.mark.parametrize("epsilon", ["1/1000", "1/50", "1", "7/2", "40"])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_the_variance_is_that_of_the_distribution(epsilon, sensitivity):
    expected = dlaplace(float(Fraction(epsilon) / sensitivity)).var()
    assert noise_variance(Fraction(epsilon), sensitivity) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("price", [Fraction(1, 200), Rho(Fraction(1, 20_000))])
@pytest.mark.parametrize("sensitivity", [1, 7])
def test_laplace_noise_of_the_inverse_scale_has_the_variance(price, sensitivity):
    wide = 2 / inverse_scale(price, sensitivity) ** 2
    assert noise_variance(price, sensitivity) == pytest.approx(wide, rel=1e-4)


def test_extreme_epsilons():
    assert noise_variance(Fraction(1, 10**9), 1) == pytest.approx(2e18)
    assert noise_variance(Fraction(10**6), 1) == 0


@pytest.mark.chance(1e-8)
def test_the_variance_is_that_of_draws():
    """200,000 draws of kurtosis about 6; the tolerance is six standard errors, 0.03."""
    draws = discrete_laplace(200_000, Fraction(5, 2), SystemEntropy())
    spread = (draws.astype(float) ** 2).mean()
    assert spread == pytest.approx(noise_variance(Fraction(2, 5), 1), rel=6 * (5 / 200_000) ** 0.5)
