"""Polygons of a GeoDataFrame, checked and projected to metres in a region."""

from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import shapely
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Region

if TYPE_CHECKING:
    from pyproj import CRS

__all__ = ["outside", "polygons_in"]

_LONGEST_EDGE_M = 1_000  # projecting only the ends of such an edge moves its middle by centimetres
_AREAL = 2  # shapely's dimension of polygons
_SLACK = 1.01  # rounding may leave degrees above 90 or 360 by up to this factor


def polygons_in(region: Region, frame: "gpd.GeoDataFrame | gpd.GeoSeries") -> NDArray[Any]:
    """Return the polygons of a GeoDataFrame in metres, without the parts far outside a region.

    Parameters
    ----------
    region : Region
        The region of a release.
    frame : GeoDataFrame or GeoSeries
        q polygons, in any CRS. In a geometry collection, which ``make_valid`` may return, only the
        polygons count. Longitudes may be from -180 to 180 or from 0 to 360 degrees, and polygons
        may be cut at the antimeridian.

    Returns
    -------
    ndarray of shapely geometries, shape (q,)
        Polygons in metres from the region's lower-left corner.

    Raises
    ------
    InputError
        If the frame has no geometry or no CRS, a shape is not a valid polygon, an edge spans more
        than 180 degrees of longitude, or no polygon reaches the region because latitude and
        longitude are swapped or the coordinates are not in the frame's CRS.

    Examples
    --------
    >>> import geopandas as gpd
    >>> fiji = Region.around(lat=-17, lon=180, side_m=60_000)
    >>> west, east = shapely.box(179.9, -17, 180, -16.9), shapely.box(-180, -17, -179.9, -16.9)
    >>> pair = gpd.GeoSeries([shapely.MultiPolygon([west, east])], crs=4326)
    >>> polygons_in(fiji, pair)[0].bounds
    (19345.7..., 29997.2..., 40654.2..., 41066.8...)
    """
    shapes, crs = _checked(frame)
    lat, lon = region.ring()
    ring = gpd.GeoSeries.from_xy(lon, lat, crs=4326).to_crs(crs)
    west, south, east, north = ring.total_bounds
    if not np.isfinite(ring.total_bounds).all():
        raise InputError(
            f"answer: the frame's CRS is not defined at {region}; convert the frame, "
            "as in frame.to_crs(4326)."
        )
    pad_x, pad_y = (east - west) / 10, (north - south) / 10
    nearby = west - pad_x, south - pad_y, east + pad_x, north + pad_y
    turn = _full_turn(crs)
    if turn:
        _refuse_wide_edges(shapes, turn)
    cut = _cut(shapes, nearby, turn)
    longest = _LONGEST_EDGE_M / region.side_m * max(east - west, north - south)
    near = gpd.GeoSeries(cut, crs=crs)
    flat = near.segmentize(longest).to_crs(region.crs)
    placed = flat.translate(region.side_m / 2, region.side_m / 2).to_numpy()
    if turn and shapely.is_empty(cut).all():
        _refuse_misplaced(shapes, nearby, turn, crs)
    return placed


def outside(region: Region, polygons: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each polygon lies outside the region, shape (q,).

    Polygons are in metres from the region's lower-left corner.
    """
    return ~shapely.intersects(polygons, shapely.box(0, 0, region.side_m, region.side_m))


def _checked(frame: object) -> tuple[NDArray[Any], "CRS"]:
    """Return a frame's polygons and CRS; raise InputError if a shape is not a polygon."""
    if isinstance(frame, gpd.GeoDataFrame) and frame.active_geometry_name is None:
        raise InputError("answer: the frame has no active geometry; choose one with set_geometry.")
    if not isinstance(frame, (gpd.GeoDataFrame, gpd.GeoSeries)):
        raise InputError(
            "answer: give RangeQueries or a GeoDataFrame of polygons, "
            f"not a {type(frame).__name__}."
        )
    if frame.crs is None:
        raise InputError(
            "answer: the frame has no CRS; if its coordinates are degrees, set the "
            "CRS with frame.set_crs(4326)."
        )
    shapes = frame.geometry.to_numpy().copy()
    mixed = shapely.get_type_id(shapes) == shapely.GeometryType.GEOMETRYCOLLECTION
    for row in np.flatnonzero(mixed):
        parts = shapely.get_parts(shapely.get_parts(shapes[row]))
        polygons = parts[shapely.get_dimensions(parts) == _AREAL]
        if polygons.size:  # a collection without polygons is refused below
            shapes[row] = shapely.union_all(polygons)
    _refuse_other_shapes(shapes)
    return shapes, frame.crs


def _full_turn(crs: "CRS") -> float:
    """Return 360 degrees in the units of a geographic CRS; 0 for a projected one."""
    factor = crs.axis_info[0].unit_conversion_factor if crs.is_geographic else 0
    return float(np.round(2 * np.pi / factor, 9)) if factor else 0.0


def _cut(
    shapes: NDArray[Any], nearby: tuple[float, float, float, float], turn: float
) -> NDArray[Any]:
    """Return the parts of shapes inside a box, also of shapes that are 360 degrees off.

    ``nearby`` is the box: west, south, east, north. ``turn`` is the result of ``_full_turn``. If it
    is not 0, parts that lie in the box after a shift of 360 degrees of longitude are included.
    """
    west, south, east, north = nearby
    found = shapely.intersection(shapes, shapely.box(*nearby))
    for shift in (-turn, turn) if turn else ():
        part = shapely.intersection(shapes, shapely.box(west + shift, south, east + shift, north))
        also = ~shapely.is_empty(part)
        moved = shapely.transform(part[also], lambda xy, by=shift: xy - [by, 0])
        found[also] = shapely.union(found[also], moved)
    return found


def _refuse_wide_edges(shapes: NDArray[Any], turn: float) -> None:
    """Raise InputError if an edge spans more than 180 degrees of longitude.

    Such an edge was probably meant to cross the antimeridian, but runs the other way round the
    globe. ``turn`` is 360 degrees in the unit of the coordinates.
    """
    parts, shape_of = shapely.get_parts(shapes, return_index=True)
    rings, part_of = shapely.get_rings(parts, return_index=True)
    xy, ring_of = shapely.get_coordinates(rings, return_index=True)
    edge = np.where(ring_of[1:] == ring_of[:-1], np.abs(np.diff(xy[:, 0])), 0)
    # An edge of 360 degrees is the edge of the map, for instance along a pole.
    for k in np.flatnonzero((edge > turn / 2) & (edge < turn * (1 - 1e-9)))[:1]:
        raise InputError(
            f"answer: shape {shape_of[part_of[ring_of[k]]]} has an edge across {edge[k]:g} degrees "
            "of longitude. If it crosses the antimeridian, cut the shape there or give longitudes "
            "from 0 to 360; otherwise add points along the edge, as frame.segmentize(90) does "
            "(shapes count from 0)."
        )


def _refuse_misplaced(
    shapes: NDArray[Any], nearby: tuple[float, float, float, float], turn: float, crs: "CRS"
) -> None:
    """Raise InputError if shapes miss the region because coordinates are swapped or not in degrees.

    ``nearby`` is the box in degrees around the region, and ``turn`` is 360 degrees.
    """
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
            f"answer: the CRS of the shapes ({crs.name}) is in degrees, but {around}. Are {doubt}?"
        )
    swapped = shapely.transform(there, lambda xy: xy[:, ::-1])
    if not shapely.is_empty(_cut(swapped, nearby, turn)).all():
        raise InputError(
            f"answer: no shape reaches the region: {around}; are latitude and longitude swapped? "
            "shapely.transform(shapes, lambda c: c[:, ::-1]) exchanges them."
        )


def _refuse_other_shapes(shapes: NDArray[Any]) -> None:
    """Raise InputError if a shape is not a polygon, or not a valid one."""
    kinds = shapely.get_type_id(shapes)
    area = np.isin(kinds, [shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON])
    for row in np.flatnonzero(~area)[:1]:
        name = "missing" if kinds[row] < 0 else f"a {shapely.GeometryType(kinds[row]).name.title()}"
        raise InputError(
            f"answer: shape {row} is {name}, but must be a polygon (shapes count from 0)."
        )
    for row in np.flatnonzero(~shapely.is_valid(shapes))[:1]:
        raise InputError(
            f"answer: shape {row} is not a valid polygon ({shapely.is_valid_reason(shapes[row])}); "
            "frame.set_geometry(frame.make_valid()) repairs the shapes of a GeoDataFrame "
            "(shapes count from 0)."
        )
