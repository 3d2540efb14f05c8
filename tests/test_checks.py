from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from snhkit.checks import floats, positive, two_numbers, typed_whole, whole
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_whole_numbers_of_python_and_numpy_become_int(value):
    assert type(whole("k", value, least=3, most=3)) is int


@pytest.mark.parametrize("value", [2, 8, 3.0, np.float64(3), True, np.True_, "3", None, np.nan])
def test_other_values_are_no_whole_numbers_in_bounds(value):
    with pytest.raises(InputError, match="k must be a whole number from 3 to 7, not "):
        whole("k", value, least=3, most=7)


@pytest.mark.parametrize("value", [3, 0.5, np.float32(0.5), Fraction(1, 2)])
def test_positive_numbers_become_float(value):
    assert positive("c", value) == float(value)
    assert type(positive("c", value)) is float


@pytest.mark.parametrize("value", [0, -1, np.inf, np.nan, True, "1", None, 1j, [1]])
def test_other_values_are_not_positive(value):
    with pytest.raises(InputError, match="c must be a positive number of metres, not "):
        positive("c", value, unit="metres")


def test_a_number_too_large_for_a_float_is_refused():
    with pytest.raises(InputError, match="c must be a positive number, not 1000"):
        positive("c", 10**400)


@pytest.mark.parametrize("value", [(1, 2.5), [1, 2.5], np.array([1, 2.5]), (Fraction(1), 2.5)])
def test_two_numbers_become_floats(value):
    assert two_numbers("sizes_m", value) == (1, 2.5)


@pytest.mark.parametrize("value", ["ab", "12", (100,), (1, 2, 3), None, 5, ("1", 2), (10**400, 1)])
def test_other_values_are_not_two_numbers(value):
    with pytest.raises(InputError, match=r"sizes_m must be two numbers, such as \(100, 400\), not"):
        two_numbers("sizes_m", value)


GAPS = {
    "masked": np.ma.masked_array([1, 2], mask=[False, True]),
    "None": [1, None],
    "Int64": pd.Series([1, None], dtype="Int64"),
    "Float64": pd.Series([1, None], dtype="Float64"),
    "arrow": pd.Series([1, None], dtype="double[pyarrow]"),
    "polars": pl.Series([1, None]),
}


@pytest.mark.parametrize("values", GAPS.values(), ids=GAPS)
def test_what_is_missing_is_nan(values):
    np.testing.assert_array_equal(floats("x", values), [1.0, np.nan])
    city = Region.around(lat=0, lon=0, side_m=9)
    with pytest.raises(InputError, match="box 1: width = nan"):
        RangeQueries(city, [1, 2], [1, 2], values, [1, 1])


@pytest.mark.parametrize(
    "values", [["a"], ["1"], [1j], [[1], [2, 3]], [10**400], pd.Series(["a"])], ids=repr
)
def test_what_is_no_number_is_refused(values):
    with pytest.raises(InputError, match="x must contain numbers only"):
        floats("x", values)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "１", "9" * 5000, "five"])
def test_what_is_typed_as_a_number_of_records_is_a_whole_number(text):
    assert typed_whole(" 17 ") == 17
    with pytest.raises(InputError, match="whole number of at least 1"):
        typed_whole(text)
