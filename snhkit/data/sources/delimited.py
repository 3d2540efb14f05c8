"""Delimited text, plain or packed, cut into blocks of whole rows that threads decode."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from snhkit.checks import is_number
from snhkit.data.sources.chunk import Blocks, Part, Rows
from snhkit.data.sources.columns import MAX_COLUMNS, Layout, Rules, layout_of, said_position
from snhkit.data.sources.files import Place
from snhkit.errors import InputError
from snhkit.untrusted import parsing, refuse_swallowed_rows

_MAX_HEADER = 2**20  # bytes in the first row
_MAX_ROW = 2**22  # bytes in a row; quoted text is also parsed in blocks of this size
_BLOCK = 2**22  # bytes that are decoded at a time
_END = "-end-of-file-"  # every field of the row that ``_Watched`` appends to the text
_LF = 10  # the byte that ends a line
_FREE_BYTES = 2**26  # every packed file may unpack to this many bytes
_MAX_RATIO = 200  # unpacked to packed size, above _FREE_BYTES; positions reach about 10
_MAX_MALFORMED = 1_000
_SNAP_NAMES = ("user", "time", "lat", "lon", "venue")
_SNAP_ROW = re.compile(
    r"\d+\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\t-?\d+(\.\d*)?\t-?\d+(\.\d*)?\t[0-9a-f]+"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_SEP = re.compile(rb"(?:\xef\xbb\xbf)?sep=(.)\r?\n")  # a line that spreadsheets write and read


class FirstRow(NamedTuple):
    """The names of the columns and the delimiter, and in which row the records begin."""

    names: list[str]
    delimiter: str
    first_record: int = 2
    is_record: bool = False

    @property
    def numbering(self) -> str:
        """How rows are numbered, as a phrase for messages."""
        if self.is_record:
            return "rows count from 1; the file has no header"
        return f"rows are numbered as in a spreadsheet: the header is row {self.first_record - 1}"


def first_row(source: str, lines: list[bytes], rules: Rules) -> FirstRow:
    """Return what the first two lines show: names or, by positions or as SNAP's, a record."""
    line = lines[0] if lines else b""
    if not line:
        raise InputError(
            f"{source}: the file is empty; a header and a row for each record are needed."
        )
    declared = _SEP.fullmatch(line)
    if declared:
        line = lines[1] if len(lines) > 1 else b""
    if len(line) > _MAX_HEADER:
        raise InputError(f"{source}: its first row is longer than {_MAX_HEADER:,} bytes.")
    try:
        text = line.removeprefix(codecs.BOM_UTF8).decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise _not_utf8(source) from None
    if "\r" in text:
        raise InputError(
            f"{source}: its lines end in CR, as on old Macs; pass pandas.read_csv({source!r}), "
            "which reads such files."
        )
    if not text.strip() or _CONTROL.search(text):
        raise InputError(
            f"{source}: its first row is {'not text' if text.strip() else 'empty'}; the first row "
            "must have the names of the columns."
        )
    if _SNAP_ROW.fullmatch(text):
        return FirstRow(list(_SNAP_NAMES), "\t", 1, is_record=True)
    delimiter = declared[1].decode("latin-1") if declared else max(",;\t|", key=text.count)
    with parsing(source, "text"):
        names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    if len(names) > MAX_COLUMNS:
        raise InputError(
            f"{source}: it has {len(names):,} columns; at most {MAX_COLUMNS:,} are read."
        )
    before = 2 if declared else 1
    at = [said_position(said, names) for said in (rules.lat, rules.lon)]
    if rules.point is not None:
        at = [said_position(rules.point, names)]
    where = [i for i in at if i is not None and 0 <= i < len(names)]
    looks = is_number if rules.point is None else _is_point
    if len(where) == len(at) and all(looks(names[i]) for i in where):
        return FirstRow([str(i) for i in range(len(names))], delimiter, before, is_record=True)
    if names and all(is_number(name) for name in names):
        raise InputError(
            f"{source}: its first row has numbers where the names of the columns should be; "
            "add a first row such as lat,lon, or give columns by position, as in lat=0, lon=1."
        )
    return FirstRow(names, delimiter, before + 1)


def _is_point(text: str) -> bool:
    return len(re.findall(r"-?\d+(?:\.\d+)?", text)) == 2


def _not_utf8(source: str) -> InputError:
    return InputError(f"{source}: its text is not in UTF-8; save it in UTF-8.")


@dataclass(frozen=True)
class TextFile:
    """A file of delimited text, with its first row and the columns to read."""

    name: str
    place: Place
    head: FirstRow
    layout: Layout

    def blocks(self) -> Blocks:
        """Yield a function for each block of whole rows; quoted text has one parser, in order."""
        with _opened(self.place) as (stream, limit):
            for _ in range(self.head.first_record - 1):
                stream.readline(_MAX_HEADER + 1)
            kept, first, seen = b"", self.head.first_record, 0
            while read := stream.read(_BLOCK):
                seen += len(read)
                if seen > limit:
                    raise _too_much(self.name, seen)
                data = kept + read
                alone = b"\r" in data and data.count(b"\r") != data.count(b"\r\n")
                if alone or b'"' in data:
                    yield from self._quoted(data, stream, first, limit - seen + len(data))
                    return
                end = data.rfind(b"\n") + 1
                kept = data[end:]
                if len(kept) > _MAX_ROW:
                    raise InputError(f"{self.name}: a row is longer than {_MAX_ROW:,} bytes.")
                if end:
                    yield partial(self._plain, data[:end], first)
                    ends = np.frombuffer(data, np.uint8, end) == _LF
                    first += int(np.count_nonzero(ends))  # faster than bytes.count
            if kept:
                yield partial(self._plain, kept, first)

    def _plain(self, data: bytes, first: int) -> Iterator[Rows]:
        """Yield the rows of a block without quotation marks, in which every line is a row."""

        def parsed(number: pa.DataType, malformed: dict[int, str]) -> dict[str, pa.Array]:
            return self._columns(
                self._parse(io.BytesIO(data), number, malformed, first, len(data) + 1)
            )

        def value(row: int, role: str) -> object:  # messages quote the text itself
            return parsed(pa.string(), {})[role][row].as_py()

        malformed: dict[int, str] = {}
        try:
            columns = parsed(pa.float64(), malformed)
        except pa.ArrowInvalid:  # a field may not be a number: parse all fields as text
            malformed.clear()
            columns = parsed(pa.string(), malformed)
        yield Rows(columns, first, _numbers(first, malformed), value, malformed)

    def _columns(self, table: Any) -> dict[str, pa.Array]:
        return {role: table.column(str(at)).combine_chunks() for role, at in self.layout.roles}

    def _quoted(self, data: bytes, stream: BinaryIO, first: int, limit: int) -> Blocks:
        """Yield the rows of ``data`` and then ``stream``, from row ``first``, by one parser."""
        malformed: dict[int, str] = {}
        end = self.head.delimiter.join([_END] * len(self.head.names)) + "\n"
        watched = _Watched(self.name, data, stream, limit, end.encode())
        text = pa.PythonFile(watched, mode="r")
        parts: Any = chain(self._parse(text, pa.string(), malformed, first, _MAX_ROW, True), [None])
        rows, told, closed = 0, 0, False  # well-formed rows so far, malformed ones
        with self._explained(malformed):
            for batch, after in pairwise(parts):
                count = batch.num_rows - (after is None)
                if after is None:
                    closed = count >= 0 and batch.column(0)[-1].as_py() == _END
                    if not closed:
                        break
                    if watched.lines != rows + count + len(malformed):
                        self._refuse_swallowed()
                new = dict(list(malformed.items())[told:])
                number = partial(_numbers(first, malformed), before=rows)
                columns = self._columns(pa.Table.from_batches([batch.slice(0, count)]))
                yield partial(iter, [Rows(columns, first + rows, number, malformed=new)])
                rows, told = rows + count, told + len(new)
        if not closed:
            self._refuse_swallowed()
            raise InputError(f"{self.name}: the last row is not complete; the file may be cut off.")

    def _parse(
        self, text: Any, number: pa.DataType, malformed: dict[int, str], first: int,
        block_size: int, quoted: bool = False,
    ) -> Any:  # fmt: skip
        """Parse text from row ``first``; ``malformed`` gets the defects of rows by number."""
        from pyarrow import csv as arrow_csv

        width, delimiter = len(self.head.names), self.head.delimiter
        what = "first row" if self.head.is_record else "header"

        def put_aside(row: arrow_csv.InvalidRow) -> str:
            told = f"{row.actual_columns} fields, but the {what} has {width}"
            if row.actual_columns == width + 1:
                told += (
                    f" (rows end in {delimiter!r}, the header does not)"
                    if row.text.rstrip().endswith(delimiter)
                    else " (if the first field is the name of the row, give its column a name in "
                    "the header)"
                )
            malformed[row.number + first - 1] = told
            return "skip" if len(malformed) <= _MAX_MALFORMED else "error"

        kinds = {
            str(at): number if role in ("lat", "lon") else pa.string()
            for role, at in self.layout.roles
        }
        names = [str(i) for i in range(width)]
        with self._explained(malformed):
            read = arrow_csv.open_csv if quoted else arrow_csv.read_csv  # a table at once is faster
            return read(
                text,
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, column_names=names, block_size=block_size
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=quoted,
                    ignore_empty_lines=False,
                    invalid_row_handler=put_aside,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=list(kinds),
                    column_types=kinds,
                    strings_can_be_null=True,
                    null_values=[""],
                ),
            )

    @contextmanager
    def _explained(self, malformed: dict[int, str]) -> Iterator[None]:
        try:
            yield
        except pa.ArrowInvalid as failure:
            if len(malformed) > _MAX_MALFORMED:
                raise InputError(
                    f"{self.name}: rows have {next(iter(malformed.values()))}; {_MAX_MALFORMED:,} "
                    "or more rows have such a defect. Are fields separated by "
                    f"{self.head.delimiter!r}?"
                ) from None
            if "UTF8" in str(failure):
                raise _not_utf8(self.name) from None
            if "straddl" in str(failure):
                raise InputError(f"{self.name}: a row is longer than {_MAX_ROW:,} bytes.") from None
            raise

    def _refuse_swallowed(self) -> None:
        at = [i for role, i in self.layout.roles if role in ("lat", "lon")]
        width, delimiter = len(self.head.names), self.head.delimiter

        def is_row(fields: list[str]) -> bool:
            return len(fields) == width and all(is_number(fields[i]) for i in at)

        with _opened(self.place) as (stream, _):
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")
            lines = (line.rstrip("\r\n") for line in text)
            refuse_swallowed_rows(self.name, lines, delimiter, is_row)


def text_parts(place: Place, rules: Rules) -> list[Part]:
    """Open a text file, and find the columns to read."""
    with parsing(place.name, "text"), _opened(place) as (stream, _):
        lines = [stream.readline(_MAX_HEADER + 1) for _ in range(2)]
    head = first_row(place.name, lines, rules)
    layout = layout_of(place.name, head.names, rules)
    if "user" in layout.columns:
        layout = replace(layout, ids=("text", "text"))
    read = TextFile(place.name, place, head, layout).blocks
    return [Part(place.name, rules, layout, read, "text", head.numbering)]


@contextmanager
def _opened(place: Place) -> Iterator[tuple[BinaryIO, int]]:
    """Yield the text of a file as a stream, and the largest number of bytes to read from it."""
    text, packed = place.unpacked()
    limit = max(_FREE_BYTES, _MAX_RATIO * place.size) if packed else place.size
    with text:
        yield io.BufferedReader(text, 2**20), limit  # type: ignore[arg-type]


def _too_much(source: str, seen: int) -> InputError:
    return InputError(
        f"{source}: the text of the file has at least {seen:,} bytes, above the limit for this "
        "file; split the file, or unpack it if it is compressed and you trust it."
    )


def _numbers(first: int, malformed: dict[int, str]) -> Callable[..., int]:
    """Return a function from the position of a row among well-formed rows to its number."""
    gone = np.array(sorted(malformed))

    def number(row: int, before: int = 0) -> int:
        found = first + before + row
        while (moved := first + before + row + gone.searchsorted(found, side="right")) != found:
            found = int(moved)
        return found

    return number


class _Watched(io.RawIOBase):
    """A stream that counts lines and bytes; a row ``end`` shows whether the parser reaches it."""

    def __init__(self, source: str, data: bytes, stream: BinaryIO, limit: int, end: bytes) -> None:
        self._source, self._stream, self._limit = source, stream, limit
        self._data, self._ending = memoryview(data), end
        self._seen = 0
        self._last = b"\n"
        self.lines = 0

    def readable(self) -> bool:
        """Return True, as Arrow requires."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes; the appended row follows the last bytes of the text."""
        size = _MAX_ROW if size < 0 else size
        data = bytes(self._data[:size]) or self._stream.read(size)
        self._data = self._data[len(data) :]
        self._seen += len(data)
        if self._seen > self._limit:
            raise _too_much(self._source, self._seen)
        self.lines += data.count(b"\n")
        if data:
            self._last = data[-1:]
        elif self._ending:
            self.lines += self._last != b"\n"
            data = self._ending if self._last == b"\n" else b"\n" + self._ending
            self._ending = b""
        return data
