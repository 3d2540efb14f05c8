from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.privacy import Budget, exact, written
from snhkit.privacy.budget import MAX_PART, exact_delta


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1e-7, Fraction(1, 10**7)),
        (1 / 3, Fraction(3333333333333333, 10**16)),
        (np.float64(0.2), Fraction(1, 5)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (Fraction(3, 7), Fraction(3, 7)),
        (Decimal("0.05"), Fraction(1, 20)),
        ("0.05", Fraction(1, 20)),
        (" 1/3 ", Fraction(1, 3)),
        ("1e-2", Fraction(1, 100)),
        (MAX_PART - 1, Fraction(MAX_PART - 1)),
    ],
)
def test_exact_returns_the_fraction_that_was_written(epsilon, expected):
    value = exact(epsilon)
    assert value == expected
    assert type(value) is Fraction
    assert type(value.numerator) is int


@pytest.mark.parametrize("delta", [-1e-6, 1, "3/2", Fraction(1, MAX_PART), float("nan")])
def test_a_delta_is_at_least_0_and_below_1(delta):
    assert (exact_delta(0), exact_delta(1e-6)) == (0, Fraction(1, 10**6))
    with pytest.raises(InputError, match="delta must be"):
        exact_delta(delta)


def test_ten_tenths_are_one():
    assert sum((exact(0.1) for _ in range(10)), Fraction(0)) == 1
    assert 10 * Budget(0.1) == Budget(1)
    assert sum([0.1] * 10) != 1  # what floats make of it


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (0, "greater than 0"),
        (-0.5, "greater than 0"),
        ("-1/3", "greater than 0"),
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        (Decimal("NaN"), "finite"),
        ("inf", "finite"),
        (True, "must be a number"),
        (np.True_, "must be a number"),
        (None, "must be a number, not a NoneType"),
        (1j, "must be a number"),
        (np.array([0.1]), "must be a number"),
        ("a lot", "'a lot'"),
        ("1/0", "'1/0'"),
        ("1_0", "the digits 0 to 9, such as '0.1' or '1/3', not '1_0'"),
        ("０.５", "the digits 0 to 9"),
        ("1/１0", "the digits 0 to 9"),
        ("−1", "the digits 0 to 9"),
        (MAX_PART, "too many digits"),
        (Fraction(1, MAX_PART), "too many digits"),
        (0.0012345678901234567, "too many digits"),
        ("0." + "1" * 30, "too many digits"),
        ("1" * 100, "too many digits"),
        ("1e999999999", "too many digits"),
        ("1e-999999999", "too many digits"),
        (Decimal("1e-999999"), "too many digits"),
    ],
)
def test_exact_refuses_invalid_epsilons(epsilon, message):
    with pytest.raises(InputError, match=message):
        exact(epsilon)


@given(st.fractions(min_value=-100, max_value=100, max_denominator=10**6))
def test_written_text_reads_back_as_the_same_fraction(value):
    assert Fraction(written(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(120), "120"),
        (Fraction(1, 20), "0.05"),
        (Fraction(-3, 2), "-1.5"),
        (Fraction(19, 30), "19/30"),
    ],
)
def test_written_prefers_decimals(value, text):
    assert written(value) == text


def test_budgets_compare_add_and_print():
    assert Budget(0.1) + Budget("0.2") == Budget(0.3)
    assert Budget(0.1) < Budget("1/3") == Budget(1) / 3
    assert str(Budget(0.1) * 3) == "0.3"
    with pytest.raises(AttributeError):
        Budget(1).epsilon = Fraction(2)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(InputError, match="greater than 0"):
        Budget(0)
