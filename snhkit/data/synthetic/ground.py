"""The geography of a synthetic city: water, parks, centres and streets."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snhkit.data.cities import City

__all__ = ["Ground", "turned"]

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


@dataclass(frozen=True, eq=False, repr=False)
class Ground:
    """The geography of a randomly generated city: centres, street grids, parks and avenues.

    Positions are in metres from the lower-left corner of the region.

    Parameters
    ----------
    city : City
        The city, which determines the region, the spacing of streets and the number of centres.
    centres : ndarray, shape (c, 2)
        Positions of the centres around which venues gather. The first one is downtown.
    spread : ndarray, shape (c,)
        Length scale in metres of the distances of venues from each centre.
    weight : ndarray, shape (c,)
        Share of the venues that are drawn around each centre; the shares add up to 1.
    angles : ndarray, shape (2,)
        Directions of the two street grids, in radians anticlockwise from east.
    seam : ndarray, shape (2,)
        Unit vector perpendicular to the line where the two street grids meet.
    parks : ndarray, shape (p, 4)
        Centre x and y, half width and half height of each park, in metres. The sides of parks are
        parallel to the streets of the first grid.
    avenues : ndarray, shape (a, 3)
        Direction of each avenue in radians anticlockwise from east, its distance from downtown,
        and the amplitude of its bends; both in metres.
    """

    city: City
    centres: NDArray[np.float64]
    spread: NDArray[np.float64]
    weight: NDArray[np.float64]
    angles: NDArray[np.float64]
    seam: NDArray[np.float64]
    parks: NDArray[np.float64]
    avenues: NDArray[np.float64]

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
        """Draw random places along streets, none of them in water or in a park.

        Parameters
        ----------
        rng : numpy.random.Generator
            The generator of random numbers.
        count : int
            Number of places.
        broad : float
            Share of places that are drawn over the whole city rather than around a centre.
        front_m : float
            Distance of the places from the middle of the street, in metres.

        Returns
        -------
        where : ndarray, shape (count, 2)
            Positions in metres from the region's lower-left corner.
        heading : ndarray, shape (count,)
            Direction of the street at each place, in radians anticlockwise from east.
        main : ndarray of bool, shape (count,)
            Whether the street at each place is an arterial or an avenue.
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
        """Return how close n positions are to centres, on a logarithmic scale, shape (n,).

        The value is log(0.001 + sum of weight * exp(-distance / spread) over all centres). It is
        larger for positions that are closer to centres.
        """
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
        """Move positions to a street, arterial or avenue.

        The arrays that are returned are described in ``places``.
        """
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
