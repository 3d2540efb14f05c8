"""Synthetic traces of invented people who stay at places for a while and travel between them."""

import zlib

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.data.cities import City, city
from snhkit.data.synthetic.synthetic import World, synthetic_points
from snhkit.geometry.grid import numbered

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
