"""What a pass over records has seen, and the report on it for the owner of the records."""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.checks import cut
from snhkit.errors import InputError
from snhkit.geometry import Region

if TYPE_CHECKING:
    from snhkit.data.sources.opening import Source

OWNER_ONLY = "For the eyes of the records' owner only."
FIRST_ROWS = 5
"""The number of unusable rows that a report describes."""

SPACES = " \t\r\n\v\f\xa0\u200b\ufeff"
"""Characters that are removed from both ends of an id."""
_SCIENTIFIC = re.compile(r"[+-]?\d(\.\d+)?[eE]\+?\d+")
# A note names the user with the most records, if these are more than this share of all rows and
# more than this multiple of the median number of records of a user.
_CROWDED_SHARE, _CROWDED_RATIO = 0.1, 20
_BUCKETS = 2**16
MOST_TEXTS = 100_000
"""How many different ids are compared for notes."""

_WHY = {
    "place": "Positions must be in degrees with a decimal point, such as 42.36. Projected metres "
    "are read with crs=..., microdegrees with degrees=1e-6.",
    "user": "No row has a user id; name another column with user=..., or leave it out.",
    "time": "No row has a time that can be read: times are timestamps, ISO 8601 text such as "
    "2026-11-01T09:30:00Z, or seconds since 1970.",
    "fields": "Rows do not have as many fields as the first row.",
}


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
        Number of rows that passed the filters, without a header.
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
        Notes on files that were not read, and on user ids that look wrong.

    Examples
    --------
    >>> print(ReadReport("a.csv", 3, 2, 0, 1, (4,), "the header is row 1", ("lat is missing",)))
    a.csv: 2 of 3 rows kept; 1 unusable: row 4: lat is missing (the header is row 1). For the eyes
    of the records' owner only.
    """

    source: str  # name of the file, or "the frame", "the array" or "the dataset"
    rows: int  # that passed the filters, without a header
    kept: int
    outside: int  # with a valid position
    unusable: int  # whose position, or a named user id or time, is missing or wrong
    unusable_rows: tuple[int, ...]  # the numbers of the first few
    numbering: str  # such as "rows count from 0"
    reasons: tuple[str, ...] = ()  # what is wrong with each of ``unusable_rows``
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


@dataclass(eq=False)
class Ids:
    """What a pass has seen of user ids, for notes to the owner of the records."""

    texts: dict[str, int] | None = field(default_factory=dict)  # and keys, None if too many
    load: NDArray[np.int64] | int = 0  # rows of the people in each of 65,536 groups
    shown: dict[int, str] = field(default_factory=dict)  # an id of each of the largest groups

    def add(self, texts: dict[str, int] | None, person: NDArray[np.int64], value: Any) -> None:
        """Add the rows of a chunk; ``value`` returns the id of a row as the source has it."""
        group = np.where(person == 0, -1, person & (_BUCKETS - 1))
        load = np.bincount(group[group >= 0], minlength=_BUCKETS)
        large = np.flatnonzero(load > _CROWDED_SHARE / 2 * max(person.size, 1)).tolist()
        shown = {one: cut(repr(value(int(np.argmax(group == one))))) for one in large}
        self.merge(Ids(texts, load, shown))

    def merge(self, other: "Ids") -> None:
        """Add what another thread or process has seen."""
        if self.texts is not None and other.texts is not None:
            self.texts.update(other.texts)
        if other.texts is None or len(self.texts or ()) > MOST_TEXTS:
            self.texts = None
        self.load = self.load + other.load
        for group, text in other.shown.items():
            self.shown[group] = min(text, self.shown.get(group, text))

    def notes(self, rows: int) -> Iterable[str]:
        """Yield notes on ids that look wrong; they quote ids."""
        spelt: dict[int, list[str]] = {}
        for text, key in sorted((self.texts or {}).items(), key=lambda pair: (pair[1], pair[0])):
            if key:
                spelt.setdefault(key, []).append(text)
        several = sorted(texts for texts in spelt.values() if len(texts) > 1)
        if several:
            others = sum(len(texts) - 1 for texts in several)
            yield (
                f"{_ids(others)} {'was' if others == 1 else 'were'} written in several ways, such "
                f"as {several[0][0]!r} and {several[0][1]!r}, and "
                f"{'counts as one person' if others == 1 else 'count as one person each'}"
            )
        people = sorted(texts[0].strip(SPACES) for texts in spelt.values())
        similar: dict[str, str] = {}
        pairs = [
            (other, text)
            for text in people
            if (other := similar.setdefault(_bare(text), text)) is not text
        ]
        if pairs:
            yield (
                f"{_ids(len(pairs))} differ{'s' if len(pairs) == 1 else ''} from another only in "
                f"case, punctuation or leading zeros, such as {pairs[0][0]!r} and {pairs[0][1]!r}; "
                "make these equal if they are one person"
            )
        rounded = [text for text in people if _SCIENTIFIC.fullmatch(text)]
        if rounded:
            yield (
                f"{_ids(len(rounded))} look{'s' if len(rounded) == 1 else ''} rounded by a "
                f"spreadsheet, such as {rounded[0]!r}; rounding merges different people"
            )
        yield from self._crowded(rows)

    def _crowded(self, rows: int) -> Iterable[str]:
        load = np.atleast_1d(self.load)
        held = load[load > 0]
        if held.size < 3:
            return
        group, most = int(load.argmax()), int(held.max())
        if most > max(_CROWDED_SHARE * rows, _CROWDED_RATIO * float(np.median(held))):
            yield (
                f"the user id {self.shown[group]} has {most:,} of {rows:,} records; does it stand "
                "for several people?"
            )


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold()).lstrip("0")


def _ids(count: int) -> str:
    return "1 user id" if count == 1 else f"{count:,} user ids"


@dataclass(eq=False)
class Seen:
    """What a pass has seen; those of several threads and processes are merged, in any order."""

    rows: int = 0
    inside: int = 0
    unusable: int = 0
    first: list[tuple[int, int, str]] = field(default_factory=list)  # part, row and defect
    causes: Counter[str] = field(default_factory=Counter)  # of unusable rows
    times: set[str] = field(default_factory=set)  # units of numbers that are times
    families: set[str] = field(default_factory=set)  # of user ids, see ``id_family``
    # Of some rows: how many there are, lie in the region and have possible degrees, and how many
    # would if latitude and longitude were exchanged.
    sample: NDArray[np.int64] = field(default_factory=lambda: np.zeros(5, np.int64))
    ids: Ids = field(default_factory=Ids)

    def merge(self, other: "Seen") -> None:
        """Add what another thread or process has seen."""
        self.rows += other.rows
        self.inside += other.inside
        self.unusable += other.unusable
        self.first = sorted(self.first + other.first)[:FIRST_ROWS]
        self.causes.update(other.causes)
        self.times |= other.times
        self.families |= other.families
        self.sample = self.sample + other.sample
        self.ids.merge(other.ids)


def report_of(source: "Source", region: Region, seen: Seen) -> ReadReport:
    """Return the report on a pass, or raise InputError if it shows that nothing can be counted."""
    several, layout = len(source.places) > 1, source.parts[0].layout
    if not seen.rows:
        raise InputError(
            f"{source.name}: there are no rows, or no row passes the filters (since=, until=, "
            "users=); at least one record is needed."
        )
    if len(seen.times) > 1:
        raise InputError(
            f"{source.name}: times are numbers of {' and of '.join(sorted(seen.times))}; write all "
            "of them in one unit."
        )
    if "bytes" in seen.families and len(seen.families) > 1:
        raise InputError(
            f"{source.name}: user ids are of mixed types, {' and '.join(sorted(seen.families))}; "
            "one person may have ids of both. Convert the column to one type."
        )
    _refuse_swapped(source, region, seen.sample)
    told = ReadReport(
        source=source.name,
        rows=seen.rows,
        kept=seen.inside,
        outside=seen.rows - seen.inside - seen.unusable,
        unusable=seen.unusable,
        unusable_rows=tuple(row for _, row, _ in seen.first),
        numbering=source.parts[0].numbering + (", in each file" if several else ""),
        reasons=tuple(
            f"{why} ({source.parts[part].name})" if several else why for part, _, why in seen.first
        ),
        notes=(*source.notes, *seen.ids.notes(seen.rows)),
    )
    if seen.unusable == seen.rows:
        why = _WHY[seen.causes.most_common(1)[0][0]]
        raise InputError(f"no row can be used. {why} {told}")
    if not seen.inside:
        raise InputError(
            f"no row lies in the region of {region.side_m:g} m around "
            f"({region.lat:g}, {region.lon:g}); are its centre and side right, and are latitude "
            f"and longitude exchanged (if so, {layout.swap})? {told}"
        )
    return told


def _refuse_swapped(source: "Source", region: Region, sample: NDArray[np.int64]) -> None:
    rows, inside, known, inside_exchanged, known_exchanged = sample.tolist()
    half = rows / 2
    if inside <= half and (inside_exchanged > half or known < half < known_exchanged):
        raise InputError(
            f"{source.name}: latitude and longitude look swapped: most rows make sense only when "
            f"they are exchanged. Is the region's centre ({region.lat:g}, {region.lon:g}) given as "
            f"(latitude, longitude)? If it is, {source.parts[0].layout.swap}. {OWNER_ONLY}"
        )


def possible(lat: NDArray[np.float64], lon: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each latitude and longitude is within its range in degrees, shape (n,)."""
    return (np.abs(lat) <= 90) & (lon >= -180) & (lon <= 360)


def defect(lat: float, lon: float, user_known: bool, value: Callable[[str], object]) -> str:
    """Return a row's first defect; ``value`` returns what the source has for a role, "lat"."""
    if np.isnan(lat) and (point := value("point")) is not None:
        return _fault("point", point, "is not a position")
    for role, what, number, largest in (
        ("lat", "latitude", lat, 90),
        ("lon", "longitude", lon, 360),
    ):
        if np.isnan(number):
            return _fault(what, value(role), "is not a number")
        if not (-180 if role == "lon" else -90) <= number <= largest:
            return f"{what} {number:g} is out of range"
    if user_known:
        return _fault("time", value("time"), "is not a time")
    return _fault("user", value("user"), "is not an id")


def _fault(what: str, value: object, wrong: str) -> str:
    missing = pd.api.types.is_scalar(value) and bool(pd.isna(value))  # pyright: ignore
    if missing or not str(value).strip():
        return f"{what} is missing"
    return f"{what} {cut(repr(value))} {wrong}"
