"""Parquet and GeoParquet files, read one row group at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from snhkit.data.counting.chunk import Block, Chunk, Rules, chunk_of, refuse_unknown_filters
from snhkit.data.counting.geoparquet import Geometry, degrees_of, geometry_of
from snhkit.data.counting.places import Place
from snhkit.data.reading.columns import find_column, find_columns, find_user
from snhkit.data.reading.table import parsing
from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["ParquetPart", "parquet_parts"]

_BATCH = 2**18  # rows that are decoded at a time
_BUFFER = 2**20  # bytes of a column that are read at a time
_PART = 2**22  # approximate number of rows in a part


@dataclass(frozen=True)
class ParquetPart:
    """Consecutive row groups of a Parquet file, which can be read without the file's other rows.

    Parameters
    ----------
    place : Place
        The file.
    rules : Rules
        The columns to read and the filters of rows.
    groups : tuple of int
        The position of each row group in the file, from 0.
    firsts : tuple of int
        The row number, from 0 in the file, of the first row of each row group.
    """

    place: Place
    rules: Rules
    groups: tuple[int, ...]
    firsts: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.place.name

    def blocks(self) -> Iterator[Block]:
        """Yield, for each row group, a function that reads and decodes its rows."""
        for group, first in zip(self.groups, self.firsts, strict=True):
            yield partial(self._chunks, group, first)

    def _chunks(self, group: int, first: int) -> Iterator[Chunk]:
        with parsing(self.name, "Parquet"), _opened(self.place) as file:
            names, geometry, roles = _roles(self.place, file, self.rules)
            columns = [names[at] for at in roles.values()]
            batches = file.iter_batches(_BATCH, [group], columns, use_threads=False)
            for batch in batches:
                yield self._chunk(batch, names, geometry, roles, first)
                first += batch.num_rows

    def _chunk(
        self,
        batch: "pa.RecordBatch",
        names: list[str],
        geometry: Geometry | None,
        roles: dict[str, int],
        first: int,
    ) -> Chunk:
        import pyarrow as pa

        found = {r: pa.chunked_array([batch.column(names[at])]) for r, at in roles.items()}
        degrees = None
        if geometry is not None:
            degrees = degrees_of(self.name, found.pop("geometry"), geometry)

        def value(row: int, role: str) -> object:
            if degrees is not None and role in ("lat", "lon"):
                number = degrees[role == "lon"][row]
                return None if np.isnan(number) else float(number)
            return found[role][row].as_py() if role in found else None

        return chunk_of(
            self.name, found, self.rules, lambda row: first + row, value, degrees=degrees
        )


def parquet_parts(places: list[Place], rules: Rules) -> tuple[list[ParquetPart], str]:
    """Divide Parquet files into parts of whole row groups.

    Returns
    -------
    parts : list of ParquetPart
        The parts, in the order of the files.
    swap : str
        The advice to give if latitude and longitude turn out to be swapped.

    Raises
    ------
    InputError
        If a file is not Parquet, or lacks one of the columns.
    """
    parts, swap = [], ""
    for place in places:
        with parsing(place.name, "Parquet"), _opened(place) as file:
            names, geometry, roles = _roles(place, file, rules)
            swap = (
                "write each point as (longitude, latitude)"
                if geometry is not None
                else f"pass lat={names[roles['lon']]!r}, lon={names[roles['lat']]!r}"
            )
            rows = [
                file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)
            ]
        first = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)]).tolist()
        groups: list[int] = []
        for group, count in enumerate(rows):
            groups.append(group)
            held = first[group] + count - first[groups[0]]
            if held >= _PART or group == len(rows) - 1:
                parts.append(
                    ParquetPart(place, rules, tuple(groups), tuple(first[g] for g in groups))
                )
                groups = []
    return parts, swap


def _opened(place: Place) -> "pq.ParquetFile":
    import pyarrow.parquet as pq

    stream = place.filesystem.open_input_file(place.path)
    return pq.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)


def _roles(
    place: Place, file: "pq.ParquetFile", rules: Rules
) -> tuple[list[str], Geometry | None, dict[str, int]]:
    """Return the names of a file's columns, its column of points or None, and the columns to read.

    The columns to read are positions from 0, by role: "lat", "lon", "geometry", "user" or "time".
    """
    names = file.schema_arrow.names
    roles: dict[str, int] = {}
    geometry = None
    if rules.lat is None and rules.lon is None:
        geometry = geometry_of(place.name, file.schema_arrow)
    if geometry is not None:
        roles["geometry"] = names.index(geometry.column)
        user = find_user(place.name, names, rules.user)
    else:
        at = find_columns(place.name, names, rules.lat, rules.lon, rules.user)
        roles |= {"lat": at.lat, "lon": at.lon}
        user = at.user
    if user is not None and (rules.people or rules.user is not None):
        roles["user"] = user
    if rules.time is not None:
        roles["time"] = find_column(place.name, names, "time", rules.time)
    refuse_unknown_filters(rules, roles)
    for name in (names[at] for at in roles.values()):
        if names.count(name) > 1:
            raise InputError(
                f"{place.name}: two columns are called {name!r}; rename one and write the file "
                "again."
            )
    return names, geometry, roles
