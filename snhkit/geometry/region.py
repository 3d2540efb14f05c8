"""Regions: public squares on the map, in which records are counted."""

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike, NDArray
from pyproj import CRS, Transformer

from snhkit.checks import refuse_no_crs
from snhkit.errors import InputError

MAX_LATITUDE = 85.0
MAX_SIDE_M = 200_000.0
_MIN_SIDE_M = 1e-3


@dataclass(frozen=True)
class Region:
    """A public square on the map, given by its centre and side.

    The region must be chosen without looking at the records. Positions are in metres east (x) and
    north (y) of the region's lower-left corner, in a Lambert azimuthal equal-area projection
    centred on the region. Areas are therefore exact, and distances of up to 50 km have errors below
    1 m.

    Parameters
    ----------
    lat, lon : float
        The centre, in degrees on WGS 84.
    side_m : float
        The side in metres.

    Raises
    ------
    InputError
        If the centre is beyond 85 degrees north or south, or the side is above 200 km, because the
        projection would distort such a square too much.

    Examples
    --------
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> city.to_xy(37.7637, -122.4337)
    array([6600., 6600.])

    Notes
    -----
    The region is the paper's SR (Sec. 2.2).
    """

    lat: float
    lon: float
    side_m: float

    def __post_init__(self) -> None:
        for name in ("lat", "lon", "side_m"):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
                raise InputError(f"Region: {name} must be a finite number, not {value!r}.")
            object.__setattr__(self, name, float(value))
        if not -180 <= self.lon <= 360:
            raise InputError(f"Region: lon must lie in [-180, 360] degrees, not {self.lon:g}.")
        if abs(self.lat) > 90:
            raise InputError(
                f"Region: lat must lie in [-90, 90] degrees, not {self.lat:g}; "
                "are latitude and longitude swapped?"
            )
        if abs(self.lat) > MAX_LATITUDE:
            raise InputError(
                f"Region: a centre beyond {MAX_LATITUDE:g} degrees north or south is not supported "
                f"(lat = {self.lat:g})."
            )
        if not _MIN_SIDE_M <= self.side_m <= MAX_SIDE_M:
            raise InputError(
                f"Region: side_m must lie in [{_MIN_SIDE_M:g}, {MAX_SIDE_M:,.0f}] metres, not "
                f"{self.side_m:g}."
            )

    @classmethod
    def around(cls, lat: float, lon: float, side_m: float) -> "Region":
        """Return the square of side ``side_m`` metres around (``lat``, ``lon``) in degrees."""
        return cls(lat=lat, lon=lon, side_m=side_m)

    @classmethod
    def from_bounds(cls, west: float, south: float, east: float, north: float) -> "Region":
        """Return the smallest square that holds a box of degrees, in the order of ``frame.bounds``.

        Parameters
        ----------
        west, south, east, north : float
            The sides in degrees. If west is above east, the box crosses the antimeridian.

        Raises
        ------
        InputError
            If south is not below north, or the square is too large or too close to a pole.

        Examples
        --------
        >>> Region.from_bounds(-122.52, 37.70, -122.35, 37.83)
        Region(lat=37.765, lon=-122.435, side_m=14994.0)
        """
        if not south < north:
            raise InputError(
                f"Region: south = {south:g} must be below north = {north:g}; the order is west, "
                "south, east, north."
            )
        width = (east - west) % 360 or 360.0
        lat, lon = (south + north) / 2, (west + width / 2 + 180) % 360 - 180
        lat, lon = round(lat, 9), round(lon, 9)
        at = cls(lat=lat, lon=lon, side_m=1.0)
        share = np.linspace(0, 1, 33)
        x, y = west + width * share, south + (north - south) * share
        edges = [(y, x[:1] + 0 * y), (y, x[-1:] + 0 * y), (y[:1] + 0 * x, x), (y[-1:] + 0 * x, x)]
        reach = max(np.abs(at.to_xy(*edge) - 0.5).max() for edge in edges)
        return cls(lat=lat, lon=lon, side_m=2 * math.ceil(reach))

    @classmethod
    def covering(cls, polygons: Any) -> "Region":
        """Return the smallest square that holds public polygons, such as a city's border.

        The polygons must be public: a square that fits private records reveals where these are.

        Parameters
        ----------
        polygons : GeoDataFrame, GeoSeries or shapely geometry
            Polygons in any CRS; a shapely geometry is in degrees.

        Raises
        ------
        InputError
            If a frame has no CRS, the shapes are points, or the square is too large.

        Examples
        --------
        >>> import shapely
        >>> Region.covering(shapely.box(-122.52, 37.70, -122.35, 37.83)).side_m
        14994.0
        """
        if hasattr(polygons, "geom_type") and hasattr(polygons, "to_crs"):
            refuse_no_crs(polygons)
            kinds, bounds = set(polygons.geom_type), polygons.to_crs(4326).total_bounds
        else:
            kinds, bounds = {getattr(polygons, "geom_type", "nothing")}, ()
            bounds = getattr(polygons, "bounds", bounds)
        if not kinds <= {"Polygon", "MultiPolygon"} or len(bounds) != 4:
            raise InputError(
                "Region.covering: give public polygons, such as the border of a city, not "
                f"{', '.join(sorted(map(str, kinds)))}. A square that fits records reveals where "
                "they are."
            )
        return cls.from_bounds(*map(float, bounds))

    @property
    def crs(self) -> CRS:
        """The projection of the region, whose origin is at the region's centre."""
        return CRS.from_dict(
            {"proj": "laea", "lat_0": self.lat, "lon_0": self.lon, "datum": "WGS84", "units": "m"}
        )

    def to_xy(self, lat: ArrayLike, lon: ArrayLike) -> Float[np.ndarray, "*s 2"]:
        """Convert degrees to metres from the region's lower-left corner, shape (..., 2)."""
        x, y = _transformer(self).transform(np.asarray(lon, float), np.asarray(lat, float))
        return np.stack([x, y], axis=-1) + self.side_m / 2

    def to_latlon(self, xy: ArrayLike) -> tuple[Float[np.ndarray, "*s"], Float[np.ndarray, "*s"]]:
        """Convert positions in metres, shape (..., 2), to latitudes and longitudes in degrees.

        Longitudes are within 180 degrees of the centre's longitude, so they do not jump at the
        antimeridian.
        """
        local = np.asarray(xy, float) - self.side_m / 2
        lon, lat = _transformer(self).transform(local[..., 0], local[..., 1], direction="INVERSE")
        return np.asarray(lat), self.near_centre(lon)

    def refuse_other(self, other: "Region", what: str) -> None:
        """Raise InputError if ``what``, such as "the boxes", lie in another region."""
        if other != self:
            raise InputError(
                f"{what} lie in another region, {other}; make both with the same one, {self}."
            )

    def near_centre(self, lon: ArrayLike) -> NDArray[np.float64]:
        """Return the same longitudes as numbers within 180 degrees of the centre's longitude.

        Multiples of 360 degrees are added or subtracted.
        """
        return self.lon + (np.asarray(lon, float) - self.lon + 180) % 360 - 180

    def contains(self, xy: Float[np.ndarray, "*s 2"]) -> Bool[np.ndarray, "*s"]:
        """Return whether each position, shape (..., 2) in metres, is in the half-open square."""
        inside = (xy >= 0) & (xy < self.side_m)
        return inside[..., 0] & inside[..., 1]  # faster than np.all along an axis of two

    def ring(
        self, points_per_side: int = 16
    ) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
        """Return latitudes and longitudes along the border, anticlockwise from the lower left.

        Each array has shape (4 points_per_side + 1,). The last point is equal to the first.
        """
        t = np.linspace(0, self.side_m, points_per_side, endpoint=False)
        low, high = np.zeros_like(t), np.full_like(t, self.side_m)
        x = np.concatenate([t, high, high - t, low, [0]])
        y = np.concatenate([low, t, high, high - t, [0]])
        return self.to_latlon(np.stack([x, y], axis=1))

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The south, west, north and east of the smallest box around the region, in degrees."""
        lat, lon = self.ring()
        return float(lat.min()), float(lon.min()), float(lat.max()), float(lon.max())

    def to_dict(self) -> dict[str, float]:
        """Return the centre and the side as JSON values."""
        return asdict(self)


@lru_cache(maxsize=64)
def _transformer(region: Region) -> Transformer:
    return Transformer.from_crs("EPSG:4326", region.crs, always_xy=True)
