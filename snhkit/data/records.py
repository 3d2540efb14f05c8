"""The doors for records: ``read_points`` collects them in memory, ``scan_points`` counts them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from snhkit.data.counting.counters import Collector
from snhkit.data.counting.exact import ExactCounts
from snhkit.data.counting.passes import over, take_rows
from snhkit.data.counting.scan import Scan
from snhkit.data.sources.columns import rules_of
from snhkit.data.sources.opening import open_source
from snhkit.data.sources.report import Ids, ReadReport, report_of, warn_owner
from snhkit.geometry import Points, Region


def read_points(
    source: Any,
    region: Region,
    *,
    lat: str | int | None = None,
    lon: str | int | None = None,
    user: str | int | None = None,
    time: str | int | None = None,
    since: Any = None,
    until: Any = None,
    users: Any = None,
    tz: str | None = None,
    point: str | int | None = None,
    degrees: float = 1.0,
    crs: Any = None,
    report: Callable[[ReadReport], object] = warn_owner,
) -> Points:
    """Return the records of a source that lie in a region.

    Parameters
    ----------
    source : path, list of paths, array, frame or table
        Files named .csv, .tsv or .txt (also packed: .gz, .zst, .bz2), .parquet, .npy, .geojson or
        .gpkg: one, several, a folder with its subfolders, a pattern such as ``trips/*.parquet``, or
        an address that pyarrow or fsspec knows, such as ``s3://bucket/trips``. Or an array, a frame
        of pandas, geopandas, polars or another library that narwhals knows, a DuckDB relation, an
        Arrow dataset, or any object with Arrow's C stream interface. A file counts once, however
        often it is named.
    region : Region
        The region of the records; rows outside are left out.
    lat, lon, user, time : str or int, optional
        Columns, by name or position from 0. By default, columns of latitude, longitude and user are
        recognised by common names in upper or lower case (lat, latitude, y; lon, lng, long,
        longitude, x; user, user_id, uid, ...). Longitudes are from -180 to 360 degrees. If ``lat``
        and ``lon`` are positions and the first row of a text file has numbers there, the file has
        no header. In an array without names, latitude comes first. Times are read only if ``time``
        is given: timestamps, dates, text in ISO 8601, or numbers that are seconds, milliseconds,
        microseconds or nanoseconds since 1970, all within 1980 to 2100.
    since, until : str, number or datetime, optional
        Only rows with ``since`` <= ``time`` < ``until`` are read.
    users : sequence, optional
        The ids of the users whose rows are read; by default those of all users.
    tz : str, optional
        The time zone of times that name none, and of days, such as "Europe/Paris"; by default UTC.
        The card of a release whose unit or strata depend on days or hours tells it.
    point : str or int, optional
        A column of points instead of ``lat`` and ``lon``: texts such as "(37.76, -122.43)" with the
        latitude first, or WKT or WKB with the longitude first.
    degrees : float
        The size in degrees of one unit of ``lat`` and ``lon``; 1e-6 for microdegrees.
    crs : str or pyproj.CRS, optional
        The coordinate reference system of ``lat`` (northing) and ``lon`` (easting), or of
        ``point``, if these are not degrees. Geometries of files and frames have their own.
    report : callable, optional
        Called with a ``ReadReport``: how many rows were left out, and why. By default, a
        ``ReadWarning`` is issued if rows were left out, files not read, or user ids look wrong. If
        ``user`` is not given, user ids are looked at when ``Points.user`` is first used.

    Returns
    -------
    Points
        The records, in the order of the rows; users, if known, are numbers from 0. One person may
        have ids of several types: 42, 42.0 and " 42.0" are the same user. If ``user`` is given,
        rows without an id (or with "NULL", "nan" and the like) are left out. If ``user`` is not
        given, a user column that was recognised by its name but has missing ids is ignored, and
        users are unknown. If ``time`` is given, rows without a time are left out, and the points
        have the local time of each record.

    Raises
    ------
    InputError
        If the source cannot be read, a quoted field contains whole rows by mistake, columns are
        not found, ids or times cannot be understood, latitude and longitude look swapped, or no row
        is left.

    Examples
    --------
    >>> import numpy as np
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> rows = np.array([[37.76, -122.43], [37.80, -122.41], [np.nan, 0.0], [40.7, -74.0]])
    >>> points = read_points(rows, city, report=print)
    the array: 2 of 4 rows kept; 1 outside the region; 1 unusable: row 2: latitude is missing
    (rows count from 0). For the eyes of the records' owner only.
    """
    rules = rules_of(
        lat=lat, lon=lon, user=user, time=time, since=since, until=until, users=users, tz=tz,
        point=point, degrees=degrees, crs=crs, people="found",
    )  # fmt: skip
    opened = open_source(source, rules)
    take = partial(take_rows, region, rules.ids_required)
    collector, seen = over(opened.parts, partial(Collector, region), take)
    told = report_of(opened, region, seen)
    report(told)

    def tell(ids: Ids, gaps: int) -> None:
        notes = tuple(ids.notes(seen.rows))
        if gaps:
            column = opened.parts[0].layout.columns["user"]
            notes = (
                f"the column {column!r} looks like user ids, but {gaps:,} rows have none, so the "
                f"records are read without users; user={column!r} leaves these rows out instead",
            )
        if notes:
            report(replace(told, notes=notes))

    return collector.points(tell, rules.tz)


def scan_points(
    source: Any,
    region: Region,
    *,
    report: Callable[[ReadReport], object] = warn_owner,
    **columns: Any,
) -> ExactCounts:
    """Return an object that counts records exactly, without loading all of them into memory.

    The records stay in their files, and are read again if a count needs them.

    Parameters
    ----------
    source : path, list of paths, array, frame or table
        As for ``read_points``.
    region : Region
        The region in which records are counted; rows outside are left out.
    report : callable, optional
        As for ``read_points``.
    **columns : str, int or float
        The other parameters of ``read_points``: ``lat``, ``lon``, ``user``, ``time``, ``since``,
        ``until``, ``users``, ``tz``, ``point``, ``degrees`` and ``crs``. A column of users is read
        only if it is named.

    Returns
    -------
    ExactCounts
        Exact counts, which only the owner of the records may see.

    Raises
    ------
    InputError
        If the source cannot be read, columns are not found, or no row lies in the region.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from snhkit.geometry import Grid
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> rows = pa.table({"lat": [37.76, 37.80, None], "lon": [-122.43, -122.41, 0.0]})
    >>> records = scan_points(rows, city, report=print)
    the dataset: 2 of 3 rows kept; 1 unusable: row 2: latitude is missing (rows count from 0). For
    the eyes of the records' owner only.
    >>> records.count(Grid(city, 2)).counts
    array([[0, 0],
           [1, 1]])
    """
    return Scan(open_source(source, rules_of(**columns)), region, report).all()
