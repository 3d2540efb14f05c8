"""Records that are counted without loading all of them into memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.chunk import Rules, Source
from snhkit.data.counting.opening import open_source
from snhkit.data.counting.pass_counts import PassCounts
from snhkit.data.counting.passes import Seen
from snhkit.data.counting.spill import BoundedRecords, Choice, Passes, ThreadPasses
from snhkit.data.reading.report import ReadReport, warn_owner
from snhkit.data.reading.times import instant
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region
from snhkit.geometry.histogram import Cells

__all__ = ["Opening", "StreamedRecords", "refuse_other_rows", "rules_of", "scan_points", "told_of"]


class StreamedRecords(PassCounts):
    """Exact counts of records that stay in files, an Arrow dataset or a DuckDB relation.

    Parameters
    ----------
    source : Source
        The rows.
    region : Region
        The region in which records are counted.
    report : callable
        Called with a ``ReadReport``: how many rows were left out, and why.
    passes : Passes, optional
        Reads the source in threads or on a cluster; by default in threads of this process.
    """

    def __init__(
        self,
        source: Source,
        region: Region,
        report: Callable[[ReadReport], object] = warn_owner,
        passes: Passes | None = None,
    ) -> None:
        self._source, self._passes = source, passes or ThreadPasses()
        self._seen: Seen | None = None
        super().__init__(region)
        report(told_of(source, region, self.seen))

    @property
    def seen(self) -> Seen:
        """The numbers of rows that the first pass kept and left out."""
        assert self._seen is not None  # noqa: S101
        return self._seen

    def _total(self, what: Cells | RangeQueries) -> NDArray[np.integer]:
        self._source.refuse_changed()
        total, seen = self._passes.count(self._source, what)
        self._source.refuse_changed()
        if self._seen is None:
            self._seen = seen
        refuse_other_rows(self._source, seen, self._seen)
        return total


class Opening:
    """A source of rows that can be counted in full, or with a bounded number of rows per person.

    The rows left out are reported once, after the first pass over the source.

    Parameters
    ----------
    source : Source
        The rows.
    region : Region
        The region in which records are counted.
    report : callable
        Called with a ``ReadReport``: how many rows were left out, and why.
    passes : Passes, optional
        Reads the source in threads or on a cluster; by default in threads of this process.
    """

    def __init__(
        self,
        source: Source,
        region: Region,
        report: Callable[[ReadReport], object],
        passes: Passes | None,
    ) -> None:
        self._source, self._region, self._report, self._passes = source, region, report, passes
        self._all: StreamedRecords | None = None
        self._first: Seen | None = None

    def all(self) -> StreamedRecords:
        """Return an object that counts all records."""
        if self._all is None:
            self._all = StreamedRecords(self._source, self._region, lambda told: None, self._passes)
            self._told(self._all.seen)
        return self._all

    def bounded(self, choose: Choice, spill: Any, window_days: int | None = None) -> BoundedRecords:
        """Return an object that counts a bounded number of records of each person.

        The parameters are those of ``BoundedRecords``.
        """
        kept = BoundedRecords(
            self._source, self._region, choose, window_days, spill, self._passes, self._told
        )
        return kept

    def records_of_people(self, spill: Any, window_days: int | None = None) -> NDArray[np.int64]:
        """Return the number of records of each of p people, shape (p,).

        If ``window_days`` is given, there is a number for each person in each window of that many
        days. ``spill`` is the folder of ``BoundedRecords``.

        Raises
        ------
        InputError
            If the source is read on a cluster, whose workers do not return these numbers.
        """
        if self._passes is not None:
            raise InputError(
                "max_per_user cannot be bought on a cluster; give its value, or leave client out."
            )
        found = [np.zeros(0, np.int64)]

        def note(person: NDArray[np.int64], xy: NDArray[np.float64]) -> NDArray[np.int64]:
            found.append(np.unique(person, return_counts=True)[1])
            return np.zeros(0, np.int64)

        self.bounded(note, spill, window_days)
        return np.concatenate(found)

    def _told(self, seen: Seen) -> None:
        """Report the rows left out by the first pass; raise InputError if later passes differ."""
        if self._first is None:
            self._first = seen
            self._report(told_of(self._source, self._region, seen))
        refuse_other_rows(self._source, seen, self._first)


def refuse_other_rows(source: Source, seen: Seen, first: Seen) -> None:
    """Raise InputError if a pass found other numbers of rows than the first pass.

    Parameters
    ----------
    source : Source
        The source, for the message.
    seen : Seen
        The numbers of rows that the pass kept and left out.
    first : Seen
        The numbers of rows that the first pass kept and left out.
    """
    if (seen.rows, seen.inside) != (first.rows, first.inside):
        raise InputError(
            f"{source.name}: the rows changed between two passes over the source. A "
            "budget is valid for unchanged records only; copy the records into a "
            "file first."
        )


def told_of(source: Source, region: Region, seen: Seen) -> ReadReport:
    """Return the ``ReadReport`` on the rows that a pass kept and left out.

    Raises
    ------
    InputError
        If there are no rows, no row passes the filters, or none lies in the region.
    """
    several = len(source.parts) > 1 and len({part.name for part in source.parts}) > 1
    told = ReadReport(
        source=source.name,
        rows=seen.rows,
        kept=seen.inside,
        outside=seen.rows - seen.inside - seen.unusable,
        unusable=seen.unusable,
        unusable_rows=tuple(row for _, row, _ in seen.first),
        numbering=source.numbering,
        reasons=tuple(
            f"{why} ({source.parts[part].name})" if several else why for part, _, why in seen.first
        ),
    )
    if not seen.rows:
        raise InputError(
            f"{source.name}: there are no rows, or no row passes the filters (since=, until=, "
            "users=); widen the filters or leave them out."
        )
    if not seen.inside:
        raise InputError(
            f"{source.name}: no row lies in the region of {region.side_m:g} m around "
            f"({region.lat:g}, {region.lon:g}); are its centre and side right, and are latitude "
            f"and longitude exchanged (if so, {source.swap})? {told}"
        )
    return told


def rules_of(
    lat: str | int | None = None,
    lon: str | int | None = None,
    user: str | int | None = None,
    time: str | int | None = None,
    since: object = None,
    until: object = None,
    users: Any = None,
    people: bool = False,
) -> Rules:
    """Return the ``Rules`` for arguments of ``scan_points``.

    ``people`` states whether each row's person is needed.
    """
    wanted = None if users is None else frozenset(str(one).strip() for one in users)
    return Rules(
        lat, lon, user, time, instant("since", since), instant("until", until), wanted, people
    )


def scan_points(
    source: Any,
    region: Region,
    *,
    lat: str | int | None = None,
    lon: str | int | None = None,
    user: str | int | None = None,
    time: str | int | None = None,
    since: object = None,
    until: object = None,
    users: Any = None,
    report: Callable[[ReadReport], object] = warn_owner,
) -> StreamedRecords:
    """Return an object that counts records exactly, without loading all of them into memory.

    The records stay in their files, and are read again if a count needs them.

    Parameters
    ----------
    source : str, path, sequence of these, Dataset, Table or DuckDBPyRelation
        Parquet, GeoParquet, .csv(.gz) or .tsv(.gz) files: one, several, a folder with its
        subfolders, a pattern such as ``trips/*.parquet``, or an address that pyarrow or fsspec
        knows. Or an Arrow dataset, an Arrow table, or a DuckDB relation.
    region : Region
        The region in which records are counted; rows outside are left out.
    lat, lon, user, time : str or int, optional
        Columns, by name or position from 0. Latitudes and longitudes are recognised by common
        names; columns of users and times are read only if they are named.
    since, until : str or datetime, optional
        Only rows with ``since`` <= ``time`` < ``until`` are read. Times without a time
        zone are in UTC.
    users : sequence, optional
        The ids of the users whose rows are read; by default those of all users.
    report : callable, optional
        Called with a ``ReadReport``: how many rows were left out, and why. By default, a
        ``ReadWarning`` is issued if rows were left out.

    Returns
    -------
    StreamedRecords
        Exact counts, which only the owner of the records may see. ``PrivateDataset`` accepts this
        object as its records.

    Raises
    ------
    InputError
        If the source cannot be read, columns are not found, or no row lies in the region.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from snhkit.geometry import Grid
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> rows = pa.table({"lat": [37.76, 37.80, None], "lon": [-122.43, -122.41, 0.0]})
    >>> records = scan_points(rows, city, report=print)
    the dataset: 2 of 3 rows kept; 1 unusable: row 2: latitude is missing (rows count from 0). For
    the eyes of the records' owner only.
    >>> records.count(Grid(city, 2)).counts
    array([[0, 0],
           [1, 1]])
    """
    rules = rules_of(lat, lon, user, time, since, until, users)
    return StreamedRecords(open_source(source, rules), region, report)
