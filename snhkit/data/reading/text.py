"""Delimited text, compressed with gzip or not, read as a stream of limited size."""

import gzip
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from snhkit.data.reading import table as limits
from snhkit.data.reading.columns import Columns, find_columns
from snhkit.data.reading.first_row import MAX_HEADER, FirstRow, first_row, is_number, not_utf8
from snhkit.data.reading.quotes import refuse_swallowed_rows
from snhkit.data.reading.table import Table, parsing, refuse_rows
from snhkit.errors import InputError

__all__ = ["from_text"]

_BLOCK = 2**22  # bytes; no row may be longer
_FREE_BYTES = 2**26  # size to which every compressed file may unpack
_MAX_RATIO = 200  # of unpacked to compressed size above that; positions reach about 10
_MAX_MALFORMED = 1_000
_END = "-end-of-file-"


def from_text(
    path: Path, lat: str | int | None, lon: str | int | None, user: str | int | None
) -> Table:
    """Read a text file divided by comma, ; | or tab, with a first row that names the columns.

    The check-ins that SNAP publishes have no such row; they are recognised.
    """
    import pyarrow as pa

    source = path.name
    with parsing(source, "text"), path.open("rb") as raw, _unpacked(raw) as stream:
        head = first_row(source, stream.readline(MAX_HEADER + 1))
        names, delimiter = head.names, head.delimiter
        if head.is_record:
            stream.seek(0)
        at = find_columns(source, names, lat, lon, user)
        wanted = [i for i in at if i is not None]
        size = path.stat().st_size
        limit = max(_FREE_BYTES, _MAX_RATIO * size) if isinstance(stream, gzip.GzipFile) else size
        end = delimiter.join([_END] * len(names)) + "\n"
        watched = _Watched(source, stream, limit, end.encode())
        malformed: dict[int, str] = {}
        parts: list[list[pa.Array]] = [[] for _ in wanted]
        rows = 0
        for batch in _batches(source, watched, head, wanted, malformed):
            rows += batch.num_rows
            refuse_rows(source, rows + len(malformed))
            for part, column in zip(parts, batch.columns, strict=True):
                part.append(column)
        columns = [pa.chunked_array(part, pa.string()) for part in parts]
        closed = rows > 0 and columns[0][-1].as_py() == _END
        if not closed or watched.lines != rows - 1 + len(malformed):
            # Fields in quotation marks go on over line ends: they may hold rows.
            _refuse_swallowed_rows(path, delimiter, len(names), at)
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


def _refuse_swallowed_rows(path: Path, delimiter: str, width: int, at: Columns) -> None:
    def is_row(fields: list[str]) -> bool:
        return len(fields) == width and is_number(fields[at.lat]) and is_number(fields[at.lon])

    with path.open("rb") as raw, _unpacked(raw) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")
        refuse_swallowed_rows(path.name, (line.rstrip("\r\n") for line in lines), delimiter, is_row)


def _unpacked(raw: BinaryIO) -> BinaryIO:
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    return gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[return-value]


def _batches(
    source: str,
    stream: "_Watched",
    head: FirstRow,
    wanted: list[int],
    malformed: dict[int, str],
) -> Iterator:
    """Yield record batches of the wanted columns as text; add malformed rows to ``malformed``."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    width, delimiter = len(head.names), head.delimiter

    def put_aside(row: arrow_csv.InvalidRow) -> str:
        told = f"{row.actual_columns} fields, the {head.what} {width}"
        if row.actual_columns == width + 1:
            told += _one_field_more(row.text, delimiter)
        malformed[row.number + head.first_record - 1] = told
        return "skip" if len(malformed) <= _MAX_MALFORMED else "error"

    names = [str(i) for i in range(width)]
    kept = [names[i] for i in wanted]
    try:
        yield from arrow_csv.open_csv(
            pa.PythonFile(stream, mode="r"),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, column_names=names, block_size=_BLOCK
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=put_aside,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=kept,
                column_types=dict.fromkeys(kept, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    except pa.ArrowInvalid as failure:
        if len(malformed) > _MAX_MALFORMED:
            raise InputError(
                f"{source}: rows have {next(iter(malformed.values()))}; {_MAX_MALFORMED:,} rows "
                f"and more are like that. Are fields divided by {delimiter!r}?"
            ) from None
        if "UTF8" in str(failure):
            raise not_utf8(source) from None
        if "straddl" in str(failure):
            raise InputError(f"{source}: a row is longer than {_BLOCK:,} bytes.") from None
        raise


def _one_field_more(row: str, delimiter: str) -> str:
    if row.rstrip().endswith(delimiter):
        return f" (rows end in {delimiter!r}, the header does not)"
    return " (if the first field is the name of the row, give its column a name in the header)"


class _Watched(io.RawIOBase):
    """A stream of limited size that counts lines and appends a row that marks the end."""

    def __init__(self, source: str, stream: BinaryIO, limit: int, end: bytes) -> None:
        self._source, self._stream, self._limit = source, stream, limit
        self._ending: bytes | None = end
        self._seen = 0
        self._last = b"\n"
        self.lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(_BLOCK if size < 0 else size)
        self._seen += len(data)
        if self._seen > min(self._limit, limits.MAX_BYTES):
            raise InputError(
                f"{self._source}: it unpacks to more than {self._seen:,} bytes, "
                "far more than positions would."
            )
        self.lines += data.count(b"\n")
        if data:
            self._last = data[-1:]
        elif self._ending is not None:
            self.lines += self._last != b"\n"
            data = self._ending if self._last == b"\n" else b"\n" + self._ending
            self._ending = None
        return data
