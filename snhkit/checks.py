"""Checks and conversions of single arguments, shared by all subpackages."""

import math
import numbers
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError


def cut(text: str, most: int = 40) -> str:
    """Return a text that others wrote, for a message, without what exceeds ``most`` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int; raise InputError unless it is a whole number within bounds."""
    try:
        number = None if isinstance(value, bool | np.bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f", at least {least}" if most is None else f" from {least:,} to {most:,}"
        raise InputError(f"{name} must be a whole number{bounds}, not {value!r}.")
    return number


def positive(name: str, value: Any, unit: str = "") -> float:
    """Return ``value`` as a float; raise InputError unless it is a positive, finite number."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        number = float(value) if real else math.nan
    except OverflowError:
        number = math.inf
    if not 0 < number < math.inf:
        of_unit = f" of {unit}" if unit else ""
        raise InputError(f"{name} must be a positive number{of_unit}, not {value!r}.")
    return number


def share(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise InputError unless it is a share between 0 and 1."""
    if positive(name, value) >= 1:
        raise InputError(f"{name} is a share of epsilon and must be below 1, not {value!r}.")
    return float(value)


def two_numbers(name: str, value: Any) -> tuple[float, float]:
    """Return a pair of numbers as floats; the range of the numbers is not checked."""
    try:
        low, high = (float(number) for number in value if not isinstance(number, str))
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} must be two numbers, such as (100, 400), not {value!r}."
        ) from None
    return low, high


def floats(name: str, values: Any) -> NDArray[np.float64]:
    """Return values as floating-point numbers, with nan where a number is missing."""
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


def refuse_no_crs(frame: Any) -> None:
    """Raise InputError if a frame of shapes has no CRS."""
    if frame.crs is None:
        raise InputError(
            "the frame has no CRS, so the unit of its coordinates is unknown; if they are degrees, "
            "set the CRS with frame.set_crs(4326)."
        )


def frozen(array: NDArray) -> NDArray:
    """Return a read-only copy of an array, or the array if it is read-only and owns its memory."""
    if array.base is None and not array.flags.writeable:
        return array
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def is_plain(text: str) -> bool:
    """Return whether a text may be read as a number: Python also reads 1_0 and other digits."""
    return text.isascii() and "_" not in text


def typed_number(text: str) -> float:
    """Return the number that a person typed; raise ValueError if it is not plain or not finite."""
    number = float(text) if is_plain(text) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"not a number: {text!r}")
    return number


def typed_place(text: str) -> tuple[float, float]:
    """Return the latitude and longitude that a person typed, after a comma or a space."""
    lat, lon = map(typed_number, text.replace(",", " ").split())
    return lat, lon


def typed_whole(text: str) -> int:
    """Return the whole number of at least 1 that a person typed."""
    if not (len(text) < 19 and text.isascii() and text.strip().isdecimal() and int(text)):
        raise InputError(f"Give a whole number of at least 1, not {text.strip()!r}.")
    return int(text)


def is_number(text: str) -> bool:
    """Return whether a text of a file is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return is_plain(text)
