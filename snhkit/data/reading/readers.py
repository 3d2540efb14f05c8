"""Records from files and frames, and what was left out of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snhkit.data.reading.arrays import from_array, from_npy
from snhkit.data.reading.arrow import from_parquet
from snhkit.data.reading.frames import from_frame, from_geoframe
from snhkit.data.reading.geofiles import from_geojson, from_gpkg
from snhkit.data.reading.report import OWNER_ONLY, ReadReport, warn_owner
from snhkit.data.reading.table import Table
from snhkit.data.reading.text import from_text
from snhkit.errors import InputError
from snhkit.geometry import Points, Region

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_points"]

_FIRST_ROWS = 5
_BY_NAME = {".npy": from_npy, ".csv": from_text, ".tsv": from_text, ".parquet": from_parquet}
_GEO = {".geojson": from_geojson, ".gpkg": from_gpkg}


def read_points(
    source: "str | os.PathLike[str] | NDArray | pd.DataFrame",
    region: Region,
    *,
    lat: str | int | None = None,
    lon: str | int | None = None,
    user: str | int | None = None,
    report: Callable[[ReadReport], object] = warn_owner,
) -> Points:
    """Read the records that lie in a region.

    Parameters
    ----------
    source : path, ndarray, DataFrame or GeoDataFrame
        A .npy, .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .geojson or .gpkg file, or what such a file
        would hold. Without column names, latitude comes first. Geometries are brought to degrees
        from the CRS they are in.
    region : Region
        The declared region; rows outside it are left out.
    lat, lon, user : str or int, optional
        Columns, by name or position from 0; otherwise usual names are looked for, whatever their
        case (lat, latitude, y; lon, lng, long, longitude, x; user, user_id, uid, ...). Geometries
        need no lat and lon. Longitudes may run to 180 or to 360.
    report : callable, optional
        Is given the ``ReadReport`` of what was left out. Otherwise a ``ReadWarning`` tells if
        there was something.

    Returns
    -------
    Points
        In the order of the rows; users, if known, as numbers from 0.

    Raises
    ------
    InputError
        If the source cannot be read, its columns cannot be told, latitude and longitude look
        swapped, or no row is left.

    Examples
    --------
    >>> import numpy as np
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> rows = np.array([[37.76, -122.43], [37.80, -122.41], [np.nan, 0.0], [40.7, -74.0]])
    >>> points = read_points(rows, city, report=print)
    the array: 2 of 4 rows kept; 1 outside the region; 1 unusable (rows 2, counted from 0).
    For the eyes of the records' owner only.
    """
    name, table = _read(source, lat, lon, user)
    rows = len(table.lat) + len(table.malformed)
    if not rows:
        raise InputError(f"{name}: it has no rows.")
    usable = _possible(table.lat, table.lon)
    _refuse_swapped(name, table, region, usable)
    if table.user is not None:
        usable &= table.user >= 0
    xy = region.to_xy(table.lat[usable], table.lon[usable])
    inside = region.contains(xy)
    bad = np.sort(np.concatenate([table.numbers[~usable], np.asarray(table.malformed, np.int64)]))
    told = ReadReport(
        source=name,
        rows=rows,
        kept=int(inside.sum()),
        outside=int((~inside).sum()),
        unusable=len(bad),
        unusable_rows=tuple(bad[:_FIRST_ROWS].tolist()),
        numbering=table.numbering,
    )
    if not usable.any():
        raise InputError(
            "no row has a position (and user) in degrees, such as 42.36 with a decimal point; "
            f"metres of a map projection are read from geometries that name their CRS. {told}"
        )
    if not told.kept:
        raise InputError(
            f"no row lies in the region of {region.side_m:g} m around "
            f"({region.lat:g}, {region.lon:g}); are its centre and side right? {told}"
        )
    report(told)
    who = None if table.user is None else table.user[usable][inside]
    if who is not None:
        who = np.unique(who, return_inverse=True)[1]
    return Points(region, xy[inside], who)


def _read(
    source: object, lat: str | int | None, lon: str | int | None, user: str | int | None
) -> tuple[str, Table]:
    """What to call the source, and its rows."""
    if isinstance(source, np.ndarray):
        return "the array", from_array("the array", source, lat, lon, user)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source).expanduser()
        return path.name, _read_file(path, lat, lon, user)
    import pandas as pd

    if not isinstance(source, pd.DataFrame):
        raise InputError(
            f"read_points: a path, an array or a frame is needed, not {type(source).__name__}."
        )
    import geopandas as gpd

    if isinstance(source, gpd.GeoDataFrame) and lat is None and lon is None:
        return "the frame", from_geoframe("the frame", source, user)
    return "the frame", from_frame("the frame", source, lat, lon, user)


def _read_file(
    path: Path, lat: str | int | None, lon: str | int | None, user: str | int | None
) -> Table:
    try:
        if not path.is_file():
            what = "is not a file" if path.exists() else "does not exist"
            raise InputError(f"{str(path)[:200]!r} {what}.")
        suffix = Path(path.name.lower().removesuffix(".gz")).suffix
        if suffix in _GEO:
            if lat is not None or lon is not None:
                raise InputError(f"{path.name}: its points are geometries; leave lat and lon out.")
            return _GEO[suffix](path, user)
        if suffix in _BY_NAME:
            return _BY_NAME[suffix](path, lat, lon, user)
    except (OSError, ValueError) as failure:
        if isinstance(failure, InputError):
            raise
        raise InputError(f"{path.name[:100]!r} cannot be read: {failure}.") from None
    known = ", ".join([*_BY_NAME, ".csv.gz", ".tsv.gz", *_GEO])
    raise InputError(f"{path.name}: only files named {known} can be read.")


def _possible(lat: NDArray[np.float64], lon: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (np.abs(lat) <= 90) & (lon >= -180) & (lon <= 360)


def _refuse_swapped(name: str, table: Table, region: Region, usable: NDArray[np.bool_]) -> None:
    """Say so if most rows make sense only with latitude and longitude exchanged."""
    half = len(table.lat) / 2
    exchanged = _possible(table.lon, table.lat)
    inside = region.contains(region.to_xy(table.lat[usable], table.lon[usable])).sum()
    if inside > half:
        return
    inside_exchanged = region.contains(
        region.to_xy(table.lon[exchanged], table.lat[exchanged])
    ).sum()
    if inside_exchanged > half or (usable.sum() < half < exchanged.sum()):
        raise InputError(
            f"{name}: latitude and longitude look swapped: most rows make sense only when they "
            f"are exchanged. Is the region's centre ({region.lat:g}, {region.lon:g}) latitude "
            f"first? If it is, {table.swap}. {OWNER_ONLY}"
        )
