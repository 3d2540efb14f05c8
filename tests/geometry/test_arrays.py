import numpy as np
import pandas as pd
import polars as pl
import pytest

from snhkit.checks import floats
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region

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
