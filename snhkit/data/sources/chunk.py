"""Parts of a source, which yield Arrow columns, and the chunks of rows that these become."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute
from jaxtyping import Float, Int
from numpy.typing import NDArray

from snhkit.data.sources.columns import Layout, Rules
from snhkit.data.sources.geo import degrees_of, floats_of, points_of, to_degrees
from snhkit.data.sources.people import Unasked, id_family, person_keys
from snhkit.data.sources.times import NO_TIME, local_seconds, times_of
from snhkit.geometry.strata import LEFT_OUT, OTHER, By
from snhkit.untrusted import parsing, unpacked

pc: Any = pyarrow.compute  # made at import, so a type checker cannot know it


class Rows(NamedTuple):
    """Arrow columns by role ("lat", "user", ...) of rows, the first of which has number ``first``.

    ``number`` and ``value`` return a row's number and what the source has for a role, for messages.
    """

    columns: Mapping[str, pa.Array]
    first: int
    number: Callable[[int], int] | None = None  # by default, follows from ``first``
    value: Callable[[int, str], object] | None = None  # by default, what is in ``columns``
    malformed: Mapping[int, str] = {}  # the defects of rows left out, by their number


Blocks = Iterator[Callable[[], Iterator[Rows]]]
"""For each block of rows a function that decodes it, which may run in another thread."""


def blocks_of(batches: Iterable[Mapping[str, pa.Array]]) -> Blocks:
    """Yield each batch of columns by role as a block."""
    first = 0
    for columns in batches:
        yield partial(iter, [Rows(columns, first)])
        first += len(next(iter(columns.values())))


@dataclass(frozen=True, eq=False, repr=False)
class Chunk:
    """Rows that passed the filters; ``number`` and ``value`` are those of ``Rows``."""

    lat: Float[np.ndarray, " n"]  # degrees, nan where the source has no number
    lon: Float[np.ndarray, " n"]
    # "person" (see ``person_keys``), "time" (local seconds since 1970, or ``NO_TIME``), "stratum"
    beside: Mapping[str, Int[np.ndarray, " n"] | Unasked]
    rows: int  # with the malformed ones
    first: int  # orders the chunks of a part
    number: Callable[[int], int]
    value: Callable[[int, str], object]
    malformed: Mapping[int, str]
    texts: dict[str, int] | None  # see ``person_keys``
    unit: str  # of times that are numbers
    family: str  # of the user ids, see ``id_family``


@dataclass(frozen=True, eq=False)
class Part:
    """A piece of a source that a thread or process can read without the other pieces."""

    name: str
    rules: Rules
    layout: Layout
    read: Callable[[], Blocks]
    kind: str = "a frame"
    numbering: str = "rows count from 0"  # how rows are numbered, for messages

    def blocks(self) -> Iterator[Callable[[], Iterator[Chunk]]]:
        """Yield, for each block of rows, a function that decodes it."""
        with parsing(self.name, self.kind):
            for decode in self.read():
                yield partial(self._chunks, decode)

    def _chunks(self, decode: Callable[[], Iterator[Rows]]) -> Iterator[Chunk]:
        with parsing(self.name, self.kind):
            for rows in decode():
                yield self._chunk(rows)

    def _chunk(self, rows: Rows) -> Chunk:
        columns, rules = rows.columns, self.rules
        number = rows.number or (lambda row: rows.first + row)
        lat, lon = self._degrees(rows)
        keep = np.ones(len(lat), bool)
        beside: dict[str, NDArray[np.int64] | Unasked] = {}
        texts: dict[str, int] | None = {}
        unit = family = ""
        if "user" in columns:
            ids, other = columns["user"], self.layout.beside
            family = id_family(ids.type)
            asked = rules.ids_required or rules.users is not None or other
            if not asked and Unasked.suits(ids.type):
                beside["person"] = Unasked(ids)
            else:
                beside["person"], texts = person_keys(ids, other)
                if rules.users is not None:
                    keep &= np.isin(beside["person"], list(rules.users - {0}))
        if "time" in columns:
            time, unit = times_of(self.name, columns["time"], rules.tz, number)
            if rules.since is not None:
                keep &= (time >= rules.since) | (time == NO_TIME)
            if rules.until is not None:
                keep &= time < rules.until
            beside["time"] = clock = local_seconds(time, rules.tz)
            if rules.by is not None and rules.by.times:
                beside["stratum"] = rules.by.of_times(clock)
        if rules.by is not None and "by" in columns:
            beside["stratum"] = _strata_of(columns["by"], rules.by)

        def value(row: int, role: str) -> object:
            if role not in columns:
                place = {"lat": lat, "lon": lon}.get(role)
                return None if place is None or np.isnan(place[row]) else float(place[row])
            return columns[role][row].as_py() if rows.value is None else rows.value(row, role)

        whole = Chunk(
            lat, lon, beside, len(lat) + len(rows.malformed), rows.first, number, value,
            rows.malformed, texts, unit, family,
        )  # fmt: skip
        return whole if keep.all() else _filtered(whole, np.flatnonzero(keep))

    def _degrees(self, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        columns, rules = rows.columns, self.rules
        if self.layout.geometry is not None:
            return degrees_of(self.name, columns["geometry"], self.layout.geometry, rows.first)
        if "point" in columns:
            return points_of(self.name, columns["point"], rules.crs)
        lat, lon = (floats_of(self.name, columns[role]) for role in ("lat", "lon"))
        if rules.crs is not None:
            return to_degrees(rules.crs, lon, lat)
        return (lat, lon) if rules.degrees == 1 else (lat * rules.degrees, lon * rules.degrees)


def _filtered(whole: Chunk, at: NDArray[np.int64]) -> Chunk:
    return replace(
        whole,
        lat=whole.lat[at],
        lon=whole.lon[at],
        rows=whole.rows - (len(whole.lat) - len(at)),
        number=lambda row: whole.number(int(at[row])),
        value=lambda row, role: whole.value(int(at[row]), role),
        beside={name: column[at] for name, column in whole.beside.items()},
    )


def _strata_of(column: pa.Array, by: By) -> NDArray[np.int64]:
    """Return the number of the stratum of each value, ``LEFT_OUT`` if it has none."""
    labels = [None if label == OTHER else label for label in by.labels]
    rest = by.labels.index(OTHER) if OTHER in by.labels else LEFT_OUT
    found = pc.index_in(
        unpacked(column).cast(pa.string()), value_set=pa.array(labels, pa.string()), skip_nulls=True
    )
    return found.fill_null(rest).cast(pa.int64()).to_numpy(zero_copy_only=False)
