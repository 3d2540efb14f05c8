"""The exceptions and warnings of snhkit."""

import unicodedata


def printable(text: str) -> str:
    """Return a text with U+FFFD for all that is not printable, and could command a terminal."""
    return "".join(
        c if c.isprintable() or unicodedata.category(c) == "Zs" else "\ufffd" for c in text
    )


class SnhkitError(Exception):
    """Base class of all exceptions that snhkit raises on purpose.

    Examples
    --------
    >>> import snhkit as snh
    >>> try:
    ...     snh.Region.around(lat=-122.4, lon=37.8, side_m=1_000)
    ... except snh.SnhkitError as error:
    ...     print(error)
    Region: lat must lie in [-90, 90] degrees, not -122.4; are latitude and longitude swapped?

    Notes
    -----
    Messages may quote files, which may be hostile, so they are made ``printable``.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class InputError(SnhkitError, ValueError):
    """An argument, a file or a row is invalid; the message says where, and gives a remedy.

    Examples
    --------
    >>> import snhkit as snh
    >>> snh.Region.around(lat=86, lon=0, side_m=1_000)
    Traceback (most recent call last):
    snhkit.errors.InputError: Region: a centre beyond 85 degrees north or south is not supported ...
    """


class BudgetExceeded(SnhkitError):  # noqa: N818 - the field's own term
    """A release or a measurement was refused, because it costs more than is left of the budget.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 100)
    >>> data = snh.PrivateDataset(records, budget=0.3, unit="record")
    >>> data.release(snh.UniformGrid(), epsilon=0.4)
    Traceback (most recent call last):
    snhkit.errors.BudgetExceeded: UniformGrid: asked 0.4, left 0.3, short by 0.1. Nothing was ...
    """


class ReleaseFileError(InputError):
    """A file is missing, is damaged, or does not hold a valid release.

    Examples
    --------
    >>> import snhkit as snh
    >>> snh.load("missing.snh")
    Traceback (most recent call last):
    snhkit.errors.ReleaseFileError: missing.snh: there is no such file.
    """


class OutsideWarning(UserWarning):
    """Boxes or polygons lie outside the region of a release, so their counts are 0."""


class LedgerWarning(UserWarning):
    """The last line of a ledger's file is incomplete; the message says what it counts as."""

    def __str__(self) -> str:
        return printable(super().__str__())
