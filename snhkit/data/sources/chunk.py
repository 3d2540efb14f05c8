"""Parts of a source, which yield Arrow columns, and the chunks of rows that these become."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from snhkit.data.sources.columns import Layout, Rules
from snhkit.data.sources.geo import degrees_of, floats_of, points_of, to_degrees
from snhkit.data.sources.people import Unasked, id_family, person_keys
from snhkit.data.sources.times import NO_TIME, local_seconds, times_of
from snhkit.geometry.strata import LEFT_OUT, OTHER, By
from snhkit.untrusted import parsing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Chunk", "Part", "Rows"]


class Rows(NamedTuple):
    """Arrow columns by role ("lat", "user", ...) of rows, the first of which has number ``first``.

    For messages, ``number`` returns the number of a row, and ``value`` what the source has in a row
    for a role; both have defaults. ``malformed`` has the defects of rows left out, by their number.
    """

    columns: "Mapping[str, pa.Array]"
    first: int
    number: Callable[[int], int] | None = None
    value: Callable[[int, str], object] | None = None
    malformed: Mapping[int, str] = {}


@dataclass(frozen=True, eq=False, repr=False)
class Chunk:
    """Rows that passed the filters; ``number`` and ``value`` are those of ``Rows``."""

    lat: Float[np.ndarray, " n"]  # degrees, nan where the source has no number
    lon: Float[np.ndarray, " n"]
    rows: int  # with the malformed ones
    first: int  # orders the chunks of a part
    number: Callable[[int], int]
    value: Callable[[int, str], object]
    person: Int[np.ndarray, " n"] | Unasked | None = None  # see ``person_keys``
    time: Int[np.ndarray, " n"] | None = None  # local seconds since 1970, or ``NO_TIME``
    stratum: Int[np.ndarray, " n"] | None = None
    malformed: Mapping[int, str] = field(default_factory=dict)
    texts: Mapping[str, int] | None = None  # see ``person_keys``
    unit: str = ""  # of times that are numbers
    family: str = ""  # of the user ids, see ``id_family``

    @property
    def beside(self) -> dict[str, NDArray[np.int64] | Unasked]:
        """The columns person, time and stratum, by name, as far as they are known."""
        columns = {"person": self.person, "time": self.time, "stratum": self.stratum}
        return {name: column for name, column in columns.items() if column is not None}


@dataclass(frozen=True, eq=False)
class Part:
    """A piece of a source that a thread or process can read without the other pieces.

    ``read`` yields, for each block of rows, a function that decodes the block, which may then run
    in another thread. ``numbering`` says how rows are numbered, for messages.
    """

    name: str
    rules: Rules
    layout: Layout
    read: Callable[[], Iterator[Callable[[], Iterator[Rows]]]]
    kind: str = "a frame"
    numbering: str = "rows count from 0"

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
        person = clock = stratum = keep = None
        texts: Mapping[str, int] | None = {}
        unit = family = ""
        if "time" in columns:
            time, unit = times_of(self.name, columns["time"], rules.tz, number)
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
            ids, beside = columns["user"], self.layout.beside
            family = id_family(ids.type)
            asked = rules.ids_required or rules.users is not None or beside
            if not asked and Unasked.suits(ids.type):
                person = Unasked(ids)
            else:
                person, texts = person_keys(ids, beside)
            if rules.users is not None and isinstance(person, np.ndarray):
                listed = np.isin(person, _keys_of(rules.users))
                keep = listed if keep is None else keep & listed

        def held(row: int, role: str) -> object:
            if role in ("lat", "lon") and role not in columns:
                place = (lat, lon)[role == "lon"][row]
                return None if np.isnan(place) else float(place)
            return columns[role][row].as_py() if role in columns else None

        whole = Chunk(
            lat, lon, len(lat) + len(rows.malformed), rows.first, number, rows.value or held,
            person, clock, stratum, rows.malformed, texts, unit, family,
        )  # fmt: skip
        return whole if keep is None or keep.all() else _filtered(whole, np.flatnonzero(keep))

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
        person=None if whole.person is None else whole.person[at],
        time=None if whole.time is None else whole.time[at],
        stratum=None if whole.stratum is None else whole.stratum[at],
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


def _keys_of(users: frozenset[str | bytes]) -> NDArray[np.int64]:
    import pyarrow as pa

    keys = np.concatenate(
        [
            person_keys(pa.array([one for one in users if isinstance(one, kind)], arrow))[0]
            for kind, arrow in ((str, pa.string()), (bytes, pa.binary()))
        ]
    )
    return keys[keys != 0]
