"""Descriptions, for the owner of the records, of why rows cannot be used."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIRST_ROWS", "Rows", "defect", "fault", "possible"]

FIRST_ROWS = 5
"""The number of unusable rows that a report describes."""

_LONGEST = 40  # characters of a value in a message


class Rows(Protocol):
    """The interface of n rows of a source whose values can be looked up for messages."""

    @property
    def lat(self) -> NDArray[np.float64]:
        """Latitudes in degrees, shape (n,); nan where there is no number."""
        ...

    @property
    def lon(self) -> NDArray[np.float64]:
        """Longitudes in degrees, shape (n,); nan where there is no number."""
        ...

    @property
    def value(self) -> Callable[[int, str], object]:
        """A function of a row, from 0, and a role, such as "lat"; returns the original value."""
        ...


def possible(lat: NDArray[np.float64], lon: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each latitude and longitude is within its range in degrees, shape (n,)."""
    return (np.abs(lat) <= 90) & (lon >= -180) & (lon <= 360)


def defect(rows: Rows, row: int, user_known: bool) -> str:
    """Return what is wrong with the first unusable value of a row: position, user id or time.

    If the position is valid, ``user_known`` states whether the user id is valid too.
    """
    for role, what, largest in (("lat", "latitude", 90), ("lon", "longitude", 360)):
        number = float(getattr(rows, role)[row])
        if np.isnan(number):
            return fault(what, rows.value(row, role), "is not a number")
        if not (-180 if role == "lon" else -90) <= number <= largest:
            return f"{what} {number:g} is out of range"
    if user_known:
        return fault("time", rows.value(row, "time"), "is not a time")
    return fault("user", rows.value(row, "user"), "is not an id")


def fault(what: str, value: object, wrong: str) -> str:
    """Return a phrase, for messages, that describes a missing or wrong value.

    Parameters
    ----------
    what : str
        The name of the value, such as "latitude".
    value : object
        The value as it is in the source.
    wrong : str
        What is wrong with the value if it is not missing.

    Examples
    --------
    >>> fault("user", " ", "is not an id"), fault("user", "-", "is not an id")
    ('user is missing', "user '-' is not an id")
    """
    return f"{what} is missing" if _is_empty(value) else f"{what} {_shown(value)} {wrong}"


def _is_empty(value: object) -> bool:
    import pandas as pd

    missing = pd.api.types.is_scalar(value) and bool(pd.isna(value))  # pyright: ignore
    return missing or not str(value).strip()


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
