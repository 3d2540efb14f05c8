"""Detection of quoted fields that contain whole rows of delimited text by mistake."""

from collections.abc import Callable, Iterable

from snhkit.errors import InputError

__all__ = ["refuse_swallowed_rows"]


def refuse_swallowed_rows(
    source: str, lines: Iterable[str], delimiter: str, is_row: Callable[[list[str]], bool]
) -> None:
    """Raise InputError if a quoted field contains text that looks like rows, or is never closed.

    A quoted field may contain line ends. A stray quotation mark at the start of a field therefore
    hides all rows up to the next mark.

    Parameters
    ----------
    source : str
        Name of the source, for messages.
    lines : iterable of str
        The lines of the file, including the header.
    delimiter : str
        The delimiter of fields.
    is_row : callable
        Returns whether the fields of one line, a list of str, look like a whole row.

    Raises
    ------
    InputError
        If there is such a field; the message names the line on which the field begins.

    Examples
    --------
    >>> text = 'note,lat,lon\\n"a,48.8,2.3\\nb,48.8,2.4\\n"c,48.9,2.3\\n'
    >>> refuse_swallowed_rows("a.csv", text.splitlines(), ",", lambda fields: len(fields) == 3)
    Traceback (most recent call last):
    snhkit.errors.InputError: a.csv: line 2: a quotation mark opens a field that is closed only ...
    """
    inside, begun, rows = False, 0, 0
    number = 0
    for number, line in enumerate(lines, start=1):
        ends_inside, opened = _scan(line, delimiter, inside)
        if inside:
            rows += is_row(line.split(delimiter))
            if (not ends_inside or opened) and rows > 1:
                raise InputError(
                    f"{source}: line {begun}: a quotation mark opens a field that is closed only "
                    f"on line {number} and takes in the rows between; remove or close the mark."
                )
        if ends_inside and (opened or not inside):
            begun, rows = number, int(is_row(line.split(delimiter)))
        inside = ends_inside
    if inside:
        raise InputError(
            f"{source}: line {begun}: a quotation mark opens a field and none closes it; the rows "
            "after it would be lost. Remove or close the mark."
        )


def _scan(line: str, delimiter: str, inside: bool) -> tuple[bool, bool]:
    """Return whether a line ends inside quotes, and whether the line opens a quoted field."""
    at, opened = 0, False
    while True:
        if inside:
            at = line.find('"', at)
            if at < 0:
                return True, opened
            if line[at + 1 : at + 2] == '"':
                at += 2
                continue
            inside = False
        elif line[at : at + 1] == '"':
            inside, opened, at = True, True, at + 1
            continue
        at = line.find(delimiter, at)
        if at < 0:
            return False, opened
        at += 1
