"""Numpy arrays, in memory or in .npy files."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snhkit.data.reading.columns import Columns, find_columns
from snhkit.data.reading.table import Table, parsing, refuse_rows
from snhkit.errors import InputError

__all__ = ["from_array", "from_npy"]


def from_npy(
    path: Path, lat: str | int | None, lon: str | int | None, user: str | int | None
) -> Table:
    """Read a .npy file; it is mapped, so that its shape is held against its size first."""
    with parsing(path.name, ".npy"):
        array = np.lib.format.open_memmap(path, mode="r")
        return from_array(path.name, array, lat, lon, user)


def from_array(
    source: str,
    array: NDArray,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
) -> Table:
    """Take latitude and longitude from an array.

    Of shape (n, 2), the first column is the latitude unless said otherwise; with more columns,
    lat and lon must be said. A structured array has named columns.
    """
    if array.dtype.names:
        fields, rows = list(array.dtype.names), array.reshape(-1)
        at = find_columns(source, fields, lat, lon, user)
        swap = f"lat={fields[at.lon]!r}, lon={fields[at.lat]!r}"
        columns = [rows[fields[i]] if i is not None else None for i in at]
    else:
        at = _columns_of(source, array, lat, lon, user)
        swap = f"lat={at.lon}, lon={at.lat}"
        columns = [array[:, i] if i is not None else None for i in at]
    refuse_rows(source, len(array))
    at_lat, at_lon, at_user = columns
    return Table(
        lat=_floats(source, at_lat),
        lon=_floats(source, at_lon),
        user=None if at_user is None else _codes(source, at_user),
        numbers=np.arange(len(array)),
        numbering="counted from 0",
        swap=f"pass {swap}",
    )


def _columns_of(
    source: str,
    array: NDArray,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
) -> Columns:
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(
            f"{source}: an array of shape (n, 2), latitude and longitude, is needed; "
            f"its shape is {array.shape}."
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
    return find_columns(source, range(width), lat, lon, user)


def _floats(source: str, column: NDArray | None) -> NDArray[np.float64]:
    if column is None or column.ndim != 1 or column.dtype.kind not in "fiu":
        kind = "nothing" if column is None else column.dtype
        raise InputError(f"{source}: latitude and longitude must be numbers, not {kind}.")
    return column.astype(np.float64)


def _codes(source: str, column: NDArray) -> NDArray[np.int64]:
    if column.ndim != 1 or column.dtype.kind not in "fiuUSb":
        raise InputError(f"{source}: users must be numbers or text, not {column.dtype}.")
    codes = np.unique(column, return_inverse=True)[1].astype(np.int64)
    if column.dtype.kind == "f":
        codes[np.isnan(column)] = -1
    return codes
