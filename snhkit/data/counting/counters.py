"""Counters of the rows of a pass: in cells, in boxes, and one that collects the rows."""

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.projection import approximation
from snhkit.data.sources.report import possible
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region, exact_counts
from snhkit.geometry.histogram import Cells
from snhkit.geometry.partition import CellLookup

__all__ = ["BoxCounter", "CellCounter", "Collector", "GridCounter", "PlaceCounter", "counter_of"]

MAX_ROWS = 100_000_000  # that are collected
_STEP = 2**15  # places per step, so that their arrays stay in the cache
# Largest error of the polynomial, in cell widths; above it, all places are projected exactly.
_MOST_UNSURE = 0.05
_FLUSH = 2**30  # records after which 32-bit counts could overflow

Order = tuple[int, int]
Beside = Mapping[str, NDArray[np.int64]]
"""The columns of ``Chunk.beside``."""

Added = tuple[int, NDArray[np.int64]]
"""How many places lie in the region, and the indices of those that are not valid degrees."""


class PlaceCounter:
    """A counter that converts each position exactly from degrees to metres."""

    def __init__(self, region: Region, size: int) -> None:
        self.region = region
        self.total = np.zeros(size, np.int64)

    def add(
        self,
        lat: NDArray[np.float64],
        lon: NDArray[np.float64],
        beside: Beside = MappingProxyType({}),
        order: Order = (0, 0),
    ) -> Added:
        """Take n places in degrees, with further columns."""
        usable = possible(lat, lon)
        everyone = bool(usable.all())
        if not everyone:
            lat, lon = lat[usable], lon[usable]
        xy = self.region.to_xy(lat, lon)
        inside = self.region.contains(xy)
        at = slice(None) if everyone and inside.all() else np.flatnonzero(usable)[inside]
        self.add_kept(
            xy if isinstance(at, slice) else xy[inside],
            {name: column[at] for name, column in beside.items()},
            order,
        )
        return int(inside.sum()), np.flatnonzero(~usable)

    def add_kept(
        self,
        xy: NDArray[np.float64],
        beside: Beside,
        order: Order,
    ) -> None:
        """Take n places in the region, shape (n, 2), in metres, with columns."""
        self.add_places(xy)

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n places that all lie in the region, given in metres, shape (n, 2)."""
        raise NotImplementedError

    def result(self) -> Any:
        """Return the counts."""
        return self.total

    def merge(self, result: Any) -> None:
        """Add the counts of another counter of the same cells."""
        self.total += result


class PartitionCounter(PlaceCounter):
    """Counter of the records in each cell of a partition into rectangles."""

    def __init__(self, cells: Partition) -> None:
        super().__init__(cells.region, len(cells))
        self._lookup = CellLookup(cells)

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n places that all lie in the region, given in metres, shape (n, 2)."""
        np.add.at(self.total, self._lookup.of(xy), 1)


class CellCounter(PlaceCounter):
    """Counter of the records in each cell of any partition that has a method ``count``."""

    def __init__(self, cells: Cells) -> None:
        super().__init__(cells.region, cells.count(Points(cells.region, [])).counts.size)
        self._cells = cells

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n places that all lie in the region, given in metres, shape (n, 2)."""
        self.total += self._cells.count(Points(self.region, xy)).counts.ravel()


class BoxCounter(PlaceCounter):
    """Counter of the records in each of several boxes, which may overlap."""

    def __init__(self, queries: RangeQueries) -> None:
        super().__init__(queries.region, len(queries))
        self._queries = queries

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n places that all lie in the region, given in metres, shape (n, 2)."""
        self.total += exact_counts(Points(self.region, xy), self._queries)


class Collector(PlaceCounter):
    """A counter that keeps the records in memory, for ``read_points``."""

    def __init__(self, region: Region) -> None:
        super().__init__(region, 0)
        self._pieces: list[tuple[Order, tuple[Any, ...]]] = []
        self._rows = 0

    def add_kept(
        self,
        xy: NDArray[np.float64],
        beside: Beside,
        order: Order,
    ) -> None:
        """Keep n records."""
        import pandas as pd

        codes = who = None
        if "person" in beside:
            found, who = pd.factorize(beside["person"])
            codes = found.astype(np.int32)
        self._count(len(xy))
        self._pieces.append((order, (xy, codes, who, beside.get("time"))))

    def _count(self, rows: int) -> None:
        self._rows += rows
        if self._rows > MAX_ROWS:
            raise InputError(
                f"more than {MAX_ROWS:,} rows lie in the region; at most {MAX_ROWS:,} are read "
                "into memory. Count them with PrivateDataset.scan."
            )

    def result(self) -> Any:
        """Return the records of each chunk."""
        return self._pieces

    def merge(self, result: Any) -> None:
        """Add the records of another collector."""
        self._count(sum(len(piece[1][0]) for piece in result))
        self._pieces += result

    def points(self, with_users: bool) -> Points:
        """Return the records in the order of their rows; people are numbers from 0. Once only."""
        import pandas as pd

        pieces = [piece for _, piece in sorted(self._pieces, key=lambda one: one[0])]
        self._pieces = []
        ends = np.cumsum([0, *(len(piece[0]) for piece in pieces)]).tolist()
        xy = np.empty((ends[-1], 2))
        first = pieces[0]
        user = np.empty(ends[-1], np.int64) if first[1] is not None and with_users else None
        time = np.empty(ends[-1], np.int64) if first[3] is not None else None
        numbers = np.zeros(0, np.int64)
        if user is not None:
            numbers = pd.factorize(np.concatenate([piece[2] for piece in pieces]))[0]
        known = 0
        for i, (start, end) in enumerate(pairwise(ends)):
            xy[start:end], codes, who, times = pieces[i]
            if user is not None:
                user[start:end] = numbers[known : known + len(who)][codes]
                known += len(who)
            if time is not None:
                time[start:end] = times
            pieces[i] = (None,)  # its memory is free now
        return Points(self.region, xy, user, time)


class GridCounter:
    """Counter of the records in each cell of a grid; the counts equal those of ``Grid.count``.

    For speed, a polynomial approximates the projection of degrees to metres. The few places that
    are closer to the edge of a cell than the error of the polynomial are projected exactly.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._small = np.zeros(grid.m**2, np.int32)
        self._large: NDArray[np.int64] | None = None
        self._since = 0
        near = approximation(grid.region)
        if near is not None and near.error_m > _MOST_UNSURE * grid.cell_m:
            near = None
        self._near = near

    def add(
        self,
        lat: NDArray[np.float64],
        lon: NDArray[np.float64],
        beside: Beside = MappingProxyType({}),
        order: Order = (0, 0),
    ) -> Added:
        """Count n places in degrees."""
        inside, unusable = 0, []
        for start in range(0, len(lat), _STEP):
            part = slice(start, start + _STEP)
            found, bad = self._step(lat[part], lon[part])
            inside += found
            if bad.size:
                unusable.append(bad + start)
        return inside, np.concatenate(unusable) if unusable else np.zeros(0, np.int64)

    def _step(
        self, lat: NDArray[np.float64], lon: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.int64]]:
        near = self._near
        if near is None:
            usable = possible(lat, lon)
            return self._exactly(lat[usable], lon[usable]), np.flatnonzero(~usable)
        boxed = (lat >= near.low[0]) & (lat <= near.high[0])
        boxed &= lon >= near.low[1]
        boxed &= lon <= near.high[1]
        inside, bad = 0, np.zeros(0, np.int64)
        if not boxed.all():
            rest = np.flatnonzero(~boxed)
            usable = possible(lat[rest], lon[rest])
            # The same longitude may be written with 360 degrees added or subtracted.
            turned = rest[usable & (np.abs(lon[rest] - self.grid.region.lon) > 180)]
            inside, bad = self._exactly(lat[turned], lon[turned]), rest[~usable]
            lat, lon = lat[boxed], lon[boxed]
        return inside + self._nearly(lat, lon), bad

    def _nearly(self, lat: NDArray[np.float64], lon: NDArray[np.float64]) -> int:
        near, m = self._near, self.grid.m
        assert near is not None  # noqa: S101
        x, y = near.axes(lat, lon)
        unsure = near.error_m / self.grid.cell_m
        sure: NDArray[np.bool_] | None = None
        cell: list[NDArray[np.int32]] = []
        for axis in (x, y):
            axis *= 1 / self.grid.cell_m
            axis += m  # a cast rounds towards 0, so numbers must be positive
            whole = axis.astype(np.int32)
            axis -= whole
            clear = axis > unsure
            clear &= axis < 1 - unsure
            sure = clear if sure is None else np.logical_and(sure, clear, out=sure)
            whole -= m
            cell.append(whole)
        assert sure is not None  # noqa: S101
        i, j = cell
        inside = 0
        if not sure.all():
            doubt = ~sure
            inside = self._exactly(lat[doubt], lon[doubt])
        if i.size:
            within = sure
            within &= i.view(np.uint32) < m
            within &= j.view(np.uint32) < m
            i *= np.int32(m)
            i += j
            if not within.all():
                i = i[within]
        return inside + self._count(i)

    def _exactly(self, lat: NDArray[np.float64], lon: NDArray[np.float64]) -> int:
        if not lat.size:
            return 0
        xy = self.grid.region.to_xy(lat, lon)
        xy = xy[self.grid.region.contains(xy)]
        self.add_places(xy)
        return len(xy)

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n places in the region, shape (n, 2), in metres from its lower-left corner."""
        self._count(self.grid.cell_numbers(xy))

    def _count(self, flat: NDArray) -> int:
        self._since += flat.size
        if self._since > _FLUSH:
            self._flush()
            self._since = flat.size
        np.add.at(self._small, flat, np.int32(1))
        return flat.size

    def _flush(self) -> None:
        if self._large is None:
            self._large = self._small.astype(np.int64)
        else:
            self._large += self._small
        self._small[:] = 0

    def result(self) -> NDArray[np.integer]:
        """Return the counts."""
        return self.total

    def merge(self, result: NDArray[np.integer]) -> None:
        """Add the counts of another counter of the same grid."""
        more = int(result.sum(dtype=np.int64))
        if self._since + more > _FLUSH:
            self._flush()
            self._since = 0
            assert self._large is not None  # noqa: S101
            self._large += result
        else:
            self._since += more
            self._small += result.astype(np.int32, copy=False)

    @property
    def total(self) -> NDArray[np.int64] | NDArray[np.int32]:
        """The number of records in each of the m by m cells, shape (m * m,), column by column.

        The type is int32 until a count could be too large for it, then int64.
        """
        return self._small if self._large is None else self._large + self._small


def counter_of(what: Cells | RangeQueries) -> GridCounter | PlaceCounter:
    """Return a new counter of cells or boxes, whose attribute ``total`` holds the counts."""
    if isinstance(what, Grid):
        return GridCounter(what)
    if isinstance(what, Partition):
        return PartitionCounter(what)
    return BoxCounter(what) if isinstance(what, RangeQueries) else CellCounter(what)
