"""Records from numpy arrays, in memory or in .npy files."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snhkit.data.reading.columns import Columns, find_columns
from snhkit.data.reading.table import ROLES, Table, Users, parsing, refuse_rows
from snhkit.data.reading.times import microseconds
from snhkit.data.reading.users import person_codes
from snhkit.errors import InputError

__all__ = ["from_array", "from_npy"]


def from_npy(
    path: Path,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> Table:
    """Return the rows of a .npy file.

    The file is memory-mapped, which checks the declared shape against the size of the file.
    """
    with parsing(path.name, ".npy"):
        array = np.lib.format.open_memmap(path, mode="r")
        return from_array(path.name, array, lat, lon, user, time)


def from_array(
    source: str,
    array: NDArray,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> Table:
    """Return the rows of an array with latitudes, longitudes and, if present, users and times.

    In an array of shape (n, 2) the first column is the latitude by default. With more columns,
    ``lat`` and ``lon`` are required. In a structured array, the columns are the fields, which are
    found by their names. Masked entries count as missing.
    """
    if array.dtype.names:
        fields, rows = list(array.dtype.names), array.reshape(-1)
        at = find_columns(source, fields, lat, lon, user, time)
        swap = f"lat={fields[at.lon]!r}, lon={fields[at.lat]!r}"
        columns = [rows[fields[i]] if i is not None else None for i in at]
    else:
        at = _columns_of(source, array, lat, lon, user, time)
        swap = f"lat={at.lon}, lon={at.lat}"
        columns = [array[:, i] if i is not None else None for i in at]
    refuse_rows(source, len(array))
    roles = dict(zip(ROLES, columns, strict=True))
    name = str(array.dtype.names[at.user] if array.dtype.names and at.user is not None else at.user)
    return Table(
        lat=_floats(source, roles["lat"]),
        lon=_floats(source, roles["lon"]),
        users=None if roles["user"] is None else _users(source, name, roles["user"]),
        numbers=np.arange(len(array)),
        numbering="rows count from 0",
        swap=f"pass {swap}",
        value=lambda row, role: _value(roles[role], row),
        times=None if roles["time"] is None else _times(source, roles["time"]),
    )


def _columns_of(
    source: str,
    array: NDArray,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> Columns:
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(
            f"{source}: the array must have shape (n, 2), with columns latitude and "
            f"longitude, not {array.shape}."
        )
    width = array.shape[1]
    if width == 2:
        lat, lon = (0 if lat is None else lat), (1 if lon is None else lon)
    if lat is None or lon is None:
        raise InputError(
            f"{source}: it has {width:,} columns without names; say which are latitude and "
            "longitude: lat=0, lon=1 (and perhaps user=2)."
        )
    if width > 10_000:
        raise InputError(f"{source}: it has {width:,} columns; at most 10,000 are read.")
    return find_columns(source, range(width), lat, lon, user, time)


def _floats(source: str, column: NDArray | None) -> NDArray[np.float64]:
    if column is None or column.ndim != 1 or column.dtype.kind not in "fiu":
        kind = "nothing" if column is None else column.dtype
        raise InputError(f"{source}: latitude and longitude must be numbers, not {kind}.")
    return np.ma.filled(column.astype(np.float64), np.nan)


def _users(source: str, name: str, column: NDArray) -> Users:
    if column.ndim != 1 or column.dtype.kind not in "fiuUSb":
        raise InputError(f"{source}: user ids must be numbers or text, not {column.dtype}.")
    uniques, codes = np.unique(np.ma.getdata(column), return_inverse=True)
    codes = np.where(np.ma.getmaskarray(column), -1, codes)
    return Users(name, *person_codes(source, uniques.tolist(), codes))


def _times(source: str, column: NDArray) -> NDArray[np.int64]:
    import pyarrow as pa

    with parsing(source, "times"):
        plain = pa.array(np.ma.getdata(column), mask=np.ma.getmaskarray(column))
    return microseconds(source, pa.chunked_array([plain]))


def _value(column: NDArray | None, row: int) -> object:
    value = None if column is None or np.ma.getmaskarray(column[row : row + 1])[0] else column[row]
    return value.item() if isinstance(value, np.generic) else value
