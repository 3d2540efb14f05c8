"""The first row of a text file, which holds either column names or a record."""

import codecs
import csv
import re
from typing import NamedTuple

from snhkit.errors import InputError

__all__ = ["MAX_HEADER", "FirstRow", "first_row", "is_number", "not_utf8"]

MAX_HEADER = 2**20
"""The largest number of bytes in the first row."""

_MAX_COLUMNS = 10_000
_SNAP_NAMES = ("user", "time", "lat", "lon", "venue")
_SNAP_ROW = re.compile(
    r"\d+\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\t-?\d+(\.\d*)?\t-?\d+(\.\d*)?\t[0-9a-f]+"
)


class FirstRow(NamedTuple):
    """The columns and the delimiter of a text file, as its first row shows them.

    Parameters
    ----------
    names : list of str
        Names of the columns.
    delimiter : str
        The character between fields.
    is_record : bool
        Whether the first row is a record, so that the file has no header.
    """

    names: list[str]
    delimiter: str
    is_record: bool = False

    @property
    def first_record(self) -> int:
        """The row number of the first record: 1 in a file without a header, otherwise 2."""
        return 1 if self.is_record else 2

    @property
    def what(self) -> str:
        """What messages call the first row: "header" or "first row"."""
        return "first row" if self.is_record else "header"

    @property
    def numbering(self) -> str:
        """How rows are numbered, as a phrase for messages, such as "rows count from 1"."""
        if self.is_record:
            return "rows count from 1; the file has no header"
        return "rows are numbered as in a spreadsheet: the header is row 1"


def first_row(source: str, line: bytes) -> FirstRow:
    """Return the columns and the delimiter that the first line of a text file shows.

    The check-ins that the Stanford Network Analysis Project (SNAP) publishes have no header. Such
    files are recognised by the form of the first line: user, time, latitude, longitude and venue,
    separated by tabs.

    Raises
    ------
    InputError
        If the line is empty, too long or not in UTF-8, or has only numbers instead of names.

    Examples
    --------
    >>> first_row("trips.csv", b"lat,lon")
    FirstRow(names=['lat', 'lon'], delimiter=',', is_record=False)
    >>> first_row("x.txt", b"0\\t2010-10-19T23:55:27Z\\t30.23\\t-97.79\\t22847").names
    ['user', 'time', 'lat', 'lon', 'venue']
    """
    if not line:
        raise InputError(
            f"{source}: the file is empty; a header and a row for each record are needed."
        )
    if len(line) > MAX_HEADER:
        raise InputError(f"{source}: its first row is longer than {MAX_HEADER:,} bytes.")
    try:
        text = line.removeprefix(codecs.BOM_UTF8).decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise not_utf8(source) from None
    if _SNAP_ROW.fullmatch(text):
        return FirstRow(list(_SNAP_NAMES), "\t", is_record=True)
    delimiter = max(",;\t|", key=text.count)
    names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    if len(names) > _MAX_COLUMNS:
        raise InputError(
            f"{source}: it has {len(names):,} columns; at most {_MAX_COLUMNS:,} are read."
        )
    if names and all(is_number(name) for name in names):
        raise InputError(
            f"{source}: its first row has numbers where the names of the columns should be; "
            "add a first row such as lat,lon."
        )
    return FirstRow(names, delimiter)


def not_utf8(source: str) -> InputError:
    """Return the error for text that is not in UTF-8."""
    return InputError(f"{source}: its text is not in UTF-8; save it in UTF-8.")


def is_number(text: str) -> bool:
    """Return whether a field is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
