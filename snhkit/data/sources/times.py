"""Times of rows, as microseconds since 1970 in UTC, and as local seconds."""

import contextlib
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.untrusted import unpacked

pc: Any = pyarrow.compute  # made at import, so a type checker cannot know it

NO_TIME = int(np.iinfo(np.int64).min)
"""The number that stands for a missing time."""

_FIRST, _LAST = 315_532_800, 4_102_444_800  # 1980 and 2100, in seconds since 1970
_UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$"
_BASIC_DATE = r"^[0-9]{8}$"  # ISO 8601 without hyphens
_WITH_ZONE = r"[T ].*(Z|z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_AMBIGUOUS = r"^\s*[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2,4}"


def zone(tz: str) -> str:
    """Return the name of a time zone after a check that it exists."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(tz).key
    except (ValueError, TypeError, OSError, KeyError):
        raise InputError(f"tz must name a time zone such as 'Europe/Paris', not {tz!r}.") from None


def local_seconds(time: NDArray[np.int64], tz: str | None = None) -> NDArray[np.int64]:
    """Return the seconds since 1970 that clocks in the zone ``tz`` show at UTC microseconds."""
    if tz is not None:
        local = pd.DatetimeIndex(time.view("M8[us]"), tz="UTC").tz_convert(tz).tz_localize(None)
        time = np.asarray(local.as_unit("us").asi8)
    return np.where(time == NO_TIME, NO_TIME, time // 10**6)


def instant(name: str, value: object, tz: str | None = None) -> int:
    """Return the argument ``name``, a time, in microseconds since 1970 in UTC."""
    found = NO_TIME
    if isinstance(value, (str, int, float, date, np.generic)) and not isinstance(value, bool):
        with contextlib.suppress(pa.ArrowException, OverflowError):
            found = int(times_of(name, pa.array(pd.Series([value])), tz)[0][0])
    if found == NO_TIME:
        raise InputError(
            f"{name} must be a time such as '2026-11-01' or a datetime, not {value!r}."
        )
    return found


def times_of(
    name: str, column: pa.Array, tz: str | None = None, number: Callable[[int], int] | None = None
) -> tuple[NDArray[np.int64], str]:
    """Return times in microseconds since 1970, and the unit if they are numbers.

    ``NO_TIME`` stands for those that are missing or cannot be read; ``tz`` is the zone of others.
    """
    column = unpacked(column)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        aware = getattr(kind, "tz", None)
        return _local(column.cast(pa.timestamp("us", aware), safe=False), None if aware else tz), ""
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return _of_numbers(name, column, number)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _of_texts(name, column.cast(pa.large_string()), tz, number)
    if pa.types.is_null(kind):
        return np.full(len(column), NO_TIME), ""
    raise InputError(
        f"{name}: times must be timestamps, dates, ISO 8601 text or seconds since 1970, not {kind}."
    )


def _local(column: pa.Array, tz: str | None) -> NDArray[np.int64]:
    """Return timestamps as numbers in UTC; those without a zone are local times of ``tz``."""
    time = column.cast(pa.int64()).fill_null(NO_TIME).to_numpy()
    if tz is None:
        return time
    there = pd.DatetimeIndex(time.view("M8[us]")).tz_localize(
        tz, ambiguous=np.ones(len(time), bool), nonexistent="shift_forward"
    )
    return np.asarray(there.tz_convert("UTC").as_unit("us").asi8)


def _of_texts(
    name: str, texts: pa.Array, tz: str | None, number: Callable[[int], int] | None
) -> tuple[NDArray[np.int64], str]:
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return _local(texts.cast(kind), None if kind.tz else tz), ""
        except pa.ArrowInvalid:
            continue
    texts = pc.utf8_trim_whitespace(texts)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    numeric = pc.match_substring_regex(texts, _NUMBER)
    if pc.all(numeric).as_py() and not pc.all(pc.match_substring_regex(texts, _BASIC_DATE)).as_py():
        return _of_numbers(name, texts.cast(pa.float64()), number)
    unclear = pc.match_substring_regex(texts, _AMBIGUOUS).fill_null(False)
    if pc.any(unclear).as_py():
        shown = texts.filter(unclear)[0].as_py()[:40]
        raise InputError(
            f"{name}: in times such as {shown!r}, day and month may be exchanged; write ISO 8601, "
            "as in 2026-11-01, with pandas.to_datetime(column, dayfirst=True) or dayfirst=False."
        )
    texts = pc.replace_substring_regex(texts, r"\s*(UTC|GMT)$", "Z")
    parsed = pd.to_datetime(
        pd.Series(texts.to_pylist(), dtype=object), errors="coerce", utc=True, format="ISO8601"
    )
    time = np.asarray(parsed.dt.as_unit("us").astype("int64"))
    time = np.where(parsed.isna().to_numpy(), NO_TIME, time)
    if tz is not None:
        naive = ~np.asarray(pc.match_substring_regex(texts, _WITH_ZONE).fill_null(True))
        time[naive] = _local(pa.array(time[naive].view("M8[us]")), tz)
    return time, ""


def _of_numbers(
    name: str, column: pa.Array, number: Callable[[int], int] | None
) -> tuple[NDArray[np.int64], str]:
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    known = np.isfinite(values)
    if not known.any():
        return np.full(len(values), NO_TIME), ""
    low, high = values[known].min(), values[known].max()
    for unit, per in _UNITS.items():
        if _FIRST * per <= low and high < _LAST * per:
            scaled = np.where(known, values, 0) / per * 1e6
            if pa.types.is_integer(column.type):  # a float rounds nanoseconds
                whole = column.fill_null(0).cast(pa.int64(), safe=False).to_numpy()
                scaled = whole * (10**6 // per) if per <= 10**6 else whole // (per // 10**6)
            return np.where(known, np.rint(scaled).astype(np.int64), NO_TIME), unit
    outside = known & ~((values >= _FIRST) & (values < _LAST))
    row = int(np.argmax(outside if outside.any() else known))
    where = "" if number is None else f" (row {number(row)})"
    raise InputError(
        f"{name}: the times are numbers such as {values[row]:.15g}{where}{_meaning(low, high)}"
    )


def _meaning(low: float, high: float) -> str:
    if low >= 19_000_101 and high <= 21_001_231:
        return (
            ", which are dates and not seconds since 1970; convert them with "
            "pandas.to_datetime(column.astype('Int64').astype('string'))."
        )
    if low >= 29_220 and high < 73_051:
        return (
            ", which look like the days of a spreadsheet; convert them with "
            "pandas.to_datetime(column, unit='D', origin='1899-12-30')."
        )
    if low >= 0 and high <= 24:
        return ", which look like hours of the day; join them with the date to a timestamp."
    return (
        ". Numbers are read if all of them are seconds, milliseconds, microseconds or nanoseconds "
        "since 1970, within the years 1980 to 2100; write other times as text, such as "
        "2026-11-01T09:30:00Z, and leave missing ones empty."
    )
