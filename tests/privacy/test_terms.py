"""What a stratum may spend after a map of all strata."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.privacy import PrivacyUnit, Terms

WHOLE = Terms(Fraction(1), PrivacyUnit("user", 4))


@pytest.mark.parametrize(
    ("n", "share"),
    [(0, "0.4"), (-50, "0.4"), (200, "0.4"), (800, "0.17"), (1_000, "0.13"), (10**6, "0.1")],
)
def test_its_number_of_records_costs_20_in_units_of_its_noise(n, share):
    """At epsilon 0.6 for four records each, 0.15 a record: 20 of 1,000 * 0.15 are 13 %."""
    left = WHOLE.of_stratum(Fraction(2, 5), n)
    assert (left.epsilon, left.unit, left.n_share) == (Fraction(3, 5), WHOLE.unit, Fraction(share))


@given(st.floats(-1e12, 1e12), st.fractions(0, 1))
def test_it_spends_no_more_than_is_left(n, spent):
    if spent < 1:
        left = WHOLE.of_stratum(spent, n)
        assert left.epsilon + spent == 1
        assert Fraction(1, 10) <= left.n_share <= Fraction(2, 5)
