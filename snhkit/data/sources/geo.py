"""Positions: numbers, texts and geometries, converted to degrees."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from snhkit.errors import InputError
from snhkit.untrusted import parsing, refuse_nested, refuse_paths, unpacked

if TYPE_CHECKING:
    Axes = tuple[NDArray[np.float64], NDArray[np.float64]]
    """Two coordinates of n points, each of shape (n,), such as latitudes and longitudes, or nan."""

pc: Any = pyarrow.compute  # made at import, so a type checker cannot know it

_POINT = 21  # bytes of a point in WKB: the byte order, the type, x and y
_LITTLE_POINT = np.frombuffer(b"\x01\x01\x00\x00\x00", np.uint8)
_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]*)?"
_LAT_LON = rf"^\s*[(\[]?\s*(?P<a>{_NUMBER})\s*[,;\s]\s*(?P<b>{_NUMBER})\s*[)\]]?\s*$"


@dataclass(frozen=True)
class Geometry:
    """A column of points, encoded as "WKB", "WKT" or "point" (a struct or list of x and y)."""

    column: str
    encoding: str
    crs: str  # that pyproj reads, empty for WGS 84
    how: str = "read the file with geopandas: "  # to get a frame, for messages


def floats_of(source: str, column: pa.Array) -> NDArray[np.float64]:
    """Return the numbers of a column, shape (n,); nan where a number is missing."""
    column = unpacked(column)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        try:
            column = column.cast(pa.float64())
        except pa.ArrowInvalid:  # some texts are not plain numbers
            found = pd.to_numeric(pd.Series(column.to_pylist(), dtype=object), errors="coerce")
            return np.asarray(found, np.float64)
    elif pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not pa.types.is_null(kind):
        raise InputError(f"{source}: latitude and longitude must be numbers, not {kind}.")
    else:
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def to_degrees(crs: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> "Axes":
    """Return the latitudes and longitudes of coordinates in another reference system."""
    lat, lon = np.array(y), np.array(x)
    known = np.isfinite(x) & np.isfinite(y)
    lon[known], lat[known] = _transformer(crs).transform(x[known], y[known])
    lon[np.isinf(lon)], lat[np.isinf(lat)] = np.nan, np.nan  # not within the system's area
    return lat, lon


def points_of(source: str, column: pa.Array, crs: str | None) -> "Axes":
    """Return positions: texts such as "(37.76, -122.43)", or WKT or WKB, which have x first."""
    column = unpacked(column)
    if "binary" in str(column.type):
        return degrees_of(source, column, Geometry("", "WKB", crs or ""))
    if not ("string" in str(column.type) or pa.types.is_null(column.type)):
        raise InputError(
            f"{source}: the points must be text such as '(37.76, -122.43)', WKT or WKB, not "
            f"{column.type}."
        )
    column = pc.replace_substring_regex(column.cast(pa.string()), r"^\s*SRID=4326;", "")
    for encoding, form in (("WKT", r"(?i)^\s*POINT"), ("WKB", r"^[0-9A-Fa-f]{42,}$")):
        if pc.any(pc.match_substring_regex(column, form)).as_py():
            return degrees_of(source, column, Geometry("", encoding, crs or ""))
    found = pc.extract_regex(column, _LAT_LON)
    lat, lon = (
        pc.struct_field(found, name).cast(pa.float64()).to_numpy(zero_copy_only=False)
        for name in "ab"
    )
    return (lat, lon) if crs is None else to_degrees(crs, lon, lat)


def geometry_of(source: str, schema: pa.Schema) -> Geometry | None:
    """Return the column of points that the metadata of a schema describe; None if there is none."""
    column, encoding, crs = "", "", None
    told = (schema.metadata or {}).get(b"geo")
    try:
        if told is not None:
            described = json.loads(told)
            column = str(described["primary_column"])
            about = described["columns"][column]
            encoding, crs = str(about["encoding"]), about.get("crs", {})
        else:
            for field in schema:
                more = field.metadata or {}
                kind = more.get(b"ARROW:extension:name", b"").decode()
                kind = kind or getattr(field.type, "extension_name", "")
                if kind.startswith("geoarrow."):
                    column, encoding = field.name, kind.removeprefix("geoarrow.")
                    text = more.get(b"ARROW:extension:metadata")
                    if text is None and hasattr(field.type, "__arrow_ext_serialize__"):
                        text = field.type.__arrow_ext_serialize__()
                    crs = json.loads(text or b"{}").get("crs")
                    break
            else:
                return None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{source}: the GeoParquet metadata of the file are damaged; write the file again."
        ) from None
    if crs is None:
        raise InputError(
            f"{source}: the points have no CRS, so the unit of their coordinates is "
            "unknown; write the file with a CRS, or name the columns that hold degrees: "
            "lat=..., lon=..."
        )
    encoding = {"wkb": "WKB", "wkt": "WKT"}.get(encoding, encoding)
    if column not in schema.names or encoding not in ("WKB", "WKT", "point"):
        raise InputError(
            f"{source}: the geometries must be points, but their encoding is {encoding[:20]!r}."
        )
    return Geometry(column, encoding, named_crs(source, crs))


def named_crs(source: str, crs: Any) -> str:
    """Return the reference system of a file as text, empty for degrees on WGS 84."""
    with parsing(source, "a CRS"):
        last = str(crs).rpartition(":")[2]
        code = crs.get("id", {}).get("code") if isinstance(crs, dict) else last
        if not crs or str(code) in ("CRS84", "4326"):
            return ""
        refuse_paths(crs)
    return crs if isinstance(crs, str) else json.dumps(crs)


def degrees_of(source: str, column: pa.Array, geometry: Geometry, first: int = 0) -> "Axes":
    """Return the positions of a column of points; ``first`` is the number of the first row."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    column = unpacked(column)
    if geometry.encoding == "point":
        x, y = _from_struct(source, column)
    else:
        x, y = _from_shapes(source, column, geometry, first)
    return to_degrees(geometry.crs, x, y) if geometry.crs else (y, x)


def _from_struct(source: str, array: Any) -> "Axes":
    try:
        axes = (
            [pc.list_element(array, axis) for axis in (0, 1)]
            if pa.types.is_fixed_size_list(array.type)
            else [pc.struct_field(array, axis) for axis in ("x", "y")]
        )
    except (pa.ArrowException, TypeError):
        raise InputError(f"{source}: the geometries must be points.") from None
    x, y = (axis.cast(pa.float64()).to_numpy(zero_copy_only=False) for axis in axes)
    return x, y


def _from_shapes(source: str, array: Any, geometry: Geometry, first: int) -> "Axes":
    import shapely

    if pa.types.is_binary(array.type) and not array.null_count and len(array):
        _, offsets, data = array.buffers()
        at = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
        if (np.diff(at) == _POINT).all():
            rows = np.frombuffer(data, np.uint8)[at[0] : at[-1]].reshape(-1, _POINT)
            if (rows[:, :5] == _LITTLE_POINT).all():
                x, y = np.ascontiguousarray(rows[:, 5:]).view("<f8").T.copy()
                return x, y
    objects = np.asarray(array.to_pylist(), dtype=object)
    refuse_nested(objects)
    read: Any = shapely.from_wkb if geometry.encoding == "WKB" else shapely.from_wkt
    bad = {} if geometry.encoding == "WKB" else {"on_invalid": "ignore"}
    shapes: Any = read(objects, **bad)
    others = np.flatnonzero(shapely.get_type_id(shapes) > 0)
    if others.size:
        kind = shapes[others[0]].geom_type
        raise InputError(
            f"{source}: row {first + int(others[0])} (rows count from 0) is a {kind}, not a point; "
            f"{geometry.how}{_advice(kind)}."
        )
    there = ~(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    x, y = np.full((2, len(shapes)), np.nan)
    x[there], y[there] = shapely.get_x(shapes[there]), shapely.get_y(shapes[there])
    return x, y


def _advice(kind: str) -> str:
    if kind in ("MultiPoint", "GeometryCollection"):
        return "frame.explode() makes one row of each point"
    if "Line" in kind:
        return (
            "frame.set_geometry(frame.extract_unique_points()).explode() makes one row of each "
            "vertex"
        )
    return "frame.set_geometry(frame.representative_point()) takes a point inside each shape"


@lru_cache(maxsize=8)
def _transformer(crs: str) -> Transformer:
    try:
        return Transformer.from_crs(CRS.from_user_input(crs), 4326, always_xy=True)
    except CRSError as failure:
        raise InputError(
            f"the CRS of the points cannot be read ({failure}); write the file with another CRS, "
            "such as EPSG:4326."
        ) from None
