"""What reading a file tells the owner of the records."""

import warnings
from dataclasses import dataclass

__all__ = ["ReadReport", "ReadWarning", "warn_owner"]

OWNER_ONLY = "For the eyes of the records' owner only."


class ReadWarning(UserWarning):
    """Some rows were left out; for the eyes of the records' owner only."""


@dataclass(frozen=True, repr=False)
class ReadReport:
    """How many rows were read and left out, and why; for the eyes of the records' owner only.

    These numbers come from the records and are not protected by any noise.

    Parameters
    ----------
    source : str
        What was read.
    rows : int
        Rows there are, without a header.
    kept : int
        Rows that became points.
    outside : int
        Rows with a good position that is not in the region.
    unusable : int
        Rows whose position, or user where there is a user column, is missing or impossible, or
        that do not have as many fields as the header.
    unusable_rows : tuple of int
        Numbers of the first few of these.
    numbering : str
        How rows are numbered.
    """

    source: str
    rows: int
    kept: int
    outside: int
    unusable: int
    unusable_rows: tuple[int, ...]
    numbering: str

    def __str__(self) -> str:
        text = f"{self.source}: {self.kept:,} of {self.rows:,} rows kept"
        if self.outside:
            text += f"; {self.outside:,} outside the region"
        if self.unusable:
            first = ", ".join(f"{row}" for row in self.unusable_rows)
            more = ", ..." if self.unusable > len(self.unusable_rows) else ""
            text += f"; {self.unusable:,} unusable (rows {first}{more}, {self.numbering})"
        return f"{text}. {OWNER_ONLY}"

    __repr__ = __str__


def warn_owner(report: ReadReport) -> None:
    """Warn the caller of ``read_points`` if rows were left out."""
    if report.kept < report.rows:
        warnings.warn(str(report), ReadWarning, stacklevel=3)
