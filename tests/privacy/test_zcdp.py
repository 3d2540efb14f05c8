from decimal import Decimal, localcontext
from fractions import Fraction

import dp_accounting
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from snhkit.errors import InputError
from snhkit.privacy import Rho, epsilon_of, rho_of, zcdp
from snhkit.privacy.zcdp import pure_rho

DELTA = Fraction(1, 10**6)
epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=40, max_denominator=10**6)
deltas = st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 10)).filter(bool)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(5, 2), Fraction(100)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), DELTA, Fraction(1, 100)])
def test_the_conversion_is_that_of_opendp(scale, delta):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=float(scale)))
    expected = theirs.map(1.0).epsilon(float(delta))
    ours = epsilon_of(1 / (2 * scale**2), delta)
    assert float(ours) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("rho", [Fraction(1, 10**6), Fraction(1, 100), Fraction(3)])
def test_the_conversion_is_that_of_dp_accounting(rho):
    orders = list(1 + np.exp(np.linspace(-6, 25, 4_000)))
    accountant = RdpAccountant(orders=orders)
    accountant.compose(dp_accounting.ZCDpEvent(float(rho)))
    assert float(epsilon_of(rho, DELTA)) == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-4)


@given(epsilons, deltas)
def test_back_and_forth_is_never_above(epsilon, delta):
    rho = rho_of(epsilon, delta)
    assert (
        epsilon * Fraction(99, 100) < epsilon_of(rho, delta) <= epsilon * (1 + Fraction(1, 10**7))
    )


@given(epsilons, deltas)
def test_a_normal_distribution_of_that_rho_has_at_most_delta(epsilon, delta):
    """The exact delta of Gaussian noise (Balle and Wang 2018), which the theorem bounds."""
    mu = float(2 * rho_of(epsilon, delta)) ** 0.5
    e = float(epsilon)
    exact = norm.cdf(mu / 2 - e / mu) - np.exp(e + norm.logcdf(-mu / 2 - e / mu))
    assert exact <= float(delta)


def test_amounts_have_nine_digits_rounded_to_the_safe_side():
    rho, epsilon = rho_of(Fraction(1), DELTA), epsilon_of(Fraction(1, 8), DELTA)
    for value in (rho, epsilon):
        digits = Decimal(value.numerator) / Decimal(value.denominator)
        assert len(digits.normalize().as_tuple().digits) <= 9
    assert epsilon_of(rho + Fraction(1, 10**9), DELTA) > 1


def test_pure_differential_privacy_costs_half_of_its_square():
    assert pure_rho(Fraction(1, 10)) == Fraction(1, 200)
    # Randomised response is the worst pure mechanism: its Renyi divergence stays below alpha rho.
    epsilon = 0.8
    p = np.array([np.exp(epsilon), 1]) / (1 + np.exp(epsilon))
    for alpha in (1.01, 2, 5, 50):
        divergence = np.log((p**alpha * p[::-1] ** (1 - alpha)).sum()) / (alpha - 1)
        assert divergence <= alpha * float(pure_rho(Fraction(4, 5)))
        if alpha < 2:
            assert divergence > alpha * float(pure_rho(Fraction(4, 5))) / 2


def test_nothing_costs_nothing():
    assert epsilon_of(Fraction(0), DELTA) == 0


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, DELTA), (-1, DELTA), (1, 0), (1, 1), (1, -DELTA), (1, 2)]
)
def test_amounts_out_of_range_are_refused(epsilon, delta):
    with pytest.raises(InputError, match="must be greater than 0"):
        rho_of(Fraction(epsilon), Fraction(delta))
    with pytest.raises(InputError, match="must be"):
        epsilon_of(Fraction(epsilon) or Fraction(-1), Fraction(delta))


def test_an_epsilon_too_small_for_floats_is_refused():
    with pytest.raises(InputError, match="too small for delta"):
        rho_of(Fraction(1, 10**40), Fraction(1, 10**30))


@pytest.mark.parametrize("value", [0.5, Fraction(0), Fraction(-1)])
def test_a_rho_is_a_positive_fraction(value):
    with pytest.raises(InputError, match="Rho: value must be a positive Fraction"):
        Rho(value)


def best_in_50_digits(loss) -> Decimal:
    """Return the least ``loss(alpha)`` over orders alpha above 1."""
    orders = [1 + Decimal(x) for x in np.exp(np.linspace(-3, 12, 3_001))]
    best = min(orders, key=loss)
    for step in (best / 10**4, best / 10**6, best / 10**8):
        best = min((best + step * k for k in range(-100, 101)), key=loss)
    return loss(best)


def offset(alpha: Decimal) -> Decimal:
    return (1 - 1 / alpha).ln() - (alpha.ln() + Decimal("1e-6").ln()) / (alpha - 1)


@pytest.mark.parametrize("k", [1, 13, 10_007])
def test_floats_never_err_to_the_unsafe_side(k, monkeypatch):
    """Before all but nine digits are cut off."""
    monkeypatch.setattr(zcdp, "rounded", lambda value, _: Fraction(value))
    with localcontext(prec=50):
        least = best_in_50_digits(lambda alpha: alpha / k + offset(alpha))
        most = -best_in_50_digits(lambda alpha: -(Decimal(10) / k - offset(alpha)) / alpha)
        epsilon, rho = epsilon_of(Fraction(1, k), DELTA), rho_of(Fraction(10, k), DELTA)
        high, low = (Decimal(one.numerator) / one.denominator for one in (epsilon, rho))
        assert 0 < high / least - 1 < Decimal("2e-11")
        assert 0 < 1 - low / most < Decimal("2e-11")
