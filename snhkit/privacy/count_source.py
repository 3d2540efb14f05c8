"""Sources of exact counts of private records, which builders can read with noise only."""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Histogram, Points, RangeQueries, Region, exact_counts
from snhkit.geometry.dyadic import square_of
from snhkit.geometry.histogram import Cells, refuse_unproven
from snhkit.geometry.partition import MAX_DEPTH
from snhkit.geometry.strata import By


class CountSource(Protocol):
    """The interface of private records that can only be counted, through ``Measurements``.

    A release's source holds at most ``PrivacyUnit.sensitivity`` records of each unit of privacy;
    that of a ledger holds all. Everything but ``region`` and ``max_depth`` is private.
    """

    @property
    def region(self) -> Region:
        """The declared region of the records."""
        ...

    @property
    def max_depth(self) -> int:
        """The largest depth for which ``squares`` can be called; a public number, at most 24."""
        ...

    def n(self) -> int:
        """Return the number of records."""
        ...

    def count(self, cells: Cells) -> Histogram:
        """Return the number of records in each cell of a partition that is proven to be one."""
        ...

    def squares(self, depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ``square_of`` numbers, ascending, and counts of squares with records, (c,)."""
        ...

    def boxes(self, queries: RangeQueries) -> NDArray[np.int64]:
        """Return the number of records in each of q boxes, which may overlap, shape (q,)."""
        ...

    def strata(self, by: By) -> "Callable[[], Iterable[CountSource]]":
        """Return a function that divides the records; InputError if they lack what it needs."""
        ...


class PointSource:
    """A source that counts records in memory, already bounded to the unit's sensitivity."""

    max_depth = MAX_DEPTH

    def __init__(self, points: Points) -> None:
        self._points = points

    @property
    def region(self) -> Region:
        """The declared region of the records."""
        return self._points.region

    def n(self) -> int:
        """Return the number of records."""
        return len(self._points)

    def count(self, cells: Cells) -> Histogram:
        """Return the number of records in each cell of a partition."""
        refuse_unproven(cells)
        return cells.count(self._points)

    def squares(self, depth: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the squares at one depth of a quadtree that hold records, and their counts."""
        return np.unique(square_of(self._points, depth), return_counts=True)

    def boxes(self, queries: RangeQueries) -> NDArray[np.int64]:
        """Return the number of records in each of q boxes, which may overlap, shape (q,)."""
        return exact_counts(self._points, queries)

    def strata(self, by: By) -> "Callable[[], Iterable[CountSource]]":
        """Return a function that divides the records into a source for each stratum."""
        number, points = by.of_points(self._points), self._points

        def divided() -> Iterable[CountSource]:
            for i in range(len(by)):
                yield PointSource(Points(points.region, points.xy[number == i]))

        return divided
