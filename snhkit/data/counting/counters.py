"""Counters of the rows of a pass: in cells, in boxes, and one that collects the rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy.typing import NDArray

from snhkit.data.sources.people import Unasked, person_keys
from snhkit.data.sources.report import Ids, possible
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region, exact_counts
from snhkit.geometry.histogram import Cells
from snhkit.geometry.partition import CellLookup
from snhkit.geometry.projection import approximation

MAX_ROWS = 100_000_000  # that are collected
_STEP = 2**15  # places per step, so that their arrays stay in the cache
# Largest error of the polynomial, in cell widths; above it, all places are projected exactly.
_MOST_UNSURE = 0.05
_FLUSH = 2**30  # records after which 32-bit counts could overflow

Order = tuple[int, int]
"""The numbers of the part and of the first row of a chunk, in which rows follow each other."""

People = NDArray[np.int64] | Unasked
Beside = Mapping[str, People]
"""The columns of ``Chunk.beside``."""


class Counter:
    """What a thread or worker gives rows to; it adds up what ``tally`` returns for places."""

    def __init__(
        self, region: Region, size: int = 0,
        tally: Callable[[NDArray[np.float64]], NDArray] = lambda xy: np.zeros(0, np.int64),
    ) -> None:  # fmt: skip
        self.region, self._tally = region, tally
        self.total: NDArray[np.integer] = np.zeros(size, np.int64)

    def add(
        self, lat: Float[np.ndarray, " n"], lon: Float[np.ndarray, " n"],
        beside: Beside = MappingProxyType({}), order: Order = (0, 0),
    ) -> tuple[int, Int[np.ndarray, " bad"]]:  # fmt: skip
        """Take rows; return how many lie in the region, and which are not valid degrees."""
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

    def add_kept(self, xy: Float[np.ndarray, "n 2"], beside: Beside, order: Order) -> None:
        """Take rows in the region, in metres."""
        self.add_places(xy)

    def add_places(self, xy: Float[np.ndarray, "n 2"]) -> None:
        """Count places in the region, in metres."""
        self.total += self._tally(xy)

    def result(self) -> Any:
        """Return what was found, in a form that can be sent to another process."""
        return self.total

    def merge(self, result: Any) -> None:
        """Add the result of another counter."""
        self.total += result


@dataclass(frozen=True)
class Draw:
    """A random choice of places, each with the probability ``share``, by a public seed."""

    region: Region
    share: float


class Collector(Counter):
    """A counter that keeps the records in memory, for ``read_points``, or the places of a share."""

    def __init__(self, region: Region, share: float | None = None) -> None:
        super().__init__(region)
        self._share = share
        self._pieces: list[tuple[Order, tuple[Any, ...]]] = []
        self._rows = 0

    def add_kept(self, xy: Float[np.ndarray, "n 2"], beside: Beside, order: Order) -> None:
        """Keep the records of a chunk, with their people and times."""
        if self._share is not None:  # the same, whichever thread or worker reads the chunk
            chosen = np.random.default_rng(order).random(len(xy)) < self._share
            xy, beside = xy[chosen], {}
        self._count(len(xy))
        self._pieces.append((order, (xy, beside.get("person"), beside.get("time"))))

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

    def points(
        self, tell: Callable[[Ids, int], object] = lambda ids, gaps: None, tz: str | None = None
    ) -> Points:
        """Return the records by row, once; ``tell`` hears of ids that nobody had asked for."""
        pieces = [piece for _, piece in sorted(self._pieces, key=lambda one: one[0])]
        self._pieces = []
        people: list[Any] = [person for _, person, _ in pieces]
        times = [time for _, _, time in pieces]
        xy = np.empty((self._rows, 2))
        start = 0
        for i, (places, _, _) in enumerate(pieces):
            xy[start : start + len(places)] = places
            start += len(places)
            pieces[i] = (None, None, None)  # its memory is free now
        xy.flags.writeable = False  # so that Points need not copy it
        return Points(
            self.region,
            xy,
            None if people[0] is None else partial(_numbered, people, tell),
            None if times[0] is None else np.concatenate(times),
            tz,
        )


def _numbered(
    people: Sequence[People], tell: Callable[[Ids, int], object]
) -> NDArray[np.int64] | None:
    """Return people as numbers from 0, as they first occur; None if ids are missing."""
    seen, keys = Ids(), list[Any]()
    for one in people:
        if isinstance(one, Unasked):
            column = one.column
            one, texts = person_keys(column)
            seen.add(texts, one, lambda row, column=column: column[row].as_py())
        keys.append(one)
    person = np.concatenate(keys)
    gaps = int((person == 0).sum())
    tell(seen, gaps)
    return None if gaps else pd.factorize(person)[0]


class GridCounter(Counter):
    """Counter of the records in each cell of a grid; the counts equal those of ``Grid.count``."""

    # For speed, a polynomial approximates the projection of degrees to metres. The few places that
    # are closer to the edge of a cell than the error of the polynomial are projected exactly.

    def __init__(self, grid: Grid) -> None:
        self.region, self.grid = grid.region, grid
        self._small = np.zeros(grid.m**2, np.int32)
        self._large: NDArray[np.int64] | None = None
        self._since = 0
        near = approximation(grid.region)
        if near is not None and near.error_m > _MOST_UNSURE * grid.cell_m:
            near = None
        self._near = near

    def add(
        self, lat: Float[np.ndarray, " n"], lon: Float[np.ndarray, " n"],
        beside: Beside = MappingProxyType({}), order: Order = (0, 0),
    ) -> tuple[int, Int[np.ndarray, " bad"]]:  # fmt: skip
        """Count places in degrees."""
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
            return super().add(lat, lon)
        boxed = (lat >= near.low[0]) & (lat <= near.high[0])
        boxed &= lon >= near.low[1]
        boxed &= lon <= near.high[1]
        inside, bad = 0, np.zeros(0, np.int64)
        if not boxed.all():
            rest = np.flatnonzero(~boxed)
            usable = possible(lat[rest], lon[rest])
            # The same longitude may be written with 360 degrees added or subtracted.
            turned = rest[usable & (np.abs(lon[rest] - self.grid.region.lon) > 180)]
            inside = super().add(lat[turned], lon[turned])[0] if turned.size else 0
            bad = rest[~usable]
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
            inside = super().add(lat[doubt], lon[doubt])[0]
        if i.size:
            within = sure
            within &= i.view(np.uint32) < m
            within &= j.view(np.uint32) < m
            i *= np.int32(m)
            i += j
            if not within.all():
                i = i[within]
        return inside + self._count(i)

    def add_places(self, xy: Float[np.ndarray, "n 2"]) -> None:
        """Count places in the region, in metres."""
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
        """Return the counts, shape (m * m,), as int32 until they could be too large for it."""
        return self._small if self._large is None else self._large + self._small

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


def counter_of(what: Cells | RangeQueries | Draw) -> Counter:
    """Return a new counter, whose ``result`` is counts of cells or boxes, or places."""
    region = what.region
    if isinstance(what, Draw):
        return Collector(region, what.share)
    if isinstance(what, Grid):
        return GridCounter(what)
    if isinstance(what, Partition):
        lookup, cells = CellLookup(what), len(what)
        return Counter(region, cells, lambda xy: np.bincount(lookup.of(xy), minlength=cells))
    if isinstance(what, RangeQueries):
        return Counter(region, len(what), lambda xy: exact_counts(Points(region, xy), what))
    size = what.count(Points(region, [])).counts.size
    return Counter(region, size, lambda xy: what.count(Points(region, xy)).counts.ravel())
