"""Synthetic records of invented people; only regions, shores and entropies are a city's own."""

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from snhkit.data.cities import City, city
from snhkit.data.synthetic.layout import layout
from snhkit.errors import InputError
from snhkit.geometry import Points

World = Literal["private", "public"]

_STREAM = {"private": 1, "public": 2}
_PASSING = {"private": 0.15, "public": 0.03}  # share on streets if entropy is _LIVELIEST
_SCATTER_M = {"private": 12.0, "public": 0.0}  # largest distance of a record from its venue
_ON_STREET_M = (30.0, 4.0)  # half the length and half the width of the street at a spot
_AT_GATE = 0.0075  # share of the records at each gate
_HEAD = 6.0  # added to ranks in Zipf's law, so that no venue dominates
# Weight of a world's taste in the rank of a venue. The attraction ``Layout.draw`` has weight 1, so
# the rankings of the two worlds have a correlation of 0.5.
_TASTE = 1.0
_OF_TIMES = 3  # added to the seeds of a city, so that times change no position
_MONDAY, _WEEKS = 20_759, 4  # 2026-11-02, in days since 1970
_OFFICE = (1, 1, 1, 1, 1, 2, 6, 20, 40, 40, 36, 34, 38, 38, 36, 34, 32, 24, 10, 4, 2, 2, 1, 1)
_SHOP = (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1, 3, 8, 16, 26, 32,
         36, 32, 30, 32, 36, 38, 32, 18, 6, 2, 1, 1)  # fmt: skip
_BAR = (26, 16, 8, 3, 1, 0.5, 0.5, 0.5, 1, 1, 2, 6, 14, 10, 4, 4, 6, 14, 26, 38, 44, 46, 44, 36)
_STREET = (4, 2, 1, 1, 2, 6, 22, 48, 46, 24, 16, 16, 20, 18, 18, 26, 44, 50, 34, 22, 16, 12, 10, 7)
_ROLES = (
    (0.4, _OFFICE, (10, 10, 10, 10, 9, 1.5, 1)),
    (0.4, _SHOP, (8, 8, 8, 9, 11, 15, 6)),
    (0.2, _BAR, (5, 5, 6, 8, 15, 18, 9)),
    (0.0, _STREET, (10, 10, 10, 10, 11, 7, 5)),
)
"""Offices, shops, bars and streets: share of venues, weights of hours and of days from Monday."""
_LIVELIEST = 7.8  # largest published entropy of a city, in nats
_CALIBRATION_SEED = 2**32
_DEFAULT_N = 100_000
_MAX_N = 20_000_000


def synthetic_points(
    name: str | City, n: int | None = None, world: World = "private", seed: int = 0
) -> Points:
    """Return random records of invented people in the invented streets and venues of a city.

    Parameters
    ----------
    name : str or City
        One of the paper's twelve cities.
    n : int, optional
        Number of records. By default, 100,000 for the private world, and ``City.n_at_entropy`` for
        the public world.
    world : {"private", "public"}
        One of two sets of people, who visit the same venues and streets with different tastes.
        Records of the private world look like GPS fixes, some of them on streets. Records of the
        public world look like check-ins, which repeat the coordinates of venues. Use the private
        world in place of a private file. Use the public world in place of the paper's public data:
        the data set D* and the places of the expected queries Q_W.
    seed : int
        A public seed; the same seed draws the same records. Streets, venues and tastes do not
        depend on the seed.

    Returns
    -------
    Points
        The records, in the city's region, with the user and the time of each record. Most users
        have a few records, a few users have very many, and most of a user's records are in one
        district. The times are in four weeks of November 2026: streets are full when people
        commute, offices in between, bars in the evening and on weekends.

    Raises
    ------
    InputError
        If the city or the world is unknown, n is not in 1 to 20,000,000, or the seed is negative.

    Examples
    --------
    >>> records = synthetic_points("milwaukee", 1_000)
    >>> len(records), records.region == city("milwaukee").region
    (1000, True)

    Notes
    -----
    For ``City.n_at_entropy`` records of either world, the entropy of a 512 by 512 histogram over
    the bounding box of the records is within 0.15 nats of ``City.entropy_512_nats``, the published
    entropy of check-ins in the real city.
    """
    place = city(name)
    if world not in _STREAM:
        raise InputError(f'world must be "private" or "public", not {world!r}.')
    if n is None:
        n = _DEFAULT_N if world == "private" else place.n_at_entropy
    if not 1 <= n <= _MAX_N:
        raise InputError(f"synthetic_points: n must be from 1 to {_MAX_N:,}, not {n:,}.")
    if seed < 0:
        raise InputError(f"synthetic_points: seed must be at least 0, not {seed}.")
    rng = np.random.default_rng(_seeds(place, world, seed))
    at = _visits(rng, popularity(place, world, _exponent(place, world)), n)
    xy = _positions(rng, place, world, at)
    user = _users(rng, layout(place).district[at])
    shuffled = rng.permutation(n)
    time = _times(np.random.default_rng([*_seeds(place, world, seed), _OF_TIMES]), place, at)
    return Points(place.region, xy[shuffled], user[shuffled], time[shuffled])


def popularity(place: City, world: World, exponent: float) -> NDArray[np.float64]:
    """Return the share of the records at each of ``Layout.places``, shape (v + s + 4,).

    The share of the venue with rank k, from 0, is proportional to (k + 6)^-exponent: Zipf's law.
    """
    town = layout(place)
    taste = np.random.default_rng([zlib.crc32(place.key.encode()), _STREAM[world]])
    rank = np.argsort(np.argsort(-town.draw - _TASTE * taste.normal(size=len(town.draw))))
    venues = (rank + _HEAD) ** -exponent
    passing = _PASSING[world] * (place.entropy_512_nats / _LIVELIEST) ** 2
    staying = 1 - passing - len(town.gates) * _AT_GATE
    at_gates = np.full(len(town.gates), _AT_GATE)
    return np.concatenate([staying * venues / venues.sum(), passing * town.traffic, at_gates])


def _seeds(place: City, world: World, seed: int) -> tuple[int, int, int]:
    return zlib.crc32(place.key.encode()), _STREAM[world], seed


def _visits(rng: np.random.Generator, shares: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Return the index of the place of each of n records, by stratified sampling of the shares."""
    order = np.argsort(-shares, kind="stable")
    cumulative = np.cumsum(shares[order])
    strata = (np.arange(n) + rng.uniform(size=n)) / n * cumulative[-1]
    found = np.searchsorted(cumulative, strata, side="right")
    return order[np.minimum(found, len(shares) - 1)]


def _positions(
    rng: np.random.Generator, place: City, world: World, at: NDArray[np.int64]
) -> NDArray[np.float64]:
    town = layout(place)
    xy = town.places[at]
    venues, spots = len(town.venues), len(town.spots)
    # Records at gates are not scattered, so the records' bounding box does not vary, and neither do
    # the cells of the histogram from which the entropy is computed.
    at_venue, at_gate = at < venues, at >= venues + spots
    half_length, half_width = _ON_STREET_M
    radius = np.where(at_venue, _SCATTER_M[world], np.where(at_gate, 0.0, half_width))
    radius *= np.sqrt(rng.uniform(size=len(at)))
    turn = rng.uniform(0, 2 * np.pi, len(at))
    xy += radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    on_street = np.flatnonzero(~at_venue & ~at_gate)
    heading = town.heading[at[on_street] - venues]
    along = rng.uniform(-half_length, half_length, len(on_street))
    xy[on_street] += along[:, None] * np.column_stack([np.cos(heading), np.sin(heading)])
    return xy


def _users(rng: np.random.Generator, district: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a user for each record; most records of a user are in one district."""
    n = len(district)
    wanders = rng.uniform(size=n) < 0.2
    home = np.where(wanders, rng.choice(district, n), district) + rng.uniform(size=n)
    sizes = np.minimum(1 + 4 * rng.pareto(1.5, size=n), max(5, n // 50)).astype(np.int64)
    users = int(np.searchsorted(np.cumsum(sizes), n)) + 1
    user = np.empty(n, np.int64)
    user[np.argsort(home)] = np.repeat(rng.permutation(users), sizes[:users])[:n]
    return user


def _times(rng: np.random.Generator, place: City, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the local time of each record, in seconds since 1970, from the role of its place."""
    town = layout(place)
    drawn = np.random.default_rng(zlib.crc32(place.key.encode())).uniform(size=len(town.venues))
    role = np.full(len(town.places), len(_ROLES) - 1)  # streets and gates
    role[: len(drawn)] = np.searchsorted(np.cumsum([share for share, _, _ in _ROLES[:-1]]), drawn)
    hour, day = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
    for number, (_, by_hour, by_day) in enumerate(_ROLES):
        mine = role[at] == number
        for weights, found in ((by_hour, hour), (by_day, day)):
            shares = np.cumsum(weights) / np.sum(weights)
            found[mine] = np.searchsorted(shares, rng.uniform(size=mine.sum()), side="right")
    week = rng.integers(0, _WEEKS, len(at))
    return ((_MONDAY + 7 * week + day) * 24 + hour) * 3_600 + rng.integers(0, 3_600, len(at))


@lru_cache(maxsize=32)
def _exponent(place: City, world: World) -> float:
    """Return the Zipf exponent for which records have the published entropy of the city."""
    n = place.n_at_entropy
    draws = min(60, 40_000 // n + 1)

    def excess(exponent: float) -> float:
        rng = np.random.default_rng(_seeds(place, world, _CALIBRATION_SEED))
        shares = popularity(place, world, exponent)
        drawn = (_positions(rng, place, world, _visits(rng, shares, n)) for _ in range(draws))
        return float(np.mean([_entropy(xy) for xy in drawn])) - place.entropy_512_nats

    # Rounded, so that the records do not depend on the last bits of a machine's arithmetic.
    return round(_root(excess, 0.4, 4.0, 0.002), 3)


def _root(function: Callable[[float], float], low: float, high: float, near: float) -> float:
    """Return a root of a decreasing function to within ``near``, by the Illinois rule."""
    at_low, at_high, kept = function(low), function(high), 0
    middle = low
    for _ in range(40):
        middle = low + (high - low) * at_low / (at_low - at_high)
        value = function(middle)
        if abs(value) < near:
            break
        if value > 0:
            low, at_low, at_high = middle, value, at_high / 2 if kept == 1 else at_high
        else:
            high, at_high, at_low = middle, value, at_low / 2 if kept == -1 else at_low
        kept = 1 if value > 0 else -1
    return middle


def _entropy(xy: NDArray[np.float64], cells: int = 512) -> float:
    """Return the Shannon entropy, in nats, of a histogram over the bounding box of positions."""
    low = xy.min(axis=0)
    cell = np.minimum(((xy - low) / (xy.max(axis=0) - low) * cells).astype(np.int64), cells - 1)
    counts = np.bincount(cell[:, 0] * cells + cell[:, 1])
    share = counts[counts > 0] / len(xy)
    return float(-(share * np.log(share)).sum())
