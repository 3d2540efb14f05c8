"""A synthetic city: its water, parks, centres and streets, and the places of records in it."""

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from snhkit.data.cities import City

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
