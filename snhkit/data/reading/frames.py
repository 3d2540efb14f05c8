"""Data frames of pandas and geopandas."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snhkit.data.reading.columns import find_columns, find_user
from snhkit.data.reading.table import Table, parsing, refuse_rows
from snhkit.errors import InputError

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

__all__ = ["from_frame", "from_geoframe"]

_BY_ILOC = "counted from 0, as by iloc"


def from_frame(
    source: str,
    frame: "pd.DataFrame",
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
) -> Table:
    """Take the columns of a DataFrame."""
    at = find_columns(source, list(frame.columns), lat, lon, user)
    refuse_rows(source, len(frame))
    return Table(
        lat=_floats(source, frame.iloc[:, at.lat]),
        lon=_floats(source, frame.iloc[:, at.lon]),
        user=None if at.user is None else _codes(source, frame.iloc[:, at.user]),
        numbers=np.arange(len(frame)),
        numbering=_BY_ILOC,
        swap=f"pass lat={frame.columns[at.lon]!r}, lon={frame.columns[at.lat]!r}",
    )


def from_geoframe(source: str, frame: "gpd.GeoDataFrame", user: str | int | None) -> Table:
    """Take the points of a GeoDataFrame, wherever its CRS has them."""
    import shapely

    if frame.active_geometry_name is None:
        raise InputError(f"{source}: it has no active geometry; choose one with set_geometry.")
    if frame.crs is None:
        raise InputError(
            f"{source}: it has no CRS, so its coordinates mean nothing; "
            "if they are degrees, set it with set_crs(4326)."
        )
    kinds = shapely.get_type_id(frame.geometry.to_numpy())
    others = np.flatnonzero(kinds > 0)
    if others.size:
        row = int(others[0])
        kind = frame.geometry.iloc[row].geom_type
        raise InputError(
            f"{source}: row {row} ({_BY_ILOC}) is a {kind}, not a point; points are needed "
            "(frame.geometry.representative_point() makes some)."
        )
    at_user = find_user(source, list(frame.columns), user)
    with parsing(source, "points on the earth"):
        places = frame.geometry.to_crs(4326).to_numpy()
        there = ~(shapely.is_missing(places) | shapely.is_empty(places))
        lat, lon = np.full((2, len(places)), np.nan)
        lat[there], lon[there] = shapely.get_y(places[there]), shapely.get_x(places[there])
    return Table(
        lat=lat,
        lon=lon,
        user=None if at_user is None else _codes(source, frame.iloc[:, at_user]),
        numbers=np.arange(len(frame)),
        numbering=_BY_ILOC,
        swap="a point is (longitude, latitude): shapely.transform(points, lambda c: c[:, ::-1])",
    )


def _floats(source: str, column: "pd.Series") -> NDArray[np.float64]:
    import pandas as pd

    with parsing(source, "numbers"):
        numbers = pd.Series(pd.to_numeric(column, errors="coerce"))
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _codes(source: str, column: "pd.Series") -> NDArray[np.int64]:
    import pandas as pd

    with parsing(source, "users"):
        return np.asarray(pd.factorize(column)[0], np.int64)
