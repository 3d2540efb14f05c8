"""Stay points in traces of GPS fixes, and synthetic traces of people who stay and travel."""

import zlib
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.checks import positive
from snhkit.data.cities import City, city
from snhkit.data.synthetic import World, synthetic_points
from snhkit.errors import InputError
from snhkit.geometry.grid import numbered

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


_MEDIAN_MIN, _SPREAD = 40.0, 0.9  # lognormal dwell times: median in minutes, and sigma
_DWELL_MIN = (4.0, 720.0)  # shortest and longest dwell time
_WHILE_STAYING_S, _WHILE_MOVING_S = 300.0, 60.0  # seconds between fixes
_SPEED_M_S = 6.0
_LEAST_TRAVEL_S = 120.0
_FIX_M = 6.0  # standard deviation of a fix, along each axis
_MORNING_S = (6 * 3600.0, 10 * 3600.0)  # when a user's first visit begins


def synthetic_trace(
    name: str | City, visits: int = 10_000, world: World = "private", seed: int = 0
) -> pd.DataFrame:
    """Return GPS fixes of invented people who visit places of a city and travel between them.

    Parameters
    ----------
    name : str or City
        One of the paper's twelve cities.
    visits : int
        The number of visits of all people together. Half of the visits last more than 40 minutes.
    world : {"private", "public"}
        The set of people; see ``synthetic_points``.
    seed : int
        A public seed; the same seed draws the same trace.

    Returns
    -------
    DataFrame
        One row for each fix, sorted by user and time, with the columns ``user``, ``lat`` and
        ``lon`` in degrees, and ``time`` in seconds after midnight of the first day. Fixes are at
        most 5 minutes apart at a place, and at most a minute apart on the way.

    Raises
    ------
    InputError
        If the city or the world is unknown, ``visits`` is not in 1 to 20,000,000, or the seed is
        negative.

    Examples
    --------
    >>> from snhkit.reproduction import stay_points
    >>> trace = synthetic_trace("fargo", visits=200)
    >>> 60 < len(stay_points(trace)) < 140
    True

    Notes
    -----
    The paper's SPD-VS data (Sec. 6.1) are proprietary. They hold visits at places, with few points
    on roads. The result of ``stay_points`` for a synthetic trace replaces them.
    """
    place = city(name)
    points = synthetic_points(place, visits, world, seed)
    rng = np.random.default_rng([zlib.crc32(place.key.encode()), 3, seed])
    people = np.zeros(visits, np.int64) if points.user is None else points.user
    by_user = np.argsort(people, kind="stable")
    xy, user = points.xy[by_user], people[by_user]
    arrived, left = _times(rng, xy, user)
    staying = 1 + np.ceil((left - arrived) / _WHILE_STAYING_S).astype(np.int64)
    same = np.append(user[1:] == user[:-1], False)
    gap = np.where(same, np.append(arrived[1:], 0) - left, 0)
    moving = np.maximum(np.ceil(gap / _WHILE_MOVING_S).astype(np.int64) - 1, 0)
    visit, nth = numbered(staying + moving)
    stays = nth < staying[visit]
    stay = np.clip(nth / (staying[visit] - 1), 0, 1)
    way = np.where(stays, 0, (nth - staying[visit] + 1) / (moving[visit] + 1))
    following = np.minimum(visit + 1, len(xy) - 1)
    at = xy[visit] + way[:, None] * (xy[following] - xy[visit])
    at = at + rng.normal(scale=_FIX_M, size=at.shape)
    at = np.clip(at, 0, np.nextafter(place.side_m, 0))
    lat, lon = place.region.to_latlon(at)
    time = arrived[visit] + stay * (left - arrived)[visit] + way * gap[visit]
    return pd.DataFrame({"user": user[visit], "lat": lat, "lon": lon, "time": np.rint(time)})


def _times(
    rng: np.random.Generator, xy: NDArray[np.float64], user: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the arrivals and the departures of visits sorted by user, in seconds."""
    dwell = 60 * np.clip(rng.lognormal(np.log(_MEDIAN_MIN), _SPREAD, len(xy)), *_DWELL_MIN)
    apart = np.hypot(*np.diff(xy, axis=0, prepend=xy[:1]).T)
    travel = np.maximum(apart / _SPEED_M_S, _LEAST_TRAVEL_S)
    first = np.append(True, user[1:] != user[:-1])
    since = np.cumsum(travel + dwell)
    # Each user's first visit begins in the morning of the first day.
    start = np.flatnonzero(first)
    before = np.repeat((since - dwell)[start], np.diff(np.append(start, len(xy))))
    morning = rng.uniform(*_MORNING_S, len(start))[np.cumsum(first) - 1]
    left = since - before + morning
    return left - dwell, left
