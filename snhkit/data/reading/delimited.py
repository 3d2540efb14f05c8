"""Rows of delimited text, and limits on the size of such text."""

import gzip
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from snhkit.data.reading.first_row import FirstRow, is_number, not_utf8
from snhkit.data.reading.quotes import refuse_swallowed_rows
from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "END",
    "MAX_ROW",
    "Watched",
    "batches",
    "parsed",
    "refuse_malformed",
    "refuse_swallowed",
    "too_much",
    "unpacked",
    "unpacked_limit",
]

MAX_ROW = 2**22
"""The largest number of bytes in a row; text is also parsed in blocks of this size."""

END = "-end-of-file-"
"""The content of every field of the row that ``Watched`` appends to the text."""

_FREE_BYTES = 2**26  # every compressed file may unpack to this many bytes
_MAX_RATIO = 200  # unpacked to compressed size, above _FREE_BYTES; positions reach about 10
_MAX_MALFORMED = 1_000


def refuse_swallowed(
    source: str, raw: BinaryIO, delimiter: str, width: int, lat: int, lon: int
) -> None:
    """Raise InputError if a quoted field of a file contains whole rows.

    The check is explained in ``refuse_swallowed_rows``.

    Parameters
    ----------
    source : str
        Name of the source, for messages.
    raw : binary file
        The file, positioned at its start; the function closes the file.
    delimiter : str
        The delimiter of fields.
    width : int
        The number of columns.
    lat, lon : int
        The positions, from 0, of the columns of latitude and longitude.
    """

    def is_row(fields: list[str]) -> bool:
        return len(fields) == width and is_number(fields[lat]) and is_number(fields[lon])

    with raw, unpacked(raw) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")
        refuse_swallowed_rows(source, (line.rstrip("\r\n") for line in lines), delimiter, is_row)


def unpacked(raw: BinaryIO) -> BinaryIO:
    """Return the text of a file as a stream of bytes, decompressed if the file is gzip."""
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    return gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[return-value]


def unpacked_limit(stream: BinaryIO, size: int) -> int:
    """Return the largest number of bytes to read from a file of ``size`` bytes.

    ``stream`` is the result of ``unpacked``: gzip files may unpack to more bytes.
    """
    return max(_FREE_BYTES, _MAX_RATIO * size) if isinstance(stream, gzip.GzipFile) else size


def too_much(source: str, seen: int) -> InputError:
    """Return the error for a file whose text, unpacked, has more bytes than are allowed.

    ``seen`` is the number of bytes that were read before the error.
    """
    return InputError(
        f"{source}: the text of the file has at least {seen:,} bytes, above the limit for this "
        "file; split the file, or unpack it if it is compressed and you trust it."
    )


def parsed(
    source: str,
    read: Callable[..., Any],
    head: FirstRow,
    kinds: Mapping[str, "pa.DataType | None"],
    malformed: dict[int, str],
    first: int,
    *,
    block_size: int,
    newlines_in_values: bool,
) -> Any:
    """Parse delimited text with pyarrow, and collect the malformed rows.

    Parameters
    ----------
    source : str
        Name of the source, for messages.
    read : callable
        Calls ``pyarrow.csv.read_csv`` or ``open_csv`` with the options that it is given.
    head : FirstRow
        The delimiter and the columns of the file; the columns are named "0", "1" and so on.
    kinds : mapping
        The type of each wanted column, by name; None for text.
    malformed : dict
        The dict to which the defect of each malformed row is added, by row number.
    first : int
        The row number, in the file, of the first row of the text.
    block_size : int
        The number of bytes that are parsed at a time.
    newlines_in_values : bool
        Whether quoted fields may hold line ends.

    Returns
    -------
    Table or CSVStreamingReader
        The result of ``read``.

    Raises
    ------
    InputError
        If the text is not in UTF-8, or too many rows are malformed, or a row is too long.
    ArrowInvalid
        If a field cannot be converted to the type of its column.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    width, delimiter = len(head.names), head.delimiter

    def put_aside(row: arrow_csv.InvalidRow) -> str:
        told = f"{row.actual_columns} fields, but the {head.what} has {width}"
        if row.actual_columns == width + 1:
            told += _one_field_more(row.text, delimiter)
        malformed[row.number + first - 1] = told
        return "skip" if len(malformed) <= _MAX_MALFORMED else "error"

    with _explained(source, malformed, delimiter):
        return read(
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                column_names=[str(i) for i in range(width)],
                block_size=block_size,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=newlines_in_values,
                ignore_empty_lines=False,
                invalid_row_handler=put_aside,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(kinds),
                column_types={name: kind or pa.string() for name, kind in kinds.items()},
                strings_can_be_null=True,
                null_values=[""],
            ),
        )


def batches(
    source: str,
    stream: "Watched",
    head: FirstRow,
    wanted: list[int],
    malformed: dict[int, str],
    first: int,
) -> "Iterator[pa.RecordBatch]":
    """Yield batches of the wanted columns as text, split into rows by a single parser.

    ``stream`` holds the text, and ``wanted`` the positions of the columns, from 0. The other
    arguments are those of ``parsed``.
    """
    from pyarrow import PythonFile
    from pyarrow import csv as arrow_csv

    reader = parsed(
        source,
        lambda **options: arrow_csv.open_csv(PythonFile(stream, mode="r"), **options),
        head,
        {str(at): None for at in wanted},
        malformed,
        first,
        block_size=MAX_ROW,
        newlines_in_values=True,
    )
    with _explained(source, malformed, head.delimiter):
        yield from reader


@contextmanager
def _explained(source: str, malformed: dict[int, str], delimiter: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as failure:
        refuse_malformed(source, malformed, delimiter)
        if "UTF8" in str(failure):
            raise not_utf8(source) from None
        if "straddl" in str(failure):
            raise InputError(f"{source}: a row is longer than {MAX_ROW:,} bytes.") from None
        raise


def refuse_malformed(source: str, malformed: Mapping[int, str], delimiter: str) -> None:
    """Raise InputError if more than 1,000 rows are malformed: the delimiter may be wrong."""
    if len(malformed) > _MAX_MALFORMED:
        raise InputError(
            f"{source}: rows have {next(iter(malformed.values()))}; {_MAX_MALFORMED:,} or "
            f"more rows have such a defect. Are fields separated by {delimiter!r}?"
        )


def _one_field_more(row: str, delimiter: str) -> str:
    if row.rstrip().endswith(delimiter):
        return f" (rows end in {delimiter!r}, the header does not)"
    return " (if the first field is the name of the row, give its column a name in the header)"


class Watched(io.RawIOBase):
    """A stream of text of limited size that counts its lines and appends a last row.

    The appended row shows whether the parser has read the text to its end.

    Parameters
    ----------
    source : str
        Name of the source, for messages.
    stream : binary file
        The text without its header.
    limit : int
        The largest number of bytes that may be read.
    end : bytes
        The row that is appended.
    """

    def __init__(self, source: str, stream: BinaryIO, limit: int, end: bytes) -> None:
        self._source, self._stream, self._limit = source, stream, limit
        self._ending: bytes | None = end
        self._seen = 0
        self._last = b"\n"
        self.lines = 0

    def readable(self) -> bool:
        """Return True, since bytes can be read from the stream."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes; the appended row follows the last bytes of the text."""
        data = self._stream.read(MAX_ROW if size < 0 else size)
        self._seen += len(data)
        if self._seen > self._limit:
            raise too_much(self._source, self._seen)
        self.lines += data.count(b"\n")
        if data:
            self._last = data[-1:]
        elif self._ending is not None:
            self.lines += self._last != b"\n"
            data = self._ending if self._last == b"\n" else b"\n" + self._ending
            self._ending = None
        return data
