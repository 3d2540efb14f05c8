"""Conversion of times to microseconds since 1970 in UTC."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NO_TIME", "days_of", "instant", "microseconds"]

NO_TIME = int(np.iinfo(np.int64).min)
"""The number that stands for a missing time."""

_SECONDS = r"\d{9,11}(\.\d+)?"  # from March 1973 on; fewer digits may be a date
_DAY_US = 86_400_000_000


def days_of(time: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the days, counted from 1970-01-01 in UTC, of times in microseconds.

    Examples
    --------
    >>> days_of(np.array([-1, 0, 86_400_000_000]))
    array([-1,  0,  1])
    """
    return time // _DAY_US


def instant(name: str, value: object) -> int | None:
    """Return the value of an argument, a time or None, in microseconds since 1970 in UTC.

    ``name`` is the name of the argument, for messages.

    Examples
    --------
    >>> instant("since", "1970-01-02"), instant("since", None)
    (86400000000, None)
    """
    import pandas as pd

    if value is None:
        return None
    try:
        given: Any = pd.Timestamp(value)  # pyright: ignore[reportArgumentType]
        if given is not pd.NaT:
            given = given.tz_localize("UTC") if given.tzinfo is None else given.tz_convert("UTC")
            return int((given - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(microseconds=1))
    except (ValueError, TypeError, OverflowError):
        pass
    raise InputError(f"{name} must be a time such as '2026-11-01' or a datetime, not {value!r}.")


def microseconds(name: str, column: "pa.ChunkedArray") -> NDArray[np.int64]:
    """Return the times of a column in microseconds since 1970, shape (n,).

    The result is ``NO_TIME`` where a time is missing or cannot be read.

    Parameters
    ----------
    name : str
        Name of the source, for messages.
    column : ChunkedArray
        Timestamps, dates, text in ISO 8601, or seconds since 1970 as numbers or as text of 9 to 11
        digits. Times without a time zone are in UTC.

    Raises
    ------
    InputError
        If the column has another type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> microseconds("trips.csv", pa.chunked_array([["1970-01-01T00:00:01", "noon"]])).tolist()
    [1000000, -9223372036854775808]
    """
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        found = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
    elif pa.types.is_floating(kind) or pa.types.is_integer(kind):
        seconds = column.cast(pa.float64(), safe=False).to_numpy()
        known = np.isfinite(seconds) & (np.abs(seconds) < 1e12)
        return _of_seconds(np.where(known, seconds, np.nan))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = pd.Series(column.to_pandas(), dtype=object)
        parsed = pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
        values = parsed.dt.as_unit("us").astype("int64").to_numpy()
        numbers = texts.where(texts.str.fullmatch(_SECONDS, na=False))
        seconds = np.asarray(pd.to_numeric(numbers), float)
        return np.where(parsed.notna().to_numpy(), values, _of_seconds(seconds))
    elif pa.types.is_null(kind):
        return np.full(len(column), NO_TIME)
    else:
        raise InputError(
            f"{name}: times must be timestamps, dates, ISO 8601 text or seconds since 1970, not "
            f"{kind}."
        )
    whole = found.cast(pa.int64()).fill_null(NO_TIME)
    return whole.to_numpy()


def _of_seconds(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    known = np.isfinite(seconds)
    return np.where(known, np.where(known, seconds, 0) * 1e6, NO_TIME).astype(np.int64)
