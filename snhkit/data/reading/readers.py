"""Reading records from files, arrays and frames."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snhkit.data.reading.arrays import from_array, from_npy
from snhkit.data.reading.arrow import from_parquet
from snhkit.data.reading.defects import FIRST_ROWS, defect, possible
from snhkit.data.reading.frames import from_frame, from_geoframe, from_other_frame
from snhkit.data.reading.geofiles import from_geojson, from_gpkg
from snhkit.data.reading.report import OWNER_ONLY, ReadReport, warn_owner
from snhkit.data.reading.table import Table
from snhkit.data.reading.text import from_text
from snhkit.data.reading.times import NO_TIME, days_of
from snhkit.errors import InputError
from snhkit.geometry import Points, Region

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_points", "refuse_swapped"]

_BY_NAME = {
    ".npy": from_npy,
    ".csv": from_text,
    ".tsv": from_text,
    ".txt": from_text,
    ".parquet": from_parquet,
}
_GEO = {".geojson": from_geojson, ".gpkg": from_gpkg}


def read_points(
    source: "str | os.PathLike[str] | NDArray | pd.DataFrame",
    region: Region,
    *,
    lat: str | int | None = None,
    lon: str | int | None = None,
    user: str | int | None = None,
    time: str | int | None = None,
    report: Callable[[ReadReport], object] = warn_owner,
) -> Points:
    """Return the records of a source that lie in a region.

    Parameters
    ----------
    source : path, ndarray, DataFrame, GeoDataFrame or another data frame
        A .npy, .csv, .tsv, .txt, .parquet, .geojson or .gpkg file (text also with .gz), or its
        content as an array or frame of pandas, geopandas, polars or Arrow. The first row of a
        text file must name the columns, except in check-ins from the Stanford Network Analysis
        Project (SNAP). In an array without column names, latitude comes first. Geometries are
        converted to degrees from their coordinate reference system (CRS). Masked entries count as
        missing.
    region : Region
        The region of the records; rows outside are left out.
    lat, lon, user, time : str or int, optional
        Columns, by name or position from 0. By default, columns are recognised by common names in
        upper or lower case (lat, latitude, y; lon, lng, long, longitude, x; user, user_id, uid,
        ...). Geometries need no lat and lon. Longitudes are from -180 to 360 degrees. Times are
        read only if ``time`` is given; units of privacy such as "user-day" need them. Times are
        timestamps, dates, text in ISO 8601 or seconds since 1970, in UTC unless they have a time
        zone.
    report : callable, optional
        Called with a ``ReadReport``: how many rows were left out, and why. By default, a
        ``ReadWarning`` is issued if rows were left out or user ids look wrong.

    Returns
    -------
    Points
        The records, in the order of the rows; users, if known, are numbers from 0. Ids that differ
        only in surrounding spaces, or as 42 and 42.0 do, are the same user. If ``user`` is given,
        rows without an id (or with "NULL", "nan" and the like) are left out. If ``user`` is not
        given, a user column that was recognised by its name but has missing ids is ignored, and
        users are unknown. If ``time`` is given, rows without a time are left out, and the points
        have the day of each record.

    Raises
    ------
    InputError
        If the source cannot be read, a quoted field contains whole rows by mistake, columns are
        not found, user ids are of several types, latitude and longitude look swapped, or no row is
        left.

    Examples
    --------
    >>> import numpy as np
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> rows = np.array([[37.76, -122.43], [37.80, -122.41], [np.nan, 0.0], [40.7, -74.0]])
    >>> points = read_points(rows, city, report=print)
    the array: 2 of 4 rows kept; 1 outside the region; 1 unusable: row 2: latitude is missing
    (rows count from 0). For the eyes of the records' owner only.
    """
    name, table = _read(source, lat, lon, user, time)
    rows = len(table.lat) + len(table.malformed)
    if not rows:
        raise InputError(f"{name}: there are no rows; at least one record is needed.")
    table, notes = _with_sure_users(table, named=user is not None)
    usable = possible(table.lat, table.lon)
    refuse_swapped(name, table, region, usable)
    if table.users is not None:
        usable &= table.users.codes >= 0
    if table.times is not None:
        usable &= table.times != NO_TIME
    xy = region.to_xy(table.lat[usable], table.lon[usable])
    inside = region.contains(xy)
    bad = _first_bad(table, np.flatnonzero(~usable))
    told = ReadReport(
        source=name,
        rows=rows,
        kept=int(inside.sum()),
        outside=int((~inside).sum()),
        unusable=int((~usable).sum()) + len(table.malformed),
        unusable_rows=tuple(bad),
        numbering=table.numbering,
        reasons=tuple(bad.values()),
        notes=notes,
    )
    if not usable.any():
        raise InputError(
            "no row can be used. Positions must be in degrees with a decimal point, such as 42.36; "
            "metres of a map projection can be read only from geometries with a CRS. "
            f"{told}"
        )
    if not told.kept:
        raise InputError(
            f"no row lies in the region of {region.side_m:g} m around "
            f"({region.lat:g}, {region.lon:g}); are its centre and side right? {told}"
        )
    report(told)
    people = day = None
    if table.users is not None:
        people = np.unique(table.users.codes[usable][inside], return_inverse=True)[1]
    if table.times is not None:
        day = days_of(table.times[usable][inside])
    return Points(region, xy[inside], people, day)


def _with_sure_users(table: Table, named: bool) -> tuple[Table, tuple[str, ...]]:
    """Return a table without its user ids if some are missing and no caller named the column.

    All records remain in the table. Also return notes on the user ids for the owner of the records.
    """
    users = table.users
    if users is None:
        return table, ()
    missing = int((users.codes < 0).sum())
    if named or not missing:
        return table, users.notes
    note = (
        f"the column {users.name!r} looks like user ids, but {missing:,} rows have none, so the "
        f"records are read without users; user={users.name!r} leaves these rows out instead"
    )
    return replace(table, users=None), (note,)


def _first_bad(table: Table, rows: NDArray[np.int64]) -> dict[int, str]:
    """Return the defects of the first few unusable rows, by row number."""
    found = {int(table.numbers[row]): int(row) for row in rows[:FIRST_ROWS]}
    numbers = sorted([*found, *list(table.malformed)[:FIRST_ROWS]])[:FIRST_ROWS]
    return {
        number: table.malformed.get(number) or _defect(table, found[number]) for number in numbers
    }


def _defect(table: Table, row: int) -> str:
    return defect(table, row, table.users is None or bool(table.users.codes[row] >= 0))


def _read(
    source: object,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> tuple[str, Table]:
    """Return what messages call the source, such as "the array", and all rows of the source."""
    if isinstance(source, np.ndarray):
        return "the array", from_array("the array", source, lat, lon, user, time)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source).expanduser()
        return path.name, _read_file(path, lat, lon, user, time)
    import geopandas as gpd
    import pandas as pd

    if not isinstance(source, pd.DataFrame):
        return "the frame", from_other_frame("the frame", source, lat, lon, user, time)

    if isinstance(source, gpd.GeoDataFrame) and lat is None and lon is None:
        return "the frame", from_geoframe("the frame", source, user, time)
    return "the frame", from_frame("the frame", source, lat, lon, user, time)


def _read_file(
    path: Path,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> Table:
    try:
        if not path.is_file():
            what = "is not a file" if path.exists() else "does not exist"
            raise InputError(f"{str(path)[:200]!r} {what}.")
        suffix = Path(path.name.lower().removesuffix(".gz")).suffix
        if suffix in _GEO:
            if lat is not None or lon is not None:
                raise InputError(f"{path.name}: its points are geometries; leave lat and lon out.")
            return _GEO[suffix](path, user, time)
        if suffix in _BY_NAME:
            return _BY_NAME[suffix](path, lat, lon, user, time)
    except (OSError, ValueError) as failure:
        if isinstance(failure, InputError):
            raise
        raise InputError(f"{path.name[:100]!r} cannot be read: {failure}.") from None
    known = ", ".join([*_BY_NAME, ".csv.gz", ".tsv.gz", ".txt.gz", *_GEO])
    raise InputError(f"{path.name}: only files named {known} can be read.")


def refuse_swapped(name: str, table: Table, region: Region, usable: NDArray[np.bool_]) -> None:
    """Raise InputError if most rows make sense only with latitude and longitude exchanged.

    Parameters
    ----------
    name : str
        Name of the source, for the message.
    table : Table
        The rows.
    region : Region
        The region of the records.
    usable : ndarray of bool, shape (n,)
        The rows that have a possible position.
    """
    half = len(table.lat) / 2
    exchanged = possible(table.lon, table.lat)
    inside = region.contains(region.to_xy(table.lat[usable], table.lon[usable])).sum()
    if inside > half:
        return
    inside_exchanged = region.contains(
        region.to_xy(table.lon[exchanged], table.lat[exchanged])
    ).sum()
    if inside_exchanged > half or (usable.sum() < half < exchanged.sum()):
        raise InputError(
            f"{name}: latitude and longitude look swapped: most rows make sense only when they "
            f"are exchanged. Is the region's centre ({region.lat:g}, {region.lon:g}) given as "
            f"(latitude, longitude)? If it is, {table.swap}. {OWNER_ONLY}"
        )
