"""Conversion of array arguments: floats with nan for missing values, and read-only copies."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError

__all__ = ["floats", "frozen"]


def floats(name: str, values: Any) -> NDArray[np.float64]:
    """Return values as floating-point numbers, with nan where a number is missing.

    Examples
    --------
    >>> floats("x", np.ma.masked_array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    try:
        if np.ma.isMaskedArray(values):
            return np.ma.filled(values.astype(np.float64), np.nan)
        array = np.asarray(values)
        if array.dtype.kind == "O" and hasattr(values, "isna"):  # a nullable column of pandas
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{name} must contain numbers only.")


def frozen(array: NDArray) -> NDArray:
    """Return a read-only copy of an array.

    Examples
    --------
    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    copy = array.copy()
    copy.flags.writeable = False
    return copy
