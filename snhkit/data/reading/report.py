"""Reports for the owner of the records: which rows were left out, and why."""

import warnings
from dataclasses import dataclass

__all__ = ["ReadReport", "ReadWarning", "warn_owner"]

OWNER_ONLY = "For the eyes of the records' owner only."


class ReadWarning(UserWarning):
    """Warning that rows were left out or user ids look wrong; for the owner of the records only."""


@dataclass(frozen=True, repr=False)
class ReadReport:
    """How many rows were kept and left out, and why; only the owner of the records may see it.

    The numbers and examples come from the records and are not protected by any noise.

    Parameters
    ----------
    source : str
        Name of the file, or "the frame", "the array" or "the dataset".
    rows : int
        Number of rows, without a header. If records were counted with filters, the number of rows
        that passed the filters.
    kept : int
        Number of rows that can be used and lie in the region.
    outside : int
        Number of rows with a valid position outside the region.
    unusable : int
        Number of rows whose position is missing or impossible, whose user id or time is missing
        although its column was named, or that do not have as many fields as the header.
    unusable_rows : tuple of int
        Numbers of the first few unusable rows.
    numbering : str
        How rows are numbered, as a phrase, such as "rows count from 0".
    reasons : tuple of str
        What is wrong with each of ``unusable_rows``.
    notes : tuple of str
        Notes on user ids that look wrong.

    Examples
    --------
    >>> print(ReadReport("a.csv", 3, 2, 0, 1, (4,), "the header is row 1", ("lat is missing",)))
    a.csv: 2 of 3 rows kept; 1 unusable: row 4: lat is missing (the header is row 1). For the eyes
    of the records' owner only.
    """

    source: str
    rows: int
    kept: int
    outside: int
    unusable: int
    unusable_rows: tuple[int, ...]
    numbering: str
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.source}: {self.kept:,} of {self.rows:,} rows kept"
        if self.outside:
            text += f"; {self.outside:,} outside the region"
        if self.unusable:
            first = zip(self.unusable_rows, self.reasons, strict=True)
            text += f"; {self.unusable:,} unusable: "
            text += "; ".join(f"row {row}: {reason}" for row, reason in first)
            more = self.unusable - len(self.unusable_rows)
            text += f"{f'; and {more:,} more' if more else ''} ({self.numbering})"
        notes = "".join(f" Note: {note}." for note in self.notes)
        return f"{text}.{notes} {OWNER_ONLY}"

    __repr__ = __str__


def warn_owner(report: ReadReport) -> None:
    """Warn the caller of ``read_points`` if rows were left out or user ids look wrong."""
    if report.kept < report.rows or report.notes:
        warnings.warn(str(report), ReadWarning, stacklevel=3)
