"""Scans: passes over a source of rows that make ``ExactCounts`` of all or some of them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.counters import Draw, counter_of
from snhkit.data.counting.exact import ExactCounts
from snhkit.data.counting.passes import Cluster, over, take_rows
from snhkit.data.counting.spill import Choice, Sorted, take_places
from snhkit.data.sources.opening import Source
from snhkit.data.sources.report import ReadReport, Seen, report_of
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region
from snhkit.geometry.histogram import Cells
from snhkit.geometry.strata import By


class Scan:
    """A source of rows, all or some of each person; ``spill`` is the folder of temporary files."""

    def __init__(
        self, source: Source, region: Region, report: Callable[[ReadReport], object],
        cluster: Cluster | None = None, spill: Any = None,
    ) -> None:  # fmt: skip
        self._source, self._region, self._report = source, region, report
        self._cluster, self._spill = cluster, spill
        self._all: ExactCounts | None = None
        self._first: Seen | None = None

    def all(self) -> ExactCounts:
        """Return an object that counts all records."""
        if self._all is None:
            divide = partial(self._divided, partial(self._sorted, people=False))
            tz = self._source.rules.tz
            self._all = ExactCounts(self._region, self._total, divide, tz)
        return self._all

    def bounded(self, choose: Choice, window_days: int | None = None) -> ExactCounts:
        """Return an object that counts the records that ``choose`` selects of each person."""

        def kept(source: Source) -> Sorted:  # makes the same choice each time
            found = self._sorted(source, window_days=window_days)
            found.keep(choose)
            return found

        return self._counts(kept(self._source), 0, partial(self._divided, kept))

    def of_people(self, window_days: int | None = None) -> NDArray[np.int64]:
        """Return the number of records of each of p people, shape (p,), or of each in a window."""
        return self._sorted(self._source, window_days=window_days).of_people()

    def _sorted(self, source: Source, **how: Any) -> Sorted:
        found = Sorted(source, self._region, self._spill, self._cluster, **how)
        self._told(found.seen)
        return found

    def _divided(
        self, make: Callable[[Source], Sorted], by: By
    ) -> Callable[[], Iterator[ExactCounts]]:
        """Check the columns; return a function that sorts the records and counts each stratum."""
        source = self._source.divided(by)

        def each() -> Iterator[ExactCounts]:
            found = make(source)
            for number in range(len(by)):
                yield self._counts(found, number)

        return each

    def _counts(
        self, found: Sorted, stratum: int,
        divide: Callable[[By], Callable[[], Iterator[ExactCounts]]] | None = None,
    ) -> ExactCounts:  # fmt: skip
        def read(what: Cells | RangeQueries | Draw) -> Any:
            make = partial(counter_of, what)
            parts = found.parts(stratum)
            return over(parts, make, take_places, "Counting", self._cluster)[0].result()

        n = sum(part.n for part in found.parts(stratum))
        return ExactCounts(self._region, read, divide, n=n)

    def _total(self, what: Cells | RangeQueries | Draw) -> Any:
        source, make = self._source, partial(counter_of, what)
        take = partial(take_rows, self._region, source.rules.ids_required)
        source.refuse_changed()
        counter, seen = over(source.parts, make, take, "Counting", self._cluster)
        source.refuse_changed()
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
