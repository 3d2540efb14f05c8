"""The places of a synthetic city: venues, points on streets, and toll gates out of the city."""

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from snhkit.data.cities import City
from snhkit.data.synthetic.ground import Ground

__all__ = ["Layout", "layout"]

_VENUES = {"low": 2_500, "medium": 5_000, "high": 10_000}
_SPOTS = 40_000
_GATE_M = 60.0


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """The places of a synthetic city.

    Positions are in metres from the lower-left corner of the city's region.

    Parameters
    ----------
    venues : ndarray, shape (v, 2)
        Positions of shops, offices and stations, where people stay.
    draw : ndarray, shape (v,)
        How attractive each venue is to all visitors, as a score of mean 0 and standard deviation 1.
    spots : ndarray, shape (s, 2)
        Positions of points on streets, where people pass.
    heading : ndarray, shape (s,)
        Direction of the street at each spot, in radians anticlockwise from east.
    traffic : ndarray, shape (s,)
        Share of the records on streets that lie at each spot; the shares add up to 1.
    gates : ndarray, shape (4, 2)
        Toll gates west, south, east and north, 60 m beyond every other place.
    district : ndarray of int, shape (v + s + 4,)
        The number of the centre in ``Ground.centres`` that is nearest to each venue, spot and gate.
    """

    venues: NDArray[np.float64]
    draw: NDArray[np.float64]
    spots: NDArray[np.float64]
    heading: NDArray[np.float64]
    traffic: NDArray[np.float64]
    gates: NDArray[np.float64]
    district: NDArray[np.int64]

    @property
    def places(self) -> NDArray[np.float64]:
        """The positions of venues, spots and gates in metres, shape (v + s + 4, 2)."""
        return np.concatenate([self.venues, self.spots, self.gates])


@lru_cache(maxsize=4)
def layout(city: City) -> Layout:
    """Return the layout of a synthetic city; every call returns the same one.

    The city has two street grids that meet at a line, and avenues that cross both. Every sixth
    street is an arterial. Places gather around centres and along arterials. No place lies in water
    or in a park.
    """
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
