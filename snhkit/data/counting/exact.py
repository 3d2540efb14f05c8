"""Exact counts of records in files; the files are read again if counts in memory do not suffice."""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.cluster import Cluster
from snhkit.data.counting.counters import Collector, Draw, counter_of
from snhkit.data.counting.passes import over, take_rows
from snhkit.data.counting.spill import Choice, Divided, Sorted, take_places
from snhkit.data.sources.opening import Source
from snhkit.data.sources.report import ReadReport, Seen, report_of
from snhkit.errors import InputError
from snhkit.geometry import Grid, Histogram, Partition, Points, RangeQueries, Region
from snhkit.geometry.dyadic import numbers_at
from snhkit.geometry.histogram import Cells, is_proven
from snhkit.geometry.partition import CellLookup
from snhkit.geometry.strata import By

__all__ = ["FINE_DEPTH", "ExactCounts", "FineCounts", "Scan", "fine_grid"]

_DRAWN = 100_000  # about as many records are drawn for ``ExactCounts.some``

FINE_DEPTH = 12
"""How often the fine grid halves the region along each axis; it has 4,096 by 4,096 cells."""


def fine_grid(region: Region) -> Grid:
    """Return the grid of 4,096 by 4,096 cells over a region."""
    return Grid(region, 1 << FINE_DEPTH)


class FineCounts:
    """Numbers of records in the cells of the fine grid, without empty cells if this saves memory.

    The cell in column i from the west and row j from the south has the number i * 4096 + j.
    """

    def __init__(self, counts: NDArray[np.integer]) -> None:
        held = np.count_nonzero(counts)
        if held * (counts.itemsize + np.dtype(np.int32).itemsize) < counts.nbytes:
            self._at: NDArray[np.int32] | None = np.flatnonzero(counts).astype(np.int32)
            self._counts = counts[self._at]
        else:
            self._at, self._counts = None, counts

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self._counts.sum(dtype=np.int64))

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the cells that hold records, ascending, and their counts."""
        if self._at is not None:
            return self._at.astype(np.int64), self._counts.astype(np.int64)
        at = np.flatnonzero(self._counts)
        return at, self._counts[at].astype(np.int64)

    def grid(self, depth: int) -> NDArray[np.int64]:
        """Return the counts of a grid of 2^depth cells per side, shape (4^depth,), by column."""
        at, counts = self.occupied()
        column, row = _coarser(at, depth)
        total = np.zeros(1 << 2 * depth, np.int64)
        np.add.at(total, column << depth | row, counts)
        return total

    def partition(self, cells: Partition) -> NDArray[np.int64]:
        """Return the counts of c cells, shape (c,), which are unions of cells of the fine grid."""
        at, counts = self.occupied()
        edges = fine_grid(cells.region).edges()
        column, row = _coarser(at, FINE_DEPTH)
        total = np.zeros(len(cells), np.int64)
        corners = np.stack([edges[column], edges[row]], axis=1)
        np.add.at(total, CellLookup(cells).of(corners), counts)
        return total

    def squares(self, depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the occupied squares of a quadtree (see ``ExactCounts.squares``)."""
        at, counts = self.occupied()
        number, which = np.unique(numbers_at(*_coarser(at, depth)), return_inverse=True)
        total = np.zeros(number.size, np.int64)
        np.add.at(total, which, counts)
        return number, total


def _coarser(at: NDArray[np.int64], depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    up = FINE_DEPTH - depth
    return at >> FINE_DEPTH + up, (at & ((1 << FINE_DEPTH) - 1)) >> up


class ExactCounts:
    """Exact counts of records that stay in files or in a frame, a ``snhkit.privacy.CountSource``.

    ``read`` reads all records and counts them in cells or boxes. They are counted once in a fine
    grid of 4,096 by 4,096 cells, which is kept in memory: by the constructor, or when it is first
    needed if their number ``n`` is known. Cells that are unions of fine cells are sums of these
    counts, and for all others, the records are read again.
    """

    max_depth = FINE_DEPTH

    def __init__(
        self,
        region: Region,
        read: Callable[[Cells | RangeQueries | Draw], Any],
        divide: "Callable[[By], Callable[[], Iterator[ExactCounts]]] | None" = None,
        tz: str | None = None,
        n: int | None = None,
    ) -> None:
        self._region, self._read, self._divide = region, read, divide
        self.tz = tz  # of the clock on which strata divide the records
        self._n = self._fine.total if n is None else n

    @cached_property
    def _fine(self) -> FineCounts:
        return FineCounts(self._read(fine_grid(self._region)))

    @property
    def region(self) -> Region:
        """The region in which records are counted."""
        return self._region

    def n(self) -> int:
        """Return the number of records."""
        return self._n

    def count(self, cells: Cells) -> Histogram:
        """Return the number of records in each cell of a grid or a partition."""
        if not is_proven(cells):
            raise InputError(
                "only cells that are proven not to overlap can be counted: Grid, Partition or "
                f"PolygonPartition, not a {type(cells).__name__}."
            )
        self._refuse_elsewhere("cells", cells.region)
        if isinstance(cells, Partition) and _of_fine_cells(cells):
            return Histogram(cells, self._fine.partition(cells))
        if not isinstance(cells, Grid):
            return Histogram(cells, self._read(cells).astype(np.int64))
        depth = cells.m.bit_length() - 1
        if cells.m == 1 << depth and depth <= FINE_DEPTH:
            counts = self._fine.grid(depth)
        else:
            counts = self._read(cells).astype(np.int64)
        return Histogram(cells, counts.reshape(cells.m, cells.m))

    def squares(self, depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which squares of a quadtree hold records, and how many; see ``CountSource``."""
        if not 0 <= depth <= FINE_DEPTH:
            raise InputError(f"scan: the depth must be from 0 to {FINE_DEPTH}, not {depth}.")
        return self._fine.squares(depth)

    def boxes(self, queries: RangeQueries) -> NDArray[np.int64]:
        """Return the number of records in each of q boxes, shape (q,); the boxes may overlap."""
        self._refuse_elsewhere("boxes", queries.region)
        return self._read(queries).astype(np.int64)

    def strata(self, by: By) -> "Callable[[], Iterator[ExactCounts]]":
        """Return a function that divides the records into counts for each stratum, in one pass."""
        if self._divide is None:
            raise InputError("these counts are of a stratum, which cannot be divided again.")
        return self._divide(by)

    @cached_property
    def some(self) -> Points:
        """About 100,000 of the records, chosen at random by a public seed, or all if they are less.

        Only evaluations may use them, and only those of all records of a source.
        """
        found = Collector(self.region)
        found.merge(self._read(Draw(self.region, min(1.0, _DRAWN / max(self.n(), 1)))))
        return found.points()

    def _refuse_elsewhere(self, what: str, region: Region) -> None:
        if region != self._region:
            raise InputError(
                f"scan: the records lie in another region than the {what}; make the {what} "
                "with the region that was given to scan."
            )


def _of_fine_cells(cells: Partition) -> bool:
    """Return whether all edges of a partition are edges of the fine grid."""
    edges = fine_grid(cells.region).edges()
    return all(np.isin(side, edges).all() for side in (cells.x0, cells.y0, cells.x1, cells.y1))


class Scan:
    """A source whose rows are counted in full, or a bounded number of them for each person.

    The rows left out are reported once, after the first pass. Without a cluster, threads of this
    process read the rows. ``spill`` is the folder for temporary files; see ``spill.py``.
    """

    def __init__(
        self,
        source: Source,
        region: Region,
        report: Callable[[ReadReport], object],
        cluster: Cluster | None = None,
        spill: Any = None,
    ) -> None:
        self._source, self._region, self._report = source, region, report
        self._cluster, self._spill = cluster, spill
        self._all: ExactCounts | None = None
        self._first: Seen | None = None

    def all(self) -> ExactCounts:
        """Return an object that counts all records."""
        if self._all is None:
            tz = self._source.rules.tz
            self._all = ExactCounts(self._region, self._total, self._divided, tz)
        return self._all

    def bounded(self, choose: Choice, window_days: int | None = None) -> ExactCounts:
        """Return an object that counts the records that ``choose`` selects, in temporary files.

        It selects among those of each person, or of each person in a window of days.
        """
        there = self._sorted(self._source, window_days)
        there.keep(choose)

        def divided(by: By) -> Callable[[], Iterator[ExactCounts]]:
            source = self._source.divided(by)

            def each() -> Iterator[ExactCounts]:
                # The same function makes the same choice of each person's records again.
                found = self._sorted(source, window_days)
                found.keep(choose)
                return self._each(found, len(by))

            return each

        return self._counts(there, 0, divided)

    def _divided(self, by: By) -> Callable[[], Iterator[ExactCounts]]:
        source = self._source.divided(by)

        def each() -> Iterator[ExactCounts]:
            found = Divided(source, self._region, by, self._spill, self._cluster)
            self._told(found.seen)
            return self._each(found, len(by))

        return each

    def _each(self, found: Divided | Sorted, strata: int) -> Iterator[ExactCounts]:
        for number in range(strata):
            yield self._counts(found, number)

    def _counts(
        self,
        found: Divided | Sorted,
        stratum: int,
        divide: Callable[[By], Callable[[], Iterator[ExactCounts]]] | None = None,
    ) -> ExactCounts:
        n = sum(part.n for part in found.parts(stratum))
        return ExactCounts(self._region, partial(self._kept, found, stratum), divide, n=n)

    def _kept(
        self, found: Divided | Sorted, stratum: int, what: Cells | RangeQueries | Draw
    ) -> Any:
        """Return counts of the records in files."""
        parts, make = found.parts(stratum), partial(counter_of, what)
        return over(parts, make, take_places, "Counting", self._cluster)[0].result()

    def of_people(self, window_days: int | None = None) -> NDArray[np.int64]:
        """Return the number of records of each of p people, shape (p,), or of each in a window."""
        return self._sorted(self._source, window_days).of_people()

    def _sorted(self, source: Source, window_days: int | None) -> Sorted:
        found = Sorted(source, self._region, window_days, self._spill, self._cluster)
        self._told(found.seen)
        return found

    def _total(self, what: Cells | RangeQueries | Draw) -> Any:
        self._source.refuse_changed()
        counter, seen = over(
            self._source.parts,
            partial(counter_of, what),
            partial(take_rows, self._region, self._source.rules.ids_required),
            "Counting",
            self._cluster,
        )
        self._source.refuse_changed()
        self._told(seen)
        return counter.result()

    def _told(self, seen: Seen) -> None:
        """Report the rows left out by the first pass; raise InputError if later passes differ."""
        if self._first is None:
            told = report_of(self._source, self._region, seen)
            self._first = seen
            self._report(told)
        if (seen.rows, seen.inside) != (self._first.rows, self._first.inside):
            raise InputError(
                f"{self._source.name}: the rows changed between two passes over the source. A "
                "budget is valid for unchanged records only; copy the records into a file first."
            )
