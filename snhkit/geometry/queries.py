"""Range queries: boxes whose numbers of records are asked for, as arrays."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike, NDArray

from snhkit.checks import floats, refuse_no_crs, two_numbers, whole
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError, OutsideWarning
from snhkit.geometry.points import Points
from snhkit.geometry.region import Region

_SIDES = (("south", "west", "north", "east"), ("miny", "minx", "maxy", "maxx"))
_CHUNK = 65_536  # boxes per step, so that their corners fit into the cache
_FIRST = 5  # the number of boxes that a message names


@dataclass(frozen=True, eq=False)
class RangeQueries:
    """Axis-parallel boxes in a region, half-open: [x, x + width) by [y, y + height).

    Parameters
    ----------
    region : Region
        The region in whose projection the boxes are given. Boxes may lie outside the region.
    x, y : array, shape (q,)
        Lower-left corners, in metres from the region's lower-left corner.
    width, height : array, shape (q,)
        Sides in metres, not negative.

    Raises
    ------
    InputError
        If the arrays have different lengths, or a box has a missing or infinite number or a
        negative side; the message names the first such box.

    Examples
    --------
    >>> city = Region.around(lat=37.76, lon=-122.43, side_m=1_000)
    >>> RangeQueries(city, x=[0, 500], y=[0, 500], width=[50, 100], height=[50, 25])
    RangeQueries(2 boxes)

    Notes
    -----
    The paper's q = (c, r), here for rectangles (Sec. 2.2).
    """

    region: Region
    x: Float[np.ndarray, " q"]
    y: Float[np.ndarray, " q"]
    width: Float[np.ndarray, " q"]
    height: Float[np.ndarray, " q"]

    def __init__(
        self, region: Region, x: ArrayLike, y: ArrayLike, width: ArrayLike, height: ArrayLike
    ) -> None:
        given = {"x": x, "y": y, "width": width, "height": height}
        arrays = {
            name: np.atleast_1d(floats(f"RangeQueries: {name}", a)) for name, a in given.items()
        }
        if len({a.shape for a in arrays.values()}) > 1 or arrays["x"].ndim != 1:
            shapes = ", ".join(f"{name} {a.shape}" for name, a in arrays.items())
            raise InputError(
                f"RangeQueries: x, y, width and height must have equal lengths, not {shapes}."
            )
        for name, a in arrays.items():
            bad = ~np.isfinite(a) if name in "xy" else ~(np.isfinite(a) & (a >= 0))
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                wanted = "a finite number" if name in "xy" else "finite and not negative"
                raise InputError(
                    f"RangeQueries: box {row}: {name} = {a[row]}, must be {wanted} "
                    "(boxes count from 0)."
                )
            object.__setattr__(self, name, a)
        object.__setattr__(self, "region", region)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"RangeQueries({len(self):,} boxes)"

    def __getitem__(self, rows: slice | NDArray) -> "RangeQueries":
        """Return the boxes that a slice, an index array or a boolean mask selects."""
        return RangeQueries(
            self.region, self.x[rows], self.y[rows], self.width[rows], self.height[rows]
        )

    @property
    def x1(self) -> Float[np.ndarray, " q"]:
        """The right edges in metres, shape (q,), which are not part of the boxes."""
        return self.x + self.width

    @property
    def y1(self) -> Float[np.ndarray, " q"]:
        """The upper edges in metres, shape (q,), which are not part of the boxes."""
        return self.y + self.height

    def clipped(self) -> "RangeQueries":
        """Return the parts of the boxes inside the region.

        Returns
        -------
        RangeQueries
            q boxes, in the same order. A box outside the region becomes a box without area on the
            region's border.

        Examples
        --------
        >>> city = Region.around(lat=0, lon=0, side_m=100)
        >>> boxes = RangeQueries(city, x=[-10, 200], y=[20, 20], width=[30, 5], height=[90, 5])
        >>> inside = boxes.clipped()
        >>> inside.x, inside.width, inside.height
        (array([  0., 100.]), array([20.,  0.]), array([80.,  5.]))
        """
        side = self.region.side_m
        x, y = np.clip(self.x, 0, side), np.clip(self.y, 0, side)
        x1, y1 = np.clip(self.x1, 0, side), np.clip(self.y1, 0, side)
        return RangeQueries(self.region, x, y, x1 - x, y1 - y)

    @classmethod
    def squares(cls, region: Region, centres: ArrayLike, side_m: ArrayLike) -> "RangeQueries":
        """Return squares with the given centres and sides.

        Parameters
        ----------
        region : Region
            The region of the squares.
        centres : ndarray, shape (q, 2)
            The centres, in metres from the region's lower-left corner.
        side_m : float or ndarray, shape (q,)
            The side of all squares, or the side of each square, in metres.

        Raises
        ------
        InputError
            If ``side_m`` is neither one number nor one for each centre.
        """
        centres = floats("squares: centres", centres).reshape(-1, 2)
        side = floats("squares: side_m", side_m)
        if side.shape not in ((), (len(centres),)):
            raise InputError(
                f"squares: side_m must be one number, or one number for each of the "
                f"{len(centres)} centres, not {side.size} numbers."
            )
        side = np.broadcast_to(side, len(centres))
        low = centres - side[:, None] / 2
        return cls(region, low[:, 0], low[:, 1], side, side)

    @classmethod
    def sample(
        cls,
        near: Points | Region,
        count: int,
        sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
        seed: int = 0,
    ) -> "RangeQueries":
        """Return random squares whose sides are uniformly distributed between two sizes.

        Parameters
        ----------
        near : Points or Region
            With points, each square is centred on a point that is chosen uniformly, as in the paper
            (Sec. 6.1). Squares centred on private records reveal where the records are; use such
            squares for evaluation only. With a region, squares are placed uniformly inside the
            region.
        count : int
            The number of squares.
        sizes_m : (float, float)
            Smallest and largest side, in metres.
        seed : int
            A public seed; the same seed draws the same squares.
        """
        low, high = two_numbers("sample: sizes_m", sizes_m)
        region = near if isinstance(near, Region) else near.region
        count, seed = whole("sample: count", count, least=0), whole("sample: seed", seed, least=0)
        if not 0 < low <= high <= region.side_m:
            raise InputError(
                f"sample: sizes_m must be (low, high) with 0 < low <= high <= {region.side_m:g} "
                f"metres, not {sizes_m}."
            )
        rng = np.random.default_rng(seed)
        if isinstance(near, Region):
            side = rng.uniform(low, high, count)
            corner = rng.uniform(size=(count, 2)) * (region.side_m - side)[:, None]
            return cls(region, corner[:, 0], corner[:, 1], side, side)
        if count and not len(near):
            raise InputError(
                "sample: there are no points, so no squares can be centred on points; "
                "pass the region instead."
            )
        side = rng.uniform(low, high, count)
        centres = near.xy[rng.integers(len(near), size=count)] if count else np.empty((0, 2))
        return cls.squares(region, centres, side)

    @classmethod
    def from_degrees(
        cls, region: Region, south: ArrayLike, west: ArrayLike, north: ArrayLike, east: ArrayLike
    ) -> "RangeQueries":
        """Return boxes with the given bounds in degrees, each of shape (q,).

        A box in degrees is very nearly a rectangle in the region's projection. The result is the
        rectangle through the midpoints of the four edges. A box with west > east crosses the
        antimeridian.

        Raises
        ------
        InputError
            If a box has south above north, a width over 180 degrees (except 360), or an impossible
            latitude or longitude; the message names the first such box. The error is also raised if
            no box overlaps the region, but a box would if latitude and longitude were swapped.

        Warns
        -----
        OutsideWarning
            If a box lies outside the region, so that its count is 0.
        """
        bounds = {"south": south, "west": west, "north": north, "east": east}
        s, w, n, e = (np.atleast_1d(floats(name, value)) for name, value in bounds.items())
        south_given, west_given = s, w
        lengths = len(s), len(w), len(n), len(e)
        if len(set(lengths)) > 1:
            raise InputError(
                "from_degrees: south, west, north and east must have equal lengths, "
                f"not {', '.join(map(str, lengths))}."
            )
        _refuse(~((s >= -90) & (s <= 90)), "south", s, "a latitude in [-90, 90]")
        _refuse(~((n >= -90) & (n <= 90)), "north", n, "a latitude in [-90, 90]")
        _refuse(~((w >= -180) & (w <= 540)), "west", w, "a longitude in [-180, 180]")
        _refuse(~((e >= -180) & (e <= 540)), "east", e, "a longitude in [-180, 180]")
        _refuse(s > n, "south", s, "no greater than north")
        span = np.where(e - w == 360, 360, (e - w) % 360)
        _refuse((span > 180) & (span < 360), "west", w, "at most 180 degrees west of east")
        # Boxes are cut near the region: the midpoint of a longer edge would lie far from the
        # region.
        south_in, west_in, north_in, east_in = region.bounds
        lat_pad, lon_pad = (north_in - south_in) / 10, (east_in - west_in) / 10
        middle = np.where(span == 360, region.lon, region.near_centre(w + span / 2))
        s, n = np.clip([s, n], south_in - lat_pad, north_in + lat_pad)
        w, e = np.clip([middle - span / 2, middle + span / 2], west_in - lon_pad, east_in + lon_pad)
        mid_lat, mid_lon = (s + n) / 2, (w + e) / 2
        x0, x1 = region.to_xy(mid_lat, w)[:, 0], region.to_xy(mid_lat, e)[:, 0]
        y0, y1 = region.to_xy(s, mid_lon)[:, 1], region.to_xy(n, mid_lon)[:, 1]
        boxes = cls(region, x0, y0, np.maximum(x1 - x0, 0), np.maximum(y1 - y0, 0))
        outside = (np.minimum(x1, y1) < 0) | (np.maximum(x0, y0) > region.side_m)
        if outside.any():
            if outside.all() and _reaches(region, lat=west_given, lon=south_given):
                raise InputError(
                    f"no box reaches the region around ({region.lat:g}, {region.lon:g}); are "
                    "latitude and longitude swapped?"
                )
            warn_outside(region, outside, "boxes")
        return boxes

    @classmethod
    def of(cls, region: Region, boxes: Any) -> "RangeQueries":
        """Return boxes that are given as people have them.

        Parameters
        ----------
        region : Region
            The region of the boxes.
        boxes : DataFrame, GeoDataFrame, GeoSeries or sequence
            A frame with columns south, west, north, east (or miny, minx, maxy, maxx, as
            ``frame.bounds`` has), in degrees; a frame of rectangles in any CRS; or one or several
            tuples (west, south, east, north) or shapely boxes, in degrees.

        Raises
        ------
        InputError
            If a column is missing, a frame of shapes has no CRS, or a shape is not a rectangle with
            edges along parallels and meridians; also for the reasons in ``from_degrees``.

        Examples
        --------
        >>> city = Region.around(lat=37.76, lon=-122.43, side_m=1_000)
        >>> RangeQueries.of(city, (-122.43, 37.76, -122.429, 37.761))
        RangeQueries(1 boxes)
        """
        if hasattr(type(boxes), "geometry"):
            refuse_no_crs(boxes)
            degrees = boxes.geometry.to_crs(4326)
            for row in np.flatnonzero(~are_boxes(degrees))[:1]:
                raise InputError(
                    f"row {row} (counted from 0): the {degrees.iloc[row].geom_type} is not a "
                    "rectangle in latitude and longitude; pass polygons to release.answer, without "
                    "RangeQueries."
                )
            boxes = degrees.bounds
        if hasattr(boxes, "columns"):
            names = {str(name).strip().lower(): name for name in boxes.columns}
            sides = next((sides for sides in _SIDES if set(sides) <= set(names)), None)
            if sides is None:
                missing = ", ".join(side for side in _SIDES[0] if side not in names)
                raise InputError(
                    f"no column {missing}; it has {', '.join(map(str, boxes.columns))[:300]}. "
                    f"Boxes need the columns {', '.join(_SIDES[0])}, in degrees."
                )
            return cls.from_degrees(region, *(boxes[names[side]] for side in sides))
        if hasattr(boxes, "bounds") or (len(boxes) == 4 and isinstance(boxes[0], (int, float))):
            boxes = [boxes]
        bounds = [getattr(box, "bounds", box) for box in boxes]
        if any(np.shape(box) != (4,) for box in bounds):
            raise InputError(
                "boxes must be RangeQueries, a frame, shapely boxes or tuples (west, south, east, "
                f"north) in degrees, not {str(boxes)[:60]}."
            )
        west, south, east, north = np.reshape(np.asarray(bounds, float), (-1, 4)).T
        return cls.from_degrees(region, south, west, north, east)

    def corners_in_degrees(self) -> Float[np.ndarray, "q 4 2"]:
        """Return the latitude and longitude of the corners of each box, shape (q, 4, 2).

        The corners are ordered anticlockwise, from the lower left.
        """
        x0, y0, x1, y1 = self.x, self.y, self.x1, self.y1
        ring = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        xy = np.stack([np.stack(corner, axis=1) for corner in ring], axis=1)
        return np.stack(self.region.to_latlon(xy), axis=-1)

    def summed(
        self, region: Region, sums: Callable[["RangeQueries"], NDArray[np.float64]]
    ) -> Float[np.ndarray, " q"]:
        """Return what ``sums`` does for parts of the boxes, which must lie in a region."""
        region.refuse_other(self.region, "the boxes")
        parts = [sums(part) for part in self.chunks(_CHUNK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def chunks(self, size: int) -> Iterator["RangeQueries"]:
        """Yield the boxes in parts, in order, with at most ``size`` boxes in each part."""
        if 0 < len(self) <= size:
            yield self
            return
        for start in range(0, len(self), size):
            yield self[start : start + size]


def warn_outside(region: Region, outside: Bool[np.ndarray, " q"], what: str) -> None:
    """Issue an ``OutsideWarning`` that names the first ``what``, such as "boxes", outside."""
    rows = np.flatnonzero(outside)
    if rows.size:
        first = ", ".join(map(str, rows[:_FIRST])) + (", ..." if rows.size > _FIRST else "")
        warnings.warn(
            f"{rows.size:,} of {len(outside):,} {what} lie outside the region of "
            f"{region.side_m:g} m around ({region.lat:g}, {region.lon:g}), so their counts are 0 "
            f"({what} {first}, counted from 0).",
            OutsideWarning,
            stacklevel=4,
        )


def _reaches(region: Region, lat: Float[np.ndarray, " q"], lon: Float[np.ndarray, " q"]) -> bool:
    """Return whether any position lies in the smallest box in degrees around the region."""
    south, west, north, east = region.bounds
    lon = region.near_centre(lon)
    return bool(((south <= lat) & (lat <= north) & (west <= lon) & (lon <= east)).any())


def are_boxes(shapes) -> Bool[np.ndarray, " q"]:
    """Return whether each shape of a GeoSeries in degrees covers 99 % of its bounding box."""
    bounds = shapes.bounds
    spans = (bounds.maxx - bounds.minx) * (bounds.maxy - bounds.miny)
    filled = shapes.set_crs(None, allow_override=True).area
    return (filled >= 0.99 * spans).to_numpy()


def _refuse(bad: NDArray[np.bool_], name: str, values: NDArray, wanted: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"box {row}: {name} = {values[row]:g}, must be {wanted} (boxes count from 0)."
        )
