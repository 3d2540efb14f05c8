"""Records from delimited text, plain or gzip, read as a stream of limited size."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from snhkit.data.reading import delimited
from snhkit.data.reading import table as limits
from snhkit.data.reading.columns import Columns, find_columns
from snhkit.data.reading.first_row import MAX_HEADER, FirstRow, first_row
from snhkit.data.reading.table import Table, parsing, refuse_rows
from snhkit.errors import InputError

__all__ = ["from_text"]


def from_text(
    path: Path,
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None,
) -> Table:
    """Return the rows of a text file whose first row names the columns.

    Fields are separated by a comma, semicolon, | or tab. Check-ins as published by the Stanford
    Network Analysis Project (SNAP) have no column names, and are recognised by their first row.
    """
    import pyarrow as pa

    source = path.name
    with parsing(source, "text"), path.open("rb") as raw, delimited.unpacked(raw) as stream:
        head = first_row(source, stream.readline(MAX_HEADER + 1))
        names, delimiter = head.names, head.delimiter
        if head.is_record:
            stream.seek(0)
        at = find_columns(source, names, lat, lon, user, time)
        wanted = [i for i in at if i is not None]
        limit = min(delimited.unpacked_limit(stream, path.stat().st_size), limits.MAX_BYTES)
        end = delimiter.join([delimited.END] * len(names)) + "\n"
        watched = delimited.Watched(source, stream, limit, end.encode())
        malformed: dict[int, str] = {}
        parts: list[list[pa.Array]] = [[] for _ in wanted]
        rows = 0
        for batch in delimited.batches(source, watched, head, wanted, malformed, head.first_record):
            rows += batch.num_rows
            refuse_rows(source, rows + len(malformed))
            for part, column in zip(parts, batch.columns, strict=True):
                part.append(column)
        columns = [pa.chunked_array(part, pa.string()) for part in parts]
        closed = rows > 0 and columns[0][-1].as_py() == delimited.END
        if not closed or watched.lines != rows - 1 + len(malformed):
            # Fields in quotation marks continue across line ends, so they may contain whole rows.
            delimited.refuse_swallowed(
                source, path.open("rb"), delimiter, len(names), at.lat, at.lon
            )
        if not closed:
            raise InputError(f"{source}: its last row is not complete.")
        if rows == 1 and malformed:
            raise InputError(f"{source}: rows have {next(iter(malformed.values()))}.")
        return _table(source, head, at, [c.slice(0, rows - 1) for c in columns], malformed)


def _table(
    source: str, head: FirstRow, at: Columns, columns: list, malformed: dict[int, str]
) -> Table:
    from snhkit.data.reading.arrow import from_arrow

    table = from_arrow(source, head.names, at, columns)
    numbers = np.arange(len(table.lat) + len(malformed)) + head.first_record
    return replace(
        table,
        numbers=np.setdiff1d(numbers, list(malformed)),
        numbering=head.numbering,
        malformed=malformed,
    )
