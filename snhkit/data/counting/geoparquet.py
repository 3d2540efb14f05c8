"""The points of GeoParquet files, converted to degrees."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyproj import Transformer

__all__ = ["Geometry", "degrees_of", "geometry_of"]

_POINT = 21  # bytes of a point in WKB: the byte order, the type, x and y
_LITTLE_POINT = np.frombuffer(b"\x01\x01\x00\x00\x00", np.uint8)


@dataclass(frozen=True)
class Geometry:
    """The column of points of a GeoParquet file.

    Parameters
    ----------
    column : str
        The name of the column.
    encoding : str
        "WKB", well-known binary, or "point", a struct of x and y.
    crs : str
        The coordinate reference system (CRS) as PROJJSON; the empty string for longitude and
        latitude on WGS 84.
    """

    column: str
    encoding: str
    crs: str


def geometry_of(name: str, schema: "pa.Schema") -> Geometry | None:
    """Return the column of points that a file's metadata describe; None for plain Parquet.

    Raises
    ------
    InputError
        If the metadata are damaged, the points have no CRS, or the encoding is neither "WKB" nor
        "point".
    """
    told = (schema.metadata or {}).get(b"geo")
    if told is None:
        return None
    try:
        described = json.loads(told)
        column = str(described["primary_column"])
        about = described["columns"][column]
        encoding = str(about["encoding"])
        crs: Any = about.get("crs", {})
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{name}: the GeoParquet metadata of the file are damaged; write the file again."
        ) from None
    if crs is None:
        raise InputError(
            f"{name}: the points have no CRS, so the unit of their coordinates is "
            "unknown; write the file with a CRS, or name the columns that hold degrees: "
            "lat=..., lon=..."
        )
    if column not in schema.names or encoding not in ("WKB", "point"):
        raise InputError(
            f"{name}: the geometries must be points, but their encoding is {encoding[:20]!r}."
        )
    known = isinstance(crs, dict) and str(crs.get("id", {}).get("code")) in ("CRS84", "4326")
    return Geometry(column, encoding, "" if known or not crs else json.dumps(crs))


def degrees_of(
    name: str, column: "pa.ChunkedArray", geometry: Geometry
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the latitudes and longitudes of a GeoParquet column of points, in degrees.

    Parameters
    ----------
    name : str
        The name of the file, for messages.
    column : ChunkedArray
        The n geometries of the column.
    geometry : Geometry
        The encoding of the column, and the CRS from which points are converted to degrees.

    Returns
    -------
    lat, lon : ndarray, shape (n,)
        Degrees; nan where a row has no point.

    Raises
    ------
    InputError
        If a geometry is not a point, or the CRS cannot be read.
    """
    import pyarrow as pa

    array = column.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    x, y = _from_wkb(name, array) if geometry.encoding == "WKB" else _from_struct(name, array)
    if geometry.crs:
        known = np.isfinite(x) & np.isfinite(y)
        x[known], y[known] = _transformer(geometry.crs).transform(x[known], y[known])
    return y, x


def _from_struct(name: str, array: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        axes = [np.array(array.field(axis).to_numpy(zero_copy_only=False)) for axis in ("x", "y")]
    except (AttributeError, KeyError):
        raise InputError(f"{name}: the geometries must be points.") from None
    gone = np.asarray(array.is_null())
    x, y = (np.where(gone, np.nan, axis.astype(np.float64)) for axis in axes)
    return x, y


def _from_wkb(name: str, array: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not array.null_count and len(array):
        _, offsets, data = array.buffers()
        wide = np.int64 if str(array.type).startswith("large") else np.int32
        at = np.frombuffer(offsets, wide)[array.offset : array.offset + len(array) + 1]
        if (np.diff(at) == _POINT).all():
            rows = np.frombuffer(data, np.uint8)[at[0] : at[-1]].reshape(-1, _POINT)
            if (rows[:, :5] == _LITTLE_POINT).all():
                x, y = np.ascontiguousarray(rows[:, 5:]).view("<f8").T.copy()
                return x, y
    import shapely

    shapes: Any = shapely.from_wkb(np.asarray(array.to_pylist(), dtype=object))
    kinds = shapely.get_type_id(shapes)
    others = np.flatnonzero(kinds > 0)
    if others.size:
        kind = shapes[others[0]].geom_type
        raise InputError(
            f"{name}: a row is a {kind}, not a point; replace each shape by a point with "
            "geopandas: frame.set_geometry(frame.representative_point())."
        )
    there = ~(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    x, y = np.full((2, len(shapes)), np.nan)
    x[there], y[there] = shapely.get_x(shapes[there]), shapely.get_y(shapes[there])
    return x, y


@lru_cache(maxsize=8)
def _transformer(crs: str) -> "Transformer":
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError

    try:
        return Transformer.from_crs(CRS.from_json(crs), 4326, always_xy=True)
    except CRSError as failure:
        raise InputError(
            f"the CRS of the points cannot be read ({failure}); write the file with another CRS, "
            "such as EPSG:4326."
        ) from None
