"""Chunks of rows, and the rules (columns and filters) that every source of rows applies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.people import person_ids
from snhkit.data.reading.arrow import floats_of
from snhkit.data.reading.times import NO_TIME, microseconds
from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Block", "Chunk", "Part", "Rules", "Source", "chunk_of"]


@dataclass(frozen=True)
class Rules:
    """The columns to read from a source of records, and the filters for rows; all are public.

    Parameters
    ----------
    lat, lon, user, time : str or int, optional
        Columns, by name or position from 0. By default, the columns of latitudes and longitudes are
        found by common names, and so is the column of users if ``people`` is true.
    since, until : int, optional
        Microseconds since 1970 in UTC. Only rows at or after ``since`` and before ``until`` are
        read.
    users : frozenset of str, optional
        The ids of the users whose rows are read; by default those of all users.
    people : bool
        Whether the user of each row is needed.
    """

    lat: str | int | None = None
    lon: str | int | None = None
    user: str | int | None = None
    time: str | int | None = None
    since: int | None = None
    until: int | None = None
    users: frozenset[str] | None = None
    people: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Chunk:
    """Rows of a source that passed the filters, held in memory.

    Parameters
    ----------
    lat, lon : ndarray, shape (n,)
        Degrees; nan where the source has no number.
    person : ndarray of int64, shape (n,), optional
        A number that stands for the user of the row, the same in all chunks; 0 where the user id is
        missing.
    time : ndarray of int64, shape (n,), optional
        Microseconds since 1970 in UTC; ``NO_TIME`` where the source has no time.
    number : callable
        A function of a position in the chunk, which returns the row number for messages.
    value : callable
        A function of a position in the chunk and of a role ("lat", "lon", "user" or "time"), which
        returns the value in the source.
    rows : int
        The number of rows that passed the filters, plus the number of malformed rows.
    malformed : mapping of int to str
        The defect of each row that could not be split into fields, by row number.
    """

    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    number: Callable[[int], int]
    value: Callable[[int, str], object]
    rows: int
    person: NDArray[np.int64] | None = None
    time: NDArray[np.int64] | None = None
    malformed: Mapping[int, str] = field(default_factory=dict)


Block = Callable[[], Iterator[Chunk]]
"""A function that decodes rows that were already read; it runs in the thread that calls it."""


class Part(Protocol):
    """A piece of a source that a thread or process can read without the other pieces."""

    @property
    def name(self) -> str:
        """Name of the file, for messages."""
        ...

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of rows in order.

        This generator reads the bytes of the source. A block is a function that decodes its rows
        when it is called, possibly in another thread.
        """
        ...


class Source(Protocol):
    """A source of rows that can be read many times and must not change in between."""

    @property
    def name(self) -> str:
        """Name of the source, for messages."""
        ...

    @property
    def numbering(self) -> str:
        """How rows are numbered, as a phrase for messages, such as "rows count from 0"."""
        ...

    @property
    def swap(self) -> str:
        """What to do if latitudes and longitudes are swapped, as a phrase for messages."""
        ...

    @property
    def parts(self) -> Sequence[Part]:
        """The parts that can be read separately, in the order of the rows."""
        ...

    @property
    def size(self) -> int:
        """The approximate size of the source in bytes."""
        ...

    def refuse_changed(self) -> None:
        """Raise InputError if a file of the source has changed since it was opened."""
        ...


def chunk_of(
    name: str,
    columns: Mapping[str, "pa.ChunkedArray"],
    rules: Rules,
    number: Callable[[int], int],
    value: Callable[[int, str], object],
    malformed: Mapping[int, str] | None = None,
    degrees: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> Chunk:
    """Return the rows that pass the filters, from the columns of a source.

    Parameters
    ----------
    name : str
        Name of the source, for messages.
    columns : mapping
        The columns that were found, by role: "lat", "lon", "user" or "time".
    rules : Rules
        The filters.
    number, value, malformed
        As the parameters of ``Chunk``, but for positions among all rows, before the filters.
    degrees : (ndarray, ndarray), optional
        Latitudes and longitudes, if the caller has decoded them already.
    """
    lat, lon = degrees or (floats_of(name, columns["lat"]), floats_of(name, columns["lon"]))
    rows = len(lat) + len(malformed or {})
    person = time = keep = None
    if "time" in columns:
        time = microseconds(name, columns["time"])
        if rules.since is not None:
            keep = (time >= rules.since) | (time == NO_TIME)
        if rules.until is not None:
            before = time < rules.until
            keep = before if keep is None else keep & before
    if "user" in columns:
        person, listed = person_ids(name, columns["user"], rules.users)
        if listed is not None:
            keep = listed if keep is None else keep & listed
    if keep is None or keep.all():
        return Chunk(lat, lon, number, value, rows, person, time, malformed or {})
    at = np.flatnonzero(keep)
    return Chunk(
        lat[at],
        lon[at],
        lambda row: number(int(at[row])),
        lambda row, role: value(int(at[row]), role),
        rows - (len(lat) - len(at)),
        None if person is None else person[at],
        None if time is None else time[at],
        malformed or {},
    )


def refuse_unknown_filters(rules: Rules, found: Mapping[str, Any]) -> None:
    """Raise InputError if a filter or the unit of privacy needs a column that was not found.

    Parameters
    ----------
    rules : Rules
        The filters.
    found : container of str
        The roles of the columns that were found: "lat", "lon", "user" or "time".
    """
    if (rules.since, rules.until) != (None, None) and "time" not in found:
        raise InputError(
            "the filters since and until need the column of times; give time=..., the name of "
            "the column."
        )
    if rules.people and "user" not in found:
        raise InputError(
            "unit='user' needs the user of each record, and no column has a usual "
            "name for users; name the column with user=..., or protect single "
            "records only, with unit='record'."
        )
    if rules.users is not None and "user" not in found:
        raise InputError(
            "the filter users needs the column of user ids; give user=..., the name of the column."
        )
