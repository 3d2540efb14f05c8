"""Chunks of rows, the parts of a source that yield them, and how columns become a chunk."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from snhkit.data.sources.columns import Layout, Rules
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import degrees_of, floats_of, points_of, to_degrees
from snhkit.data.sources.people import person_keys
from snhkit.data.sources.times import NO_TIME, local_seconds, times_of
from snhkit.geometry.strata import LEFT_OUT, OTHER, By

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Block", "Chunk", "Part", "Source", "chunk_of"]

_UNKNOWN_SIZE = 2**32  # bytes, assumed for a source whose size is unknown


@dataclass(frozen=True, eq=False, repr=False)
class Chunk:
    """Rows of a source that passed the filters, held in memory.

    ``lat`` and ``lon`` are degrees, shape (n,), nan where the source has no number. ``person``
    has the key of each row's person (see ``person_keys``), and ``time`` its local seconds since
    1970, ``NO_TIME`` if unknown. ``rows`` counts the rows, with the malformed ones, whose
    defects are by row number. ``first`` orders the chunks of a part. ``number`` returns the
    number of a row for messages, and ``value`` what the source has in a row for a role such as
    "lat". ``texts`` has the key of each different id that is text, and ``unit`` the unit of
    times that are numbers.
    """

    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    rows: int
    first: int
    number: Callable[[int], int]
    value: Callable[[int, str], object]
    person: NDArray[np.int64] | None = None
    time: NDArray[np.int64] | None = None
    stratum: NDArray[np.int64] | None = None
    malformed: Mapping[int, str] = field(default_factory=dict)
    texts: Mapping[str, int] = field(default_factory=dict)
    unit: str = ""

    @property
    def beside(self) -> dict[str, NDArray[np.int64]]:
        """The columns person, time and stratum, by name, as far as they are known."""
        columns = {"person": self.person, "time": self.time, "stratum": self.stratum}
        return {name: column for name, column in columns.items() if column is not None}


Block = Callable[[], Iterator[Chunk]]
"""A function that decodes rows that were already read; it runs in the thread that calls it."""


class Part(Protocol):
    """A piece of a source that a thread or process can read without the other pieces."""

    @property
    def name(self) -> str:
        """Name of the file, for messages."""
        ...

    @property
    def layout(self) -> Layout:
        """The columns that are read."""
        ...

    @property
    def numbering(self) -> str:
        """How rows are numbered, as a phrase for messages, such as "rows count from 0"."""
        ...

    @property
    def ids(self) -> tuple[str, str] | None:
        """The family (see ``id_family``) and the type of the user ids, None if there are none."""
        ...

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of rows in order, with bytes that are read but not yet decoded."""
        ...


@dataclass(frozen=True)
class Source:
    """Rows that can be read many times and must not change in between.

    ``places`` are the files, none for an object in memory; ``notes`` tell what was not read.
    """

    name: str
    parts: Sequence[Part]
    rules: Rules
    places: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return sum(place.size for place in self.places) or _UNKNOWN_SIZE

    @property
    def numbering(self) -> str:
        """How rows are numbered, as a phrase for messages."""
        several = ", in each file" if len(self.places) > 1 else ""
        return self.parts[0].numbering + several

    @property
    def swap(self) -> str:
        """What to do if latitudes and longitudes are swapped, as a phrase for messages."""
        return self.parts[0].layout.swap

    @property
    def found_users(self) -> str | None:
        """The name of the column of users, if it was found by its name and nobody asked for it."""
        return None if self.rules.ids_required else self.parts[0].layout.columns.get("user")

    def part_name(self, part: int) -> str | None:
        """Return the name of a part, None if all parts are one file."""
        return self.parts[part].name if len(self.places) > 1 else None

    def refuse_changed(self) -> None:
        """Raise InputError if a file has changed since it was opened."""
        for place in self.places:
            place.refuse_changed()


def chunk_of(
    name: str,
    columns: "Mapping[str, pa.Array]",
    layout: Layout,
    rules: Rules,
    first: int,
    number: Callable[[int], int] | None = None,
    value: Callable[[int, str], object] | None = None,
    malformed: Mapping[int, str] | None = None,
) -> Chunk:
    """Return the rows that pass the filters, from Arrow columns by role.

    ``first`` is the number of the first row. ``number`` is that of ``Chunk``, but for positions
    before the filters; by default rows follow each other. ``value`` is that of ``Chunk``, likewise;
    by default it returns the values of ``columns``.
    """
    number = number or (lambda row: first + row)
    lat, lon = _degrees(name, columns, layout, rules, first)
    rows = len(lat) + len(malformed or {})
    person = clock = stratum = keep = None
    texts: Mapping[str, int] = {}
    unit = ""
    if "time" in columns:
        time, unit = times_of(name, columns["time"], rules.tz, number)
        if rules.since is not None:
            keep = (time >= rules.since) | (time == NO_TIME)
        if rules.until is not None:
            before = time < rules.until
            keep = before if keep is None else keep & before
        clock = local_seconds(time, rules.tz)
        if rules.by is not None and rules.by.times:
            stratum = rules.by.of_times(clock)
    if rules.by is not None and "by" in columns:
        stratum = _strata_of(columns["by"], rules.by)
    if "user" in columns:
        person, texts = person_keys(columns["user"], layout.beside)
        if rules.users is not None:
            listed = np.isin(person, _keys_of(rules.users))
            keep = listed if keep is None else keep & listed

    def held(row: int, role: str) -> object:
        if role in ("lat", "lon") and role not in columns:
            place = (lat, lon)[role == "lon"][row]
            return None if np.isnan(place) else float(place)
        return columns[role][row].as_py() if role in columns else None

    whole = Chunk(lat, lon, rows, first, number, value or held, person, clock, stratum,
                  malformed or {}, texts, unit)  # fmt: skip
    return whole if keep is None or keep.all() else _filtered(whole, np.flatnonzero(keep))


def _filtered(all_rows: Chunk, at: NDArray[np.int64]) -> Chunk:
    return Chunk(
        all_rows.lat[at],
        all_rows.lon[at],
        all_rows.rows - (len(all_rows.lat) - len(at)),
        all_rows.first,
        lambda row: all_rows.number(int(at[row])),
        lambda row, role: all_rows.value(int(at[row]), role),
        None if all_rows.person is None else all_rows.person[at],
        None if all_rows.time is None else all_rows.time[at],
        None if all_rows.stratum is None else all_rows.stratum[at],
        all_rows.malformed,
        all_rows.texts,
        all_rows.unit,
    )


def _strata_of(column: "pa.Array", by: By) -> NDArray[np.int64]:
    """Return the number of the stratum of each value, ``LEFT_OUT`` if it has none."""
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    labels = [None if label == OTHER else label for label in by.labels]
    rest = by.labels.index(OTHER) if OTHER in by.labels else LEFT_OUT
    found = pc.index_in(
        column.cast(pa.string()), value_set=pa.array(labels, pa.string()), skip_nulls=True
    )
    return found.fill_null(rest).cast(pa.int64()).to_numpy(zero_copy_only=False)


def _keys_of(users: frozenset[str]) -> NDArray[np.int64]:
    import pyarrow as pa

    keys = person_keys(pa.array(sorted(users), pa.string()))[0]
    return keys[keys != 0]


def _degrees(
    name: str, columns: "Mapping[str, pa.Array]", layout: Layout, rules: Rules, first: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if layout.geometry is not None:
        return degrees_of(name, columns["geometry"], layout.geometry, first)
    if "point" in columns:
        return points_of(name, columns["point"], rules.crs)
    lat, lon = (floats_of(name, columns[role]) for role in ("lat", "lon"))
    if rules.crs is not None:
        lat, lon = to_degrees(rules.crs, lon, lat)
    elif rules.degrees != 1:
        lat, lon = lat * rules.degrees, lon * rules.degrees
    return lat, lon
