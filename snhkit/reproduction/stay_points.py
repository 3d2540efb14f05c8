"""Stay points: places at which a user stayed for a while, found in a trace of GPS fixes."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.checks import positive
from snhkit.errors import InputError

_EARTH_M = 6_371_008.8  # mean radius
_NEEDED = ("lat", "lon", "time")


def stay_points(
    trace: pd.DataFrame, *, distance_m: float = 100.0, minutes: float = 30.0
) -> pd.DataFrame:
    """Return the places at which each user stayed for a while.

    A fix is one recorded position, a row of ``trace``. A stay begins at a fix and continues as long
    as the following fixes of the user are within ``distance_m`` of this first fix. The stay is
    returned if at least ``minutes`` lie between its first and its last fix.

    Parameters
    ----------
    trace : DataFrame
        Columns ``lat`` and ``lon`` in degrees, ``time`` (datetimes, or numbers of seconds) and, if
        there is more than one person, ``user``. Rows may be in any order.
    distance_m : float
        Largest distance in metres of a fix from the first fix of its stay.
    minutes : float
        Shortest duration of a stay in minutes.

    Returns
    -------
    DataFrame
        One row for each stay: ``user`` (if given), ``lat`` and ``lon`` (means of the fixes),
        ``arrived`` and ``left`` (the first and the last ``time``), ``fixes`` (their number).

    Raises
    ------
    InputError
        If a column, a coordinate or a time is missing, if ``time`` holds texts, or if
        ``distance_m`` or ``minutes`` is not positive.

    Examples
    --------
    >>> import pandas as pd
    >>> trace = pd.DataFrame(
    ...     {"lat": [45, 45, 45, 45.01], "lon": 7.0, "time": [0, 900, 1_800, 2_700], "user": "Ada"}
    ... )
    >>> stay_points(trace)[["user", "lat", "arrived", "left", "fixes"]].values.tolist()
    [['Ada', 45.0, 0, 1800, 3]]

    Notes
    -----
    Ye, Zheng, Chen, Feng and Xie, "Mining Individual Life Pattern Based on Location History", MDM
    2009. The SNH paper uses the same bounds, 100 m and 30 minutes, for its SPD data (Sec. 6.1).
    """
    positive("distance_m", distance_m)
    positive("minutes", minutes)
    missing = [name for name in _NEEDED if name not in trace.columns]
    if missing:
        raise InputError(f"stay_points: the trace has no column {', '.join(missing)}.")
    by = ["user", "time"] if "user" in trace.columns else ["time"]
    trace = trace.reset_index(drop=True)
    for name in (*_NEEDED, *by):
        gone = np.asarray(trace[name].isna(), bool)
        if gone.any():
            row = int(np.argmax(gone))
            raise InputError(f"stay_points: row {row} (counted from 0): {name} is missing.")
    trace = trace.sort_values(by, kind="stable", ignore_index=True)
    seconds = _seconds(trace["time"])
    place = np.radians(trace[["lat", "lon"]].to_numpy(np.float64))
    last = _last_of_user(trace["user"].to_numpy() if len(by) == 2 else np.zeros(len(trace)))
    leaves = _first_outside(place, last, distance_m)
    stays = _stays(leaves, seconds, 60 * minutes)
    rows = [trace.iloc[first:end] for first, end in stays]
    found = {
        "lat": [part["lat"].mean() for part in rows],
        "lon": [part["lon"].mean() for part in rows],
        "arrived": [part["time"].iloc[0] for part in rows],
        "left": [part["time"].iloc[-1] for part in rows],
        "fixes": [len(part) for part in rows],
    }
    who = {"user": [part["user"].iloc[0] for part in rows]} if len(by) == 2 else {}
    return pd.DataFrame(who | found)


def _seconds(time: Any) -> NDArray[np.float64]:
    """Return times as numbers of seconds."""
    if time.dtype.kind == "M" or hasattr(time.dtype, "tz"):
        return (time - time.iloc[0]).dt.total_seconds().to_numpy() if len(time) else np.empty(0)
    try:
        seconds = time.to_numpy(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "stay_points: time must hold datetimes or seconds; pandas.to_datetime converts texts."
        ) from None
    return seconds


def _last_of_user(user: NDArray) -> NDArray[np.int64]:
    """Return, for each row ordered by user, the row after the last one of the same user."""
    changes = np.flatnonzero(user[1:] != user[:-1]) + 1
    ends = np.append(changes, len(user))
    return np.repeat(ends, np.diff(ends, prepend=0))


def _first_outside(
    place: NDArray[np.float64], end: NDArray[np.int64], distance_m: float
) -> NDArray[np.int64]:
    """Return the row of each fix's first later fix that is farther away, or the user's end."""
    first = np.arange(len(place)) + 1
    still = np.flatnonzero(first < end)
    step = 1
    while len(still):
        there = still + step
        inside = _apart(place[still], place[there]) <= distance_m
        still = still[inside]
        first[still] = still + step + 1
        step += 1
        still = still[still + step < end[still]]
    return first


def _apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return great-circle distances in metres of m pairs of places in radians, by haversines."""
    half = np.sin((other - one) / 2) ** 2
    chord = half[:, 0] + np.cos(one[:, 0]) * np.cos(other[:, 0]) * half[:, 1]
    return 2 * _EARTH_M * np.arcsin(np.sqrt(np.minimum(chord, 1)))


def _stays(
    leaves: NDArray[np.int64], seconds: NDArray[np.float64], least_s: float
) -> list[tuple[int, int]]:
    """Return the first row of each stay and the row after its last; stays do not overlap."""
    after = leaves.tolist()
    long_enough = (seconds[leaves - 1] - seconds >= least_s).tolist()
    found, i = [], 0
    while i < len(after):
        if long_enough[i]:
            found.append((i, after[i]))
            i = after[i]
        else:
            i += 1
    return found
