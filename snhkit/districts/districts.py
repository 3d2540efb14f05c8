"""Districts, such as wards or H3 cells: polygons that are read, checked and projected once."""

import os
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray
from pyproj import CRS

from snhkit.checks import refuse_no_crs
from snhkit.districts.covering import areal, cover, refuse_tangled
from snhkit.districts.files import frame_of_file
from snhkit.errors import InputError, printable
from snhkit.geometry import Grid, Partition, RangeQueries, Region

if TYPE_CHECKING:
    import geopandas as gpd

WHOLE = 0.999
"""A larger share of an area is taken as all of it, since projections change areas slightly."""

DistrictsLike: TypeAlias = Union[
    "Districts", "gpd.GeoDataFrame", "gpd.GeoSeries", str, os.PathLike[str]
]
"""Districts, a frame of polygons, or the path of a file of polygons."""

_LONGEST_EDGE_M = 1_000  # projecting only the ends of such an edge moves its middle by centimetres
_AREAL = 2  # shapely's dimension of polygons
_SLACK = 1.01  # rounding may leave degrees above 90 or 360 by up to this factor


@dataclass(frozen=True, eq=False, repr=False)
class Districts:
    """Labelled polygons in one coordinate reference system; the object is immutable.

    Two objects are equal if their labels, shapes and reference systems are equal.

    Parameters
    ----------
    labels : tuple of str
        A label for each polygon.
    rows : GeoDataFrame
        The polygons with the columns and the index that they were given with.

    Examples
    --------
    >>> import geopandas as gpd
    >>> halves = [shapely.box(0, 0, 1, 2), shapely.box(1, 0, 2, 2)]
    >>> frame = gpd.GeoDataFrame({"side": ["west", "east"]}, geometry=halves, crs=4326)
    >>> Districts.of(frame, label="side")
    Districts(2 polygons: west, east)
    """

    labels: tuple[str, ...]
    rows: "gpd.GeoDataFrame"

    @classmethod
    def of(cls, given: DistrictsLike, label: Hashable | None = None) -> "Districts":
        """Return the polygons of a frame or of a file.

        Parameters
        ----------
        given : GeoDataFrame, GeoSeries, path or Districts
            Polygons in any CRS. In a geometry collection, which ``make_valid`` may return, only the
            polygons count.
        label : hashable, optional
            The column that holds the labels; by default, the index holds them.

        Raises
        ------
        InputError
            If there is no geometry, no CRS or no column ``label``, or a shape is not a valid
            polygon. The message states the first such shape and a remedy.
        """
        import geopandas as gpd

        if isinstance(given, Districts):
            return given if label is None else cls.of(given.rows, label)
        if isinstance(given, (str, os.PathLike)):
            return read_districts(given, label)
        if not isinstance(given, (gpd.GeoDataFrame, gpd.GeoSeries)):
            raise InputError(
                "districts must be a GeoDataFrame or a GeoSeries of polygons, or the path of a "
                f"file of polygons, not a {type(given).__name__}."
            )
        if isinstance(given, gpd.GeoDataFrame) and given.active_geometry_name is None:
            raise InputError(
                "the frame has no active geometry; choose one with frame.set_geometry."
            )
        refuse_no_crs(given)
        labels = tuple(map(str, given.index)) if label is None else _labels(given, label)
        named = given.rename("geometry") if isinstance(given, gpd.GeoSeries) else given
        rows = named.to_frame() if isinstance(named, gpd.GeoSeries) else named.copy()
        return cls(labels, rows.set_geometry(_checked(rows.geometry.to_numpy()), crs=given.crs))

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return self.labels, tuple(shapely.to_wkb(self.rows.geometry)), self.rows.crs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Districts) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        first = ", ".join(self.labels[:3]) + (", ..." if len(self) > 3 else "")
        return f"Districts({len(self):,} polygons: {printable(first)})"

    def refuse_repeated(self) -> None:
        """Raise InputError if there is no polygon, or a label is missing or occurs twice."""
        if not len(self):
            raise InputError("the frame has no rows; at least one polygon is needed.")
        twice, times = Counter(self.labels).most_common(1)[0]
        if times > 1:
            raise InputError(
                f"the label {twice!r} occurs {times} times; frame.dissolve(by=COLUMN, "
                "as_index=False) joins the rows of each label, and frame.reset_index(drop=True) "
                "numbers the rows."
            )

    def inside(self, region: Region) -> "LocalDistricts":
        """Return the polygons in metres in a region.

        Raises
        ------
        InputError
            If an edge spans more than 180 degrees of longitude, or no polygon reaches the region
            because latitude and longitude are swapped or the coordinates are not in the CRS.
        """
        return _inside(self, region)


@dataclass(frozen=True, eq=False, repr=False)
class LocalDistricts:
    """q districts in metres from a region's lower-left corner, without parts far outside it."""

    districts: Districts  # as they were declared
    region: Region
    shapes: NDArray[Any]  # polygons in metres, shape (q,)

    @cached_property
    def clipped(self) -> NDArray[Any]:
        """The parts of the polygons inside the region, shape (q,)."""
        side = self.region.side_m
        low_x, low_y, high_x, high_y = shapely.bounds(self.shapes).T
        inside = (low_x >= 0) & (low_y >= 0) & (high_x <= side) & (high_y <= side)
        found = self.shapes.copy()
        parts = shapely.intersection(found[~inside], shapely.box(0, 0, side, side))
        found[~inside] = shapely.transform(areal(parts), lambda xy: np.clip(xy, 0, side))
        return found

    @cached_property
    def area_m2(self) -> NDArray[np.float64]:
        """The area of each polygon inside the region in square metres, shape (q,)."""
        return shapely.area(self.clipped)

    @property
    def titles(self) -> list[str]:
        """The labels, each with a note if the polygon is not all in the region."""
        notes = np.select(
            [self.share <= 0, self.share < WHOLE],
            [" (outside the region)", " (partly outside the region)"],
            "",
        )
        return [label + note for label, note in zip(self.districts.labels, notes, strict=True)]

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """The share of each polygon's area that is inside the region, from 0 to 1, shape (q,)."""
        whole = self.districts.rows.geometry.to_crs(self.region.crs).area.to_numpy()
        return np.nan_to_num(self.area_m2 / np.maximum(whole, 1e-9))

    def cover(
        self, cells: Grid | Partition
    ) -> tuple[NDArray[np.int64], RangeQueries, NDArray[np.float64]]:
        """Return boxes that cover the polygons, and the share of each box inside its polygon.

        Each of p boxes consists of whole cells of a model, of which equal shares lie in the
        polygon. The index of a box's polygon is first, shape (p,), ascending; its share, above 0
        and at most 1, is last, shape (p,). The result for the cells that were asked last is kept.
        """
        kept = self.__dict__.get("_cover")
        if kept is None or not (kept[0] is cells or kept[0] == cells):
            kept = cells, cover(cells, self.clipped)
            self.__dict__["_cover"] = kept
        return kept[1]


def read_districts(path: str | os.PathLike[str], label: Hashable | None = None) -> Districts:
    """Return the labelled polygons of a file.

    The file may be hostile: it is opened in the format of its suffix and in no other, and sizes are
    checked first.

    Parameters
    ----------
    path : str or path
        A .geojson or .json file, a .gpkg file with one layer, or a GeoParquet file (.parquet).
    label : hashable, optional
        The column that holds the labels. By default, the labels are the row numbers from 0, or the
        index of the frame if a GeoParquet file stores one.

    Raises
    ------
    InputError
        If the file is missing, damaged or of another kind, or for the reasons in ``Districts.of``.

    Examples
    --------
    >>> import tempfile
    >>> import geopandas as gpd
    >>> frame = gpd.GeoDataFrame({"ward": ["1"]}, geometry=[shapely.box(0, 0, 1, 1)], crs=4326)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "wards.geojson"
    ...     frame.to_file(path)
    ...     read_districts(path, label="ward")
    Districts(1 polygons: 1)
    """
    path = Path(path).expanduser()
    try:
        return Districts.of(frame_of_file(path), label)
    except InputError as error:
        told = str(error)
        raise InputError(told if told.startswith(path.name) else f"{path.name}: {told}") from None


def _labels(frame: "gpd.GeoDataFrame | gpd.GeoSeries", label: Hashable) -> tuple[str, ...]:
    """Return the labels in a column of a frame as text."""
    columns = list(getattr(frame, "columns", []))
    found = [k for k, name in enumerate(columns) if name == label]
    if len(found) != 1:
        there = f"{len(found)} columns are called" if found else "the frame has no column"
        raise InputError(
            f"{there} {label!r}; it has {', '.join(map(str, columns))[:500] or 'none'}."
        )
    names = frame.iloc[:, found[0]]
    for row in np.flatnonzero(pd.isna(names))[:1]:
        raise InputError(f"row {row} (counted from 0) has no label; fill it in, or drop the row.")
    return tuple(map(str, names))


def _checked(shapes: NDArray[Any]) -> NDArray[Any]:
    """Return valid polygons without heights; raise InputError for other shapes."""
    shapes = shapely.force_2d(shapes)
    mixed = shapely.get_type_id(shapes) == shapely.GeometryType.GEOMETRYCOLLECTION
    for row in np.flatnonzero(mixed):
        parts = shapely.get_parts(shapely.get_parts(shapes[row]))
        polygons = parts[shapely.get_dimensions(parts) == _AREAL]
        if polygons.size:  # a collection without polygons is refused below
            shapes[row] = shapely.union_all(polygons)
    kinds = shapely.get_type_id(shapes)
    area = np.isin(kinds, [shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON])
    for row in np.flatnonzero(~area)[:1]:
        if kinds[row] < 0:
            raise InputError(
                f"row {row} (counted from 0) has no shape; frame[frame.geom_type.notna()] leaves "
                "such rows out."
            )
        raise InputError(
            f"row {row} (counted from 0) is a {shapely.GeometryType(kinds[row]).name.title()}, "
            "not a polygon; frame[frame.geom_type.isin(['Polygon', 'MultiPolygon'])] keeps the "
            "polygons."
        )
    refuse_tangled(shapes)
    for row in np.flatnonzero(~shapely.is_valid(shapes))[:1]:
        raise InputError(
            f"row {row} (counted from 0) is not a valid polygon "
            f"({shapely.is_valid_reason(shapes[row])}); "
            "frame.set_geometry(frame.make_valid()) repairs the shapes of a GeoDataFrame."
        )
    return shapes


@lru_cache(maxsize=8)
def _inside(districts: Districts, region: Region) -> LocalDistricts:
    import geopandas as gpd

    shapes, crs = districts.rows.geometry.to_numpy(), districts.rows.crs
    assert crs is not None  # noqa: S101 - for type checkers; refused in Districts.of
    lat, lon = region.ring()
    ring = gpd.GeoSeries.from_xy(lon, lat, crs=4326).to_crs(crs)
    west, south, east, north = ring.total_bounds
    if not np.isfinite(ring.total_bounds).all():
        raise InputError(
            f"the frame's CRS is not defined at {region}; convert the frame, "
            "as in frame.to_crs(4326)."
        )
    pad_x, pad_y = (east - west) / 10, (north - south) / 10
    nearby = west - pad_x, south - pad_y, east + pad_x, north + pad_y
    turn = _full_turn(crs)
    if turn:
        _refuse_wide_edges(shapes, turn)
    cut = _cut(shapes, nearby, turn)
    longest = _LONGEST_EDGE_M / region.side_m * max(east - west, north - south)
    flat = gpd.GeoSeries(_with_short_edges(cut, longest), crs=crs).to_crs(region.crs)
    placed = flat.translate(region.side_m / 2, region.side_m / 2).to_numpy()
    if turn and shapely.is_empty(cut).all():
        _refuse_misplaced(shapes, nearby, turn, crs)
    return LocalDistricts(districts, region, areal(placed))


def _with_short_edges(shapes: NDArray[Any], longest: float) -> NDArray[Any]:
    """Return shapes with corners added along edges longer than ``longest``."""
    xy, shape = shapely.get_coordinates(shapes, return_index=True)
    step = np.hypot(*np.diff(xy, axis=0).T)  # also from the end of a ring to the start of the next
    rows = np.unique(shape[1:][(step > longest) & (shape[1:] == shape[:-1])])
    found = shapes.copy()
    found[rows] = shapely.segmentize(shapes[rows], longest)  # slow for many corners
    return found


def _full_turn(crs: CRS) -> float:
    """Return 360 degrees in the units of a geographic CRS; 0 for a projected one."""
    factor = crs.axis_info[0].unit_conversion_factor if crs.is_geographic else 0
    return float(np.round(2 * np.pi / factor, 9)) if factor else 0.0


def _cut(
    shapes: NDArray[Any], nearby: tuple[float, float, float, float], turn: float
) -> NDArray[Any]:
    """Return the parts of shapes inside the box ``nearby``, also of those one ``turn`` off."""
    west, south, east, north = nearby
    low_x, low_y, high_x, high_y = shapely.bounds(shapes).T
    rest = ~((low_x >= west) & (low_y >= south) & (high_x <= east) & (high_y <= north))
    found = shapes.copy()
    found[rest] = shapely.intersection(shapes[rest], shapely.box(*nearby))
    for shift in (-turn, turn) if turn else ():
        also = rest & (high_x > west + shift) & (low_x < east + shift)
        part = shapely.intersection(
            shapes[also], shapely.box(west + shift, south, east + shift, north)
        )
        moved = shapely.transform(part, lambda xy, by=shift: xy - [by, 0])
        found[also] = shapely.union(found[also], moved)
    return found


def _refuse_wide_edges(shapes: NDArray[Any], turn: float) -> None:
    """Raise InputError if an edge spans half a ``turn``: it should cross the antimeridian."""
    parts, shape_of = shapely.get_parts(shapes, return_index=True)
    rings, part_of = shapely.get_rings(parts, return_index=True)
    xy, ring_of = shapely.get_coordinates(rings, return_index=True)
    edge = np.where(ring_of[1:] == ring_of[:-1], np.abs(np.diff(xy[:, 0])), 0)
    # An edge of 360 degrees is the edge of the map, for instance along a pole.
    for k in np.flatnonzero((edge > turn / 2) & (edge < turn * (1 - 1e-9)))[:1]:
        raise InputError(
            f"row {shape_of[part_of[ring_of[k]]]} has an edge across {edge[k]:g} degrees "
            "of longitude. If it crosses the antimeridian, cut the shape there or give longitudes "
            "from 0 to 360; otherwise add points along the edge, as frame.segmentize(90) does "
            "(rows count from 0)."
        )


def _refuse_misplaced(
    shapes: NDArray[Any], nearby: tuple[float, float, float, float], turn: float, crs: CRS
) -> None:
    """Raise InputError if shapes miss the region: swapped coordinates, or not in degrees."""
    there = shapes[~shapely.is_empty(shapes)]
    if not there.size:
        return
    west, south, east, north = shapely.total_bounds(there)
    around = f"they lie between x = {west:g} and {east:g}, y = {south:g} and {north:g}"
    if max(-south, north) > turn / 4 * _SLACK or max(-west, east) > turn * _SLACK:
        swapped = max(-west, east) <= turn / 4 * _SLACK
        doubt = (
            "latitude and longitude swapped" if swapped else "the coordinates metres of another CRS"
        )
        raise InputError(
            f"the CRS of the shapes ({crs.name}) is in degrees, but {around}. Are {doubt}?"
        )
    swapped = shapely.transform(there, lambda xy: xy[:, ::-1])
    if not shapely.is_empty(_cut(swapped, nearby, turn)).all():
        raise InputError(
            f"no shape reaches the region: {around}; are latitude and longitude swapped? "
            "shapely.transform(shapes, lambda c: c[:, ::-1]) exchanges them."
        )
