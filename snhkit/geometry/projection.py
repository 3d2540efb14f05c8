"""A polynomial that approximates a region's projection of degrees to metres."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Region

_ORDERS = (3, 5, 7, 9)
_NODES, _PROBES = 24, 97  # points per side: to fit the polynomial, and to measure its error
_SAFETY = 16  # the bound is this many times the largest measured error, plus _ROUNDING_M
_ROUNDING_M = 1e-6  # far above rounding errors in a region of 200 km
_AIM_M = 1e-3
_BEYOND = 0.02  # margin of the polynomial's box, as a share of the region's extent


@dataclass(frozen=True, eq=False)
class Approximation:
    """A polynomial that approximates ``Region.to_xy`` with an error of at most ``error_m`` metres.

    For u and v, degrees east and north of the region's centre, x is side_m / 2 plus the sum of
    x[a][b] u^(2 a + 1) v^b, and y the sum of y[a][b] u^(2 a) v^b, by symmetry about u = 0.
    """

    region: Region
    low: tuple[float, float]  # corners (latitude, longitude) of the box where the bound holds
    high: tuple[float, float]
    x: tuple[NDArray[np.float64], ...]
    y: tuple[NDArray[np.float64], ...]
    error_m: float

    def axes(
        self, lat: NDArray[np.float64], lon: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return x and y of n places in metres from the lower-left corner, each of shape (n,)."""
        u, v = lon - self.region.lon, lat - self.region.lat
        square = u * u
        x = _horner(self.x, square, v)
        x *= u
        x += self.region.side_m / 2
        return x, _horner(self.y, square, v)


@lru_cache(maxsize=64)
def approximation(region: Region) -> Approximation | None:
    """Return the polynomial of the lowest order with an error of less than 1 mm, if there is one.

    >>> city = Region.around(lat=37.76, lon=-122.43, side_m=13_200)
    >>> near = approximation(city)
    >>> x, y = near.axes(np.array([37.8]), np.array([-122.4]))
    >>> bool(np.abs(city.to_xy(37.8, -122.4) - [x[0], y[0]]).max() < near.error_m < 1e-3)
    True
    """
    south, west, north, east = region.bounds
    wider_lat, wider_lon = _BEYOND * (north - south), _BEYOND * (east - west)
    low = (max(south - wider_lat, -90.0), max(west - wider_lon, -180.0))
    high = (min(north + wider_lat, 90.0), min(east + wider_lon, 360.0))
    for order in _ORDERS:
        made = _fitted(region, low, high, order)
        if made.error_m < _AIM_M:
            return made
    return None


def _fitted(
    region: Region, low: tuple[float, float], high: tuple[float, float], order: int
) -> Approximation:
    u, v, xy = _places(region, low, high, np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES))
    half = region.side_m / 2
    parts = []
    for target, odd in ((xy[:, 0] - half, 1), (xy[:, 1], 0)):
        powers = [
            (a, b) for a in range((order - odd) // 2 + 1) for b in range(order - odd - 2 * a + 1)
        ]
        su, sv = np.abs(u).max(), np.abs(v).max()
        columns = [(u / su) ** (2 * a + odd) * (v / sv) ** b for a, b in powers]
        found = np.linalg.lstsq(np.stack(columns, axis=1), target, rcond=None)[0]
        rows: list[list[float]] = [[] for _ in range((order - odd) // 2 + 1)]
        for (a, b), value in zip(powers, found, strict=True):
            rows[a].append(value / su ** (2 * a + odd) / sv**b)
        parts.append(tuple(np.array(row) for row in rows))
    made = Approximation(region, low, high, parts[0], parts[1], 0.0)
    # The error is smooth, so its maximum over a dense grid is nearly its maximum everywhere.
    u, v, xy = _places(region, low, high, np.linspace(-1, 1, _PROBES))
    x, y = made.axes(region.lat + v, region.lon + u)
    most = max(np.abs(x - xy[:, 0]).max(), np.abs(y - xy[:, 1]).max())
    return Approximation(region, low, high, made.x, made.y, _SAFETY * float(most) + _ROUNDING_M)


def _places(
    region: Region, low: tuple[float, float], high: tuple[float, float], at: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return p * p places in a box: degrees east and north of the centre, and metres."""
    lat, lon = ((a + b) / 2 + at * (b - a) / 2 for a, b in zip(low, high, strict=True))
    lon, lat = (a.ravel() for a in np.meshgrid(lon, lat))
    return lon - region.lon, lat - region.lat, region.to_xy(lat, lon)


def _horner(
    rows: tuple[NDArray[np.float64], ...],
    square: NDArray[np.float64],
    v: NDArray[np.float64],
) -> NDArray[np.float64]:
    total: NDArray[np.float64] | None = None
    for row in reversed(rows):
        inner = np.full_like(v, row[-1]) if len(row) == 1 else row[-1] * v
        for i in range(len(row) - 2, -1, -1):
            inner += row[i]
            if i:
                inner *= v
        if total is not None:
            total *= square
            inner += total
        total = inner
    assert total is not None  # noqa: S101
    return total
