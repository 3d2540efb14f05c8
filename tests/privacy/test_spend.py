from fractions import Fraction

import pytest

from snhkit.errors import InputError
from snhkit.privacy import Spend
from snhkit.privacy.spend import total


def test_spends_add_up_exactly():
    tenths = [Spend(Fraction(1, 10), "a count")] * 10
    assert total(tenths).epsilon == 1
    assert total([]) == (0, 0, 0)
    assert str(tenths[0]) == "0.1 for a count"
    assert str(Spend(Fraction(1, 3), "cells", "parallel")) == "1/3 for cells, in parallel"


def test_deltas_add_up_exactly_and_are_printed():
    spends = [Spend(Fraction(1), "a sum", delta=Fraction(1, 10))] * 3
    assert total(spends).delta == Fraction(3, 10)
    assert total([Spend(Fraction(1), "a count")]).delta == 0
    assert str(spends[0]) == "1 (delta = 0.1) for a sum"


@pytest.mark.parametrize("delta", [Fraction(1), Fraction(-1, 5), 0.1, 0])
def test_a_delta_is_a_fraction_below_1(delta):
    with pytest.raises(InputError, match="delta must be a Fraction, at least 0 and below 1"):
        Spend(Fraction(1), "a sum", delta=delta)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1, 5), 0.1, 1])
def test_a_spend_is_a_fraction_above_0(epsilon):
    with pytest.raises(InputError, match="a positive Fraction"):
        Spend(epsilon, "a count")


def test_composition_is_one_of_two_words():
    with pytest.raises(InputError, match="'sequential' or 'parallel', not 'free'"):
        Spend(Fraction(1), "a count", "free")  # pyright: ignore[reportArgumentType]
