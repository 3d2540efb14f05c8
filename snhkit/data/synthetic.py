"""Synthetic records of invented people in an invented city: its ground, its places, its visitors.

Only regions, shores and entropies are a city's own.
"""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from snhkit.data.cities import City, city
from snhkit.errors import InputError
from snhkit.geometry import Points

_MARGIN_M = 120.0  # least distance of places from the border, so that no record lies outside
_ARTERIAL_EVERY = 6  # every sixth street is an arterial, that is, a main street
_ARTERIAL_SHARE, _AVENUE_SHARE = 0.35, 0.1  # shares of the places
_SPACING_M = {"low": (150.0, 230.0), "medium": (125.0, 200.0), "high": (105.0, 170.0)}
_CENTRES = {"low": 9, "medium": 14, "high": 20}
_SHORE = math.inf  # width of a lake or sea that has only one bank in the region
# For each water: the direction from the region's centre, in degrees clockwise from north, the
# distance of the nearer bank and the width, both in metres; roughly as in reality.
_WATERS = {
    "fargo": ((90.0, 700.0, 90.0),),
    "kansas_city": ((0.0, 2_300.0, 320.0),),
    "tulsa": ((225.0, 1_900.0, 350.0),),
    "milwaukee": ((85.0, 2_900.0, _SHORE), (10.0, 1_200.0, 70.0)),
    "chicago": ((60.0, 4_600.0, 80.0),),
    "san_francisco": ((88.0, 4_000.0, _SHORE), (8.0, 5_000.0, _SHORE)),
    "boston": ((70.0, 6_000.0, _SHORE), (330.0, 1_500.0, 500.0)),
}
_VENUES = {"low": 2_500, "medium": 5_000, "high": 10_000}
_SPOTS = 40_000
_GATE_M = 60.0


@dataclass(frozen=True, eq=False, repr=False)
class Ground:
    """The geography of a randomly generated city, in metres and radians anticlockwise from east."""

    city: City  # the region, the spacing of streets and the number of centres
    centres: Float[np.ndarray, "c 2"]  # around which venues gather; the first is downtown
    spread: Float[np.ndarray, " c"]  # length scale of the distances of venues from a centre
    weight: Float[np.ndarray, " c"]  # share of the venues around each centre
    angles: Float[np.ndarray, "2"]  # of the two street grids
    seam: Float[np.ndarray, "2"]  # unit vector across the line where the street grids meet
    parks: Float[np.ndarray, "p 4"]  # centre, half width and half height, along the first grid
    avenues: Float[np.ndarray, "a 3"]  # direction, distance from downtown, amplitude of bends

    @classmethod
    def drawn(cls, city: City, rng: np.random.Generator) -> "Ground":
        """Return a randomly generated geography for a city."""
        side, suburbs = city.side_m, _CENTRES[city.density] - 1
        tilt = rng.uniform(-0.2, 0.2)
        across = rng.uniform(0, 2 * np.pi)
        parks = int(rng.integers(5, 9))
        downtown = side * rng.normal(0.5, 0.05, size=(50, 2))
        around = side * rng.uniform(0.05, 0.95, size=(200, 2))
        share = 1 / (np.arange(suburbs) + 3.0)
        return cls(
            city=city,
            centres=np.concatenate(
                [downtown[~_wet(city, downtown)][:1], around[~_wet(city, around)][:suburbs]]
            ),
            spread=side * np.concatenate([[0.055], rng.uniform(0.012, 0.05, suburbs)]),
            weight=np.concatenate([[0.45], 0.55 * share / share.sum()]),
            angles=np.array([tilt, tilt + rng.uniform(0.45, 0.85)]),
            seam=np.array([np.cos(across), np.sin(across)]),
            parks=side
            * np.column_stack(
                [
                    rng.uniform(0.08, 0.92, size=(parks, 2)),
                    rng.uniform(0.012, 0.075, parks),
                    rng.uniform(0.012, 0.035, parks),
                ]
            ),
            avenues=np.column_stack(
                [
                    rng.uniform(0, np.pi) + np.array([0.3, 1.3, 2.2, 2.9]),
                    side * np.array([0.0, 0.0, 0.06, -0.12]),
                    side * np.array([0.0, 0.0, 0.03, 0.06]),
                ]
            ),
        )

    def places(
        self, rng: np.random.Generator, count: int, broad: float, front_m: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return places along streets, the streets' directions, and whether these are main streets.

        A share ``broad`` is drawn over the whole city; all are ``front_m`` from a street's middle.
        """
        parts, found = [], 0
        while found < count:
            where, heading, main = self._along_streets(
                rng, self._anchors(rng, 2 * count, broad), front_m
            )
            free = self._free(where)
            parts.append((where[free], heading[free], main[free]))
            found += int(free.sum())
        where, heading, main = (np.concatenate(p)[:count] for p in zip(*parts, strict=True))
        return where, heading, main

    def crowding(self, xy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how close n positions are to centres, on a logarithmic scale, shape (n,)."""
        gap = np.linalg.norm(xy[:, None, :] - self.centres[None], axis=2) / self.spread
        return np.log((self.weight * np.exp(-gap)).sum(axis=1) + 1e-3)

    def _anchors(self, rng: np.random.Generator, count: int, broad: float) -> NDArray[np.float64]:
        """Return random positions of places, before they are moved to streets, shape (count, 2)."""
        side = self.city.side_m
        which = rng.choice(len(self.weight), count, p=self.weight)
        radius = self.spread[which] * rng.standard_t(4, size=count)
        turn = rng.uniform(0, np.pi, count)
        near = self.centres[which] + radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
        far = self.centres[0] + 0.3 * side * rng.normal(size=(count, 2))
        far = np.where(rng.uniform(size=(count, 1)) < 0.3, side * rng.uniform(size=far.shape), far)
        return np.where(rng.uniform(size=(count, 1)) < broad, far, near)

    def _along_streets(
        self, rng: np.random.Generator, xy: NDArray[np.float64], front_m: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Move positions to a street, arterial or avenue; returns what ``places`` returns."""
        rows = np.arange(len(xy))
        beyond = (xy - self.centres[0]) @ self.seam > 0.02 * self.city.side_m
        angle = self.angles[beyond.astype(int)]
        local = turned(xy, -angle)
        axis = rng.integers(2, size=len(xy))
        arterial = rng.uniform(size=len(xy)) < _ARTERIAL_SHARE
        gap = np.array(_SPACING_M[self.city.density])[axis]
        gap = np.where(arterial, _ARTERIAL_EVERY * gap, gap)
        front = front_m * rng.choice([-1.0, 1.0], len(xy))
        local[rows, axis] = np.round(local[rows, axis] / gap) * gap + front
        heading = angle + np.where(axis == 0, np.pi / 2, 0.0)
        on_avenue, avenue_heading = self._along_avenues(rng, front)
        avenue = rng.uniform(size=len(xy)) < _AVENUE_SHARE
        return (
            np.where(avenue[:, None], on_avenue, turned(local, angle)),
            np.where(avenue, avenue_heading, heading),
            avenue | arterial,
        )

    def _along_avenues(
        self, rng: np.random.Generator, front: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        angle, offset, bend = self.avenues[rng.integers(len(self.avenues), size=len(front))].T
        away = rng.exponential(0.17 * self.city.side_m, size=len(front))
        along = away * rng.choice([-1.0, 1.0], size=len(front))
        wave = 2 * np.pi / (0.8 * self.city.side_m)
        across = offset + bend * np.sin(wave * along) + front
        slope = np.arctan(bend * wave * np.cos(wave * along))
        return self.centres[0] + turned(np.column_stack([along, across]), angle), angle + slope

    def _free(self, xy: NDArray[np.float64]) -> NDArray[np.bool_]:
        inside = ((xy > _MARGIN_M) & (xy < self.city.side_m - _MARGIN_M)).all(axis=1)
        offsets = turned(xy[:, None, :] - self.parks[:, :2], -self.angles[0])
        in_park = np.any((np.abs(offsets) < self.parks[:, 2:]).all(axis=2), axis=1)
        return inside & ~in_park & ~_wet(self.city, xy)


def turned(xy: NDArray[np.float64], angle: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Turn vectors, shape (..., 2), anticlockwise by angles in radians, shape (...)."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = xy[..., 0], xy[..., 1]
    return np.stack([x * cos - y * sin, x * sin + y * cos], axis=-1)


def _wet(city: City, xy: NDArray[np.float64]) -> NDArray[np.bool_]:
    wet = np.zeros(len(xy), bool)
    for bearing, offset_m, width_m in _WATERS.get(city.key, ()):
        # The axes are turned so that x points towards the water and y runs along its bank.
        local = turned(xy - city.side_m / 2, -math.radians(90 - bearing))
        bank = offset_m + 260 * np.sin(local[:, 1] / 1_300) + 90 * np.sin(local[:, 1] / 310 + 1)
        wet |= (local[:, 0] > bank) & (local[:, 0] < bank + width_m)
    return wet


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """The places of a synthetic city, in metres from the lower-left corner of its region."""

    venues: Float[np.ndarray, "v 2"]  # shops, offices and stations, where people stay
    draw: Float[np.ndarray, " v"]  # their attraction to all visitors, a standardised score
    spots: Float[np.ndarray, "s 2"]  # points on streets, where people pass
    heading: Float[np.ndarray, " s"]  # of the street at each spot, from east, in radians
    traffic: Float[np.ndarray, " s"]  # share of the records on streets at each spot
    gates: Float[np.ndarray, "4 2"]  # toll gates west, south, east and north, 60 m beyond all else
    district: Int[np.ndarray, " places"]  # the nearest centre of each venue, spot and gate

    @property
    def places(self) -> NDArray[np.float64]:
        """The positions of venues, spots and gates in metres, shape (v + s + 4, 2)."""
        return np.concatenate([self.venues, self.spots, self.gates])


@lru_cache(maxsize=4)
def layout(city: City) -> Layout:
    """Return the layout of a synthetic city; every call returns the same one."""
    rng = np.random.default_rng([zlib.crc32(city.key.encode()), 0])
    ground = Ground.drawn(city, rng)
    venues, _, busy = ground.places(rng, _VENUES[city.density], broad=0.12, front_m=10.0)
    spots, heading, main = ground.places(rng, _SPOTS, broad=0.6, front_m=2.5)
    own = rng.normal(size=len(venues))
    traffic = np.exp(0.6 * rng.normal(size=len(spots)) + 0.6 * _standard(ground.crowding(spots)))
    traffic *= np.where(main, 1.6, 1.0)
    town = np.concatenate([venues, spots])
    gates = town[np.concatenate([town.argmin(axis=0), town.argmax(axis=0)])]
    gates += _GATE_M * np.array([[-1, 0], [0, -1], [1, 0], [0, 1]])
    gaps = np.concatenate([town, gates])[:, None, :] - ground.centres
    return Layout(
        venues=venues,
        draw=_standard(_standard(ground.crowding(venues)) + 0.5 * busy + own),
        spots=spots,
        heading=heading,
        traffic=traffic / traffic.sum(),
        gates=gates,
        district=np.linalg.norm(gaps, axis=2).argmin(axis=1),
    )


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return (values - values.mean()) / values.std()


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
