"""Records from data frames of pandas, geopandas, and all libraries that narwhals supports."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snhkit.data.reading.arrow import from_arrow
from snhkit.data.reading.columns import find_column, find_columns, find_user
from snhkit.data.reading.table import Table, Users, parsing, refuse_rows
from snhkit.data.reading.times import microseconds
from snhkit.data.reading.users import person_codes, refuse_mixed_types
from snhkit.errors import InputError

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

__all__ = ["from_frame", "from_geoframe", "from_other_frame"]

_BY_ILOC = "rows count from 0, as by iloc"


def from_frame(
    source: str,
    frame: "pd.DataFrame",
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> Table:
    """Return the rows of a pandas DataFrame with latitudes and longitudes in degrees."""
    at = find_columns(source, list(frame.columns), lat, lon, user, time)
    refuse_rows(source, len(frame))
    columns = at._asdict()
    return Table(
        lat=_floats(source, frame.iloc[:, at.lat]),
        lon=_floats(source, frame.iloc[:, at.lon]),
        users=None if at.user is None else _users(source, frame, at.user),
        numbers=np.arange(len(frame)),
        numbering=_BY_ILOC,
        swap=f"pass lat={frame.columns[at.lon]!r}, lon={frame.columns[at.lat]!r}",
        value=lambda row, role: frame.iat[row, columns[role]],
        times=None if at.time is None else _times(source, frame, at.time),
    )


def from_other_frame(
    source: str,
    frame: Any,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> Table:
    """Return the rows of a polars frame, an Arrow table, or another frame that is not lazy.

    Raises
    ------
    InputError
        If the object is not a frame, or is a lazy one.
    """
    import narwhals.stable.v1 as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise InputError(
            f"read_points: a path, an array or a data frame is needed, not {type(frame).__name__}."
        ) from None
    if not isinstance(known, nw.DataFrame):
        raise InputError(f"{source}: the frame is lazy; pass frame.collect().")
    at = find_columns(source, known.columns, lat, lon, user, time)
    refuse_rows(source, len(known))
    with parsing(source, "a frame"):
        arrow = known.select(known.columns[i] for i in at if i is not None).to_arrow()
        return from_arrow(source, known.columns, at, arrow.columns)


def from_geoframe(
    source: str, frame: "gpd.GeoDataFrame", user: str | int | None, time: str | int | None
) -> Table:
    """Return the points of a GeoDataFrame in any CRS, with users and times if it has them.

    Raises
    ------
    InputError
        If the frame has no geometry or no CRS, or a geometry is not a point.
    """
    import shapely

    if frame.active_geometry_name is None:
        raise InputError(
            f"{source}: the frame has no active geometry; choose one with set_geometry."
        )
    if frame.crs is None:
        raise InputError(
            f"{source}: the frame has no CRS, so the unit of its coordinates is "
            "unknown; if they are degrees, set the CRS with set_crs(4326)."
        )
    kinds = shapely.get_type_id(frame.geometry.to_numpy())
    others = np.flatnonzero(kinds > 0)
    if others.size:
        row = int(others[0])
        kind = frame.geometry.iloc[row].geom_type
        raise InputError(
            f"{source}: row {row} ({_BY_ILOC}) is a {kind}, not a point; {_advice(kind)}."
        )
    names = list(frame.columns)
    at_user = find_user(source, names, user)
    at_time = None if time is None else find_column(source, names, "time", time)
    with parsing(source, "points on the earth"):
        places = frame.geometry.to_crs(4326).to_numpy()
        there = ~(shapely.is_missing(places) | shapely.is_empty(places))
        lat, lon = np.full((2, len(places)), np.nan)
        lat[there], lon[there] = shapely.get_y(places[there]), shapely.get_x(places[there])
    at = {"lat": lat, "lon": lon}
    columns = {"user": at_user, "time": at_time}

    def value(row: int, role: str) -> object:
        if role in columns:
            position = columns[role]
            return None if position is None else frame.iat[row, position]
        return float(at[role][row]) if there[row] else None

    return Table(
        lat=lat,
        lon=lon,
        users=None if at_user is None else _users(source, frame, at_user),
        numbers=np.arange(len(frame)),
        numbering=_BY_ILOC,
        swap="write each point as (longitude, latitude): "
        "shapely.transform(points, lambda c: c[:, ::-1])",
        value=value,
        times=None if at_time is None else _times(source, frame, at_time),
    )


def _advice(kind: str) -> str:
    if kind in ("MultiPoint", "GeometryCollection"):
        return "frame.explode() makes one row of each point"
    if "Line" in kind:
        return (
            "frame.set_geometry(frame.extract_unique_points()).explode() makes one row of each "
            "vertex"
        )
    return "frame.set_geometry(frame.representative_point()) takes a point inside each shape"


def _floats(source: str, column: "pd.Series") -> NDArray[np.float64]:
    import pandas as pd

    with parsing(source, "numbers"):
        if "dictionary" in str(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object)
        numbers = pd.Series(pd.to_numeric(column, errors="coerce"))
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _users(source: str, frame: "pd.DataFrame", at: int) -> Users:
    import pandas as pd

    column = frame.iloc[:, at]
    with parsing(source, "user ids"):
        if column.dtype == object:  # factorizing would merge True with 1
            refuse_mixed_types(source, column.dropna())
        codes, uniques = pd.factorize(column)
        kinds = pd.Series(uniques).astype(object).tolist()
        return Users(str(frame.columns[at]), *person_codes(source, kinds, codes))


def _times(source: str, frame: "pd.DataFrame", at: int) -> NDArray[np.int64]:
    import pyarrow as pa

    with parsing(source, "times"):
        column = pa.array(frame.iloc[:, at], from_pandas=True)
        column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    return microseconds(source, column)
