"""Delimited text, cut into blocks of whole rows that threads decode in parallel."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from snhkit.data.counting.chunk import Block, Chunk, Rules, chunk_of, refuse_unknown_filters
from snhkit.data.counting.places import Place
from snhkit.data.reading import delimited
from snhkit.data.reading.columns import find_column, find_columns
from snhkit.data.reading.first_row import MAX_HEADER, FirstRow, first_row
from snhkit.data.reading.table import parsing
from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TextPart", "text_parts"]

_BLOCK = 2**22  # bytes that are decoded at a time


@dataclass(frozen=True)
class TextPart:
    """A file of delimited text, plain or compressed with gzip.

    Parameters
    ----------
    place : Place
        The file.
    rules : Rules
        The columns to read and the filters of rows.
    head : FirstRow
        The names of all columns, and the delimiter.
    roles : tuple of (str, int)
        Pairs of a role ("lat", "lon", "user" or "time") and the position of its column, from 0.
    """

    place: Place
    rules: Rules
    head: FirstRow
    roles: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.place.name

    def blocks(self) -> Iterator[Block]:
        """Yield, for each block of whole rows, a function that decodes the rows.

        Up to the first quotation mark, every line is a row. From there on, a single parser splits
        the rest of the file into rows, because a quoted field may contain line ends.
        """
        with parsing(self.name, "text"), _opened(self.place) as stream:
            if not self.head.is_record:
                stream.readline(MAX_HEADER + 1)
            kept, first, seen = b"", self.head.first_record, 0
            limit = delimited.unpacked_limit(stream, self.place.size)
            while read := stream.read(_BLOCK):
                seen += len(read)
                if seen > limit:
                    raise delimited.too_much(self.name, seen)
                data = kept + read
                if b'"' in data or data.count(b"\r") != data.count(b"\r\n"):
                    rest = io.BufferedReader(_Chained(data, stream))
                    yield from self._quoted(rest, first, limit - seen + len(data))
                    return
                end = data.rfind(b"\n") + 1
                kept = data[end:]
                if len(kept) > delimited.MAX_ROW:
                    raise InputError(
                        f"{self.name}: a row is longer than {delimited.MAX_ROW:,} bytes."
                    )
                if end:
                    yield partial(self._plain, data[:end], first)
                    first += data.count(b"\n", 0, end)
            if kept:
                yield partial(self._plain, kept, first)

    def _plain(self, data: bytes, first: int) -> Iterator[Chunk]:
        """Yield the rows of a block without quotation marks, in which every line is a row."""
        import pyarrow as pa

        malformed: dict[int, str] = {}
        with parsing(self.name, "text"):
            try:
                batch = self._parsed(data, first, malformed, pa.float64())
            except pa.ArrowInvalid:  # a field may not be a number: parse all fields as text
                malformed.clear()
                batch = self._parsed(data, first, malformed, pa.string())
            yield self._chunk(batch, first, malformed, data)

    def _parsed(
        self, data: bytes, first: int, malformed: dict[int, str], number: "pa.DataType"
    ) -> "pa.Table":
        from pyarrow import csv as arrow_csv

        kinds = {str(at): number if role in ("lat", "lon") else None for role, at in self.roles}
        return delimited.parsed(
            self.name,
            lambda **options: arrow_csv.read_csv(io.BytesIO(data), **options),
            self.head,
            kinds,
            malformed,
            first,
            block_size=len(data) + 1,
            newlines_in_values=False,
        )

    def _chunk(
        self, table: Any, first: int, malformed: dict[int, str], data: bytes | None
    ) -> Chunk:
        columns = {role: table.column(str(at)) for role, at in self.roles}

        def value(row: int, role: str) -> object:
            shown = columns
            if data is not None:  # messages quote the original text
                import pyarrow as pa

                again = self._parsed(data, first, {}, pa.string())
                shown = {role: again.column(str(at)) for role, at in self.roles}
            return shown[role][row].as_py() if role in shown else None

        return chunk_of(
            self.name, columns, self.rules, _numbers(first, malformed), value, malformed
        )

    def _quoted(self, stream: BinaryIO, first: int, limit: int) -> Iterator[Block]:
        """Yield, for each batch of the rows in ``stream``, a function that decodes the rows.

        The stream begins at the start of a row, whose number is ``first``. A single parser splits
        its text into rows.
        """
        import pyarrow as pa

        malformed: dict[int, str] = {}
        end = self.head.delimiter.join([delimited.END] * len(self.head.names)) + "\n"
        watched = delimited.Watched(self.name, stream, limit, end.encode())
        wanted = [at for _, at in self.roles]
        batches = delimited.batches(self.name, watched, self.head, wanted, malformed, first)
        rows, told = 0, 0
        held: pa.RecordBatch | None = None
        for batch in batches:
            if held is not None:
                new = dict(list(malformed.items())[told:])
                told += len(new)
                yield partial(self._told, pa.Table.from_batches([held]), first + rows, new)
                rows += held.num_rows + len(new)
            held = batch
        closed = held is not None and held.column(0)[-1].as_py() == delimited.END
        last = 0 if held is None else held.num_rows - 1
        if not closed or watched.lines != rows + last + len(malformed) - told:
            at = dict(self.roles)
            raw, width = _raw(self.place), len(self.head.names)
            delimited.refuse_swallowed(
                self.name, raw, self.head.delimiter, width, at["lat"], at["lon"]
            )
        if held is None or not closed:
            raise InputError(f"{self.name}: the last row is not complete; the file may be cut off.")
        new = dict(list(malformed.items())[told:])
        table = pa.Table.from_batches([held.slice(0, last)])
        yield partial(self._told, table, first + rows, new)

    def _told(self, table: Any, first: int, malformed: dict[int, str]) -> Iterator[Chunk]:
        with parsing(self.name, "text"):
            yield self._chunk(table, first, malformed, None)


def text_parts(places: list[Place], rules: Rules) -> tuple[list[TextPart], str, str]:
    """Open text files, and return one part for each of them.

    Returns
    -------
    parts : list of TextPart
        The parts, in the order of the files.
    swap : str
        The advice to give if latitude and longitude turn out to be swapped.
    numbering : str
        How rows are numbered, as a phrase for messages, such as "rows count from 1".

    Raises
    ------
    InputError
        If a file is not text with a header, or lacks one of the columns.
    """
    parts, swap, numbering = [], "", ""
    for place in places:
        with parsing(place.name, "text"), _opened(place) as stream:
            head = first_row(place.name, stream.readline(MAX_HEADER + 1))
        names = head.names
        at = find_columns(place.name, names, rules.lat, rules.lon, rules.user)
        roles = {"lat": at.lat, "lon": at.lon}
        if at.user is not None and (rules.people or rules.user is not None):
            roles["user"] = at.user
        if rules.time is not None:
            roles["time"] = find_column(place.name, names, "time", rules.time)
        refuse_unknown_filters(rules, roles)
        swap = f"pass lat={names[at.lon]!r}, lon={names[at.lat]!r}"
        numbering = head.numbering
        parts.append(TextPart(place, rules, head, tuple(roles.items())))
    return parts, swap, numbering


def _raw(place: Place) -> BinaryIO:
    return io.BufferedReader(place.filesystem.open_input_file(place.path), 2**20)  # type: ignore[arg-type]


@contextmanager
def _opened(place: Place) -> Iterator[BinaryIO]:
    with _raw(place) as raw, delimited.unpacked(raw) as stream:
        yield stream


def _numbers(first: int, malformed: dict[int, str]):
    if not malformed:
        return lambda row: first + row
    gone = np.array(sorted(malformed))

    def number(row: int) -> int:
        found = first + row
        while (moved := first + row + int(np.searchsorted(gone, found, side="right"))) != found:
            found = moved
        return found

    return number


class _Chained(io.RawIOBase):
    """A stream of ``data``, which was read already, followed by the rest of another stream."""

    def __init__(self, data: bytes, stream: BinaryIO) -> None:
        self._data, self._stream = memoryview(data), stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if len(self._data):
            count = min(len(buffer), len(self._data))
            buffer[:count] = self._data[:count]
            self._data = self._data[count:]
            return count
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
