"""Records from Parquet files and from Arrow columns."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snhkit.data.reading import table as limits
from snhkit.data.reading.columns import Columns, find_columns
from snhkit.data.reading.table import ROLES, Table, Users, parsing, refuse_rows
from snhkit.data.reading.times import microseconds
from snhkit.data.reading.users import person_codes
from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["floats_of", "from_arrow", "from_parquet", "users_of"]


def from_parquet(
    path: Path,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> Table:
    """Return the rows of a Parquet file; only the needed columns are read.

    The positions in a GeoParquet file are the points of its geometry column.
    """
    import pyarrow.parquet as pq

    with parsing(path.name, "Parquet"), pq.ParquetFile(path) as file:
        if b"geo" in (file.schema_arrow.metadata or {}) and lat is None and lon is None:
            from snhkit.data.reading.geofiles import from_geoparquet

            _refuse_size(path.name, file, range(file.metadata.num_columns))
            return from_geoparquet(path, user, time)
        names = file.schema_arrow.names
        at = find_columns(path.name, names, lat, lon, user, time)
        wanted = [names[i] for i in at if i is not None]
        for name in wanted:
            if names.count(name) > 1:
                raise InputError(
                    f"{path.name}: two columns are called {name!r}; rename one and write the file "
                    "again."
                )
        leaves = [file.schema.column(i).path for i in range(len(file.schema))]
        _refuse_size(path.name, file, [leaves.index(name) for name in wanted if name in leaves])
        read = file.read(columns=wanted)
        return from_arrow(path.name, names, at, [read.column(name) for name in wanted])


def from_arrow(
    source: str, names: list[str], at: Columns, columns: list["pa.ChunkedArray"]
) -> Table:
    """Return the rows of Arrow columns: latitude, longitude and, if present, user and time.

    ``columns`` holds these columns in this order. ``at`` holds the position of each of them among
    all columns of the source, whose names are ``names``; None for a column that is absent.
    """
    there = [role for role, position in zip(ROLES, at, strict=True) if position is not None]
    roles = dict(zip(there, columns, strict=True))
    return Table(
        lat=floats_of(source, roles["lat"]),
        lon=floats_of(source, roles["lon"]),
        users=None if at.user is None else users_of(source, names[at.user], roles["user"]),
        numbers=np.arange(len(roles["lat"])),
        numbering="rows count from 0",
        swap=f"pass lat={names[at.lon]!r}, lon={names[at.lat]!r}",
        value=lambda row, role: roles[role][row].as_py(),
        times=microseconds(source, roles["time"]) if "time" in roles else None,
    )


def _refuse_size(source: str, file, leaves) -> None:
    meta = file.metadata
    refuse_rows(source, meta.num_rows)
    groups = (meta.row_group(i) for i in range(meta.num_row_groups))
    size = sum(group.column(leaf).total_uncompressed_size for group in groups for leaf in leaves)
    if size > limits.MAX_BYTES:
        raise InputError(
            f"{source}: its columns unpack to {size:,} bytes; "
            f"at most {limits.MAX_BYTES:,} are read. Count larger files with PrivateDataset.scan."
        )


def floats_of(source: str, column: "pa.ChunkedArray") -> NDArray[np.float64]:
    """Return the numbers of a column, shape (n,); nan where a number is missing."""
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            column = column.cast(pa.float64())
        except pa.ArrowInvalid:  # some texts are not plain numbers
            found = pd.to_numeric(pd.Series(column.to_pylist(), dtype=object), errors="coerce")
            return np.asarray(found, np.float64)
    elif pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not pa.types.is_null(kind):
        raise InputError(f"{source}: latitude and longitude must be numbers, not {kind}.")
    return np.asarray(column.to_pandas(), np.float64)


def users_of(source: str, name: str, column: "pa.ChunkedArray") -> Users:
    """Return the user of each row, given a column of user ids."""
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        raise InputError(f"{source}: user ids must be numbers or text, not {column.type}.")
    if pa.types.is_floating(column.type):
        codes, uniques = pd.factorize(column.to_numpy())
        return Users(name, *person_codes(source, list(uniques), codes))
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Users(name, *person_codes(source, encoded.dictionary.to_pylist(), codes))
