"""Labelled polygons, such as wards, census blocks or H3 cells."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
import shapely

from snhkit.data.reading.table import parsing
from snhkit.errors import InputError

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ["MAX_POLYGONS", "PolygonFrame", "Polygons", "read_polygons"]

MAX_POLYGONS = 65_536
"""The largest number of polygons that can be read at once."""

PolygonFrame: TypeAlias = Union["gpd.GeoDataFrame", "gpd.GeoSeries"]
"""A frame of geopandas that holds polygons and names their coordinate reference system."""

_DRIVERS = {".geojson": "GeoJSON", ".json": "GeoJSON", ".gpkg": "GPKG"}
_MAX_BYTES = 2**30


@dataclass(frozen=True, repr=False)
class Polygons:
    """Labelled polygons in one coordinate reference system; the object is immutable.

    Two objects are equal if their labels, shapes and reference systems are equal.

    Parameters
    ----------
    labels : tuple of str
        A unique label for each polygon.
    shapes : tuple of bytes
        Each polygon in well-known binary (WKB).
    crs : str
        Coordinate reference system in a form that pyproj reads, such as "EPSG:4326".

    Examples
    --------
    >>> import geopandas as gpd
    >>> halves = [shapely.box(0, 0, 1, 2), shapely.box(1, 0, 2, 2)]
    >>> frame = gpd.GeoDataFrame({"side": ["west", "east"]}, geometry=halves, crs=4326)
    >>> Polygons.of(frame, label="side")
    Polygons(2 polygons: west, east)
    """

    labels: tuple[str, ...]
    shapes: tuple[bytes, ...]
    crs: str

    @classmethod
    def of(cls, frame: PolygonFrame, label: str | None = None) -> "Polygons":
        """Return the labelled polygons of a GeoDataFrame or GeoSeries.

        Parameters
        ----------
        frame : GeoDataFrame or GeoSeries
            One row for each polygon, in any coordinate reference system.
        label : str, optional
            Name of the column that holds the labels; by default, the index holds them.

        Raises
        ------
        InputError
            If ``frame`` is not a GeoDataFrame or GeoSeries, has no coordinate reference system or
            no rows, lacks the column ``label``, has a label twice, or holds a shape that is not a
            valid polygon. The message states the first such row and how to repair the frame.
        """
        _refuse_other_frames(frame)
        shapes = shapely.force_2d(frame.geometry.to_numpy())
        _refuse_other_shapes(shapes)
        labels = _labels(frame, label)
        assert frame.crs is not None  # noqa: S101 - for type checkers; refused above
        return cls(labels, tuple(shapely.to_wkb(shapes)), frame.crs.to_string())

    def frame(self) -> "gpd.GeoDataFrame":
        """Return the polygons as a GeoDataFrame whose index holds the labels."""
        import geopandas as gpd

        shapes = shapely.from_wkb(np.array(self.shapes, object))
        return gpd.GeoDataFrame(geometry=shapes, index=list(self.labels), crs=self.crs)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        first = ", ".join(self.labels[:3]) + (", ..." if len(self) > 3 else "")
        return f"Polygons({len(self):,} polygons: {first})"


def read_polygons(path: str | os.PathLike[str], label: str | None = None) -> Polygons:
    """Return the labelled polygons of a file.

    Parameters
    ----------
    path : str or path
        A .geojson or .json file, a .gpkg file with one layer, or a GeoParquet file (.parquet).
    label : str, optional
        Name of the column that holds the labels. By default, the labels are the row numbers from
        0, or the index of the frame if a GeoParquet file stores one.

    Raises
    ------
    InputError
        If the file is missing, damaged or of another kind, or for the reasons in ``Polygons.of``.

    Examples
    --------
    >>> import tempfile
    >>> import geopandas as gpd
    >>> frame = gpd.GeoDataFrame({"ward": ["1"]}, geometry=[shapely.box(0, 0, 1, 1)], crs=4326)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "wards.geojson"
    ...     frame.to_file(path)
    ...     read_polygons(path, label="ward")
    Polygons(1 polygons: 1)
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    if (size := path.stat().st_size) > _MAX_BYTES:
        raise InputError(
            f"{path.name}: the file has {size:,} bytes, more than the limit of "
            f"{_MAX_BYTES:,}; simplify the shapes or split the file."
        )
    try:
        return Polygons.of(_read_frame(path), label)
    except InputError as error:
        told = str(error)
        raise InputError(told if told.startswith(path.name) else f"{path.name}: {told}") from None


def _read_frame(path: Path) -> "gpd.GeoDataFrame":
    import geopandas as gpd
    import pyogrio

    from snhkit.data.reading.geofiles import only_layer

    suffix = path.suffix.lower()
    if suffix == ".parquet":
        with parsing(path.name, "GeoParquet"):
            return gpd.read_parquet(path)
    if suffix not in _DRIVERS:
        raise InputError(
            "polygons are read from .geojson, .json, .gpkg or .parquet files. Convert other files "
            f"with geopandas.read_file({path.name!r}).to_file({path.stem + '.gpkg'!r})."
        )
    address, info = only_layer(path, _DRIVERS[suffix])
    if info["features"] > MAX_POLYGONS:
        raise InputError(_too_many(info["features"]))
    with parsing(path.name, _DRIVERS[suffix]):
        return pyogrio.read_dataframe(address)


def _refuse_other_frames(frame: object) -> None:
    import geopandas as gpd

    if not isinstance(frame, (gpd.GeoDataFrame, gpd.GeoSeries)):
        raise InputError(
            "districts must be a GeoDataFrame or a GeoSeries of polygons, "
            f"not a {type(frame).__name__}."
        )
    if isinstance(frame, gpd.GeoDataFrame) and frame.active_geometry_name is None:
        raise InputError("the frame has no active geometry; choose one with frame.set_geometry.")
    if not len(frame):
        raise InputError("the frame has no rows; at least one polygon is needed.")
    if len(frame) > MAX_POLYGONS:
        raise InputError(_too_many(len(frame)))
    if frame.crs is None:
        raise InputError(
            "the frame has no CRS, so the unit of its coordinates is unknown; if "
            "they are degrees, set the CRS with frame.set_crs(4326)."
        )


def _too_many(rows: int) -> str:
    return (
        f"the frame has {rows:,} rows; at most {MAX_POLYGONS:,} polygons are possible. "
        "Join polygons with frame.dissolve(by=...)."
    )


def _refuse_other_shapes(shapes: np.ndarray) -> None:
    missing = shapely.is_missing(shapes) | shapely.is_empty(shapes)
    for row in np.flatnonzero(missing)[:1]:
        raise InputError(
            f"row {row} (counted from 0) has no shape, or an empty one; "
            "frame[frame.geom_type.notna() & ~frame.is_empty] leaves such rows out."
        )
    kinds = shapely.get_type_id(shapes)
    area = np.isin(kinds, [shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON])
    for row in np.flatnonzero(~area)[:1]:
        raise InputError(
            f"row {row} (counted from 0) is a {shapely.GeometryType(kinds[row]).name.title()}, "
            "not a polygon; "
            "frame[frame.geom_type.isin(['Polygon', 'MultiPolygon'])] keeps the polygons."
        )
    for row in np.flatnonzero(~shapely.is_valid(shapes))[:1]:
        raise InputError(
            f"row {row} (counted from 0) is not a valid polygon "
            f"({shapely.is_valid_reason(shapes[row])}); "
            "frame.set_geometry(frame.make_valid()) repairs the shapes."
        )


def _labels(frame: PolygonFrame, label: str | None) -> tuple[str, ...]:
    """Return the labels of a frame's rows as text; raise InputError if two are equal."""
    import pandas as pd

    names = frame.index
    if label is not None:
        columns = [str(name) for name in getattr(frame, "columns", [])]
        if label not in columns:
            raise InputError(
                f"the frame has no column {label!r}; it has {', '.join(columns) or 'none'}."
            )
        names = pd.Index(frame[label])
    for row in np.flatnonzero(pd.isna(names))[:1]:
        raise InputError(f"row {row} (counted from 0) has no label; fill it in, or drop the row.")
    labels = tuple(map(str, names))
    twice, times = Counter(labels).most_common(1)[0]
    if times > 1:
        repair = (
            "frame.reset_index(drop=True) numbers the rows"
            if label is None
            else f"frame.dissolve(by={label!r}, as_index=False) joins the rows of each label"
        )
        raise InputError(f"the label {twice!r} occurs {times} times; {repair}.")
    return labels
