"""Sorting of records into files by person, to keep a bounded number of records of each person."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.cluster import Cluster
from snhkit.data.counting.counters import Order, PlaceCounter
from snhkit.data.counting.passes import completed, over, take_rows, thread_count
from snhkit.data.sources.chunk import Source
from snhkit.data.sources.report import Seen
from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.geometry.points import DAY_S, windows

__all__ = ["Choice", "KeptPart", "Sorted", "bucket_count", "keep"]

_RECORD = np.dtype([("person", "<i8"), ("x", "<f8"), ("y", "<f8")])
_PLACES = 2**18  # places that are read at a time
_BUCKET_BYTES = 2**25  # approximate size of a bucket
_MOST_BUCKETS = 1024

Choice = Callable[[NDArray[np.int64], NDArray[np.float64]], NDArray[np.int64]]
"""A function that chooses which of n records are kept, and returns their indices.

The arguments are the number of each record's person, shape (n,), and each record's place in metres,
shape (n, 2). The choice among a person's records does not depend on the records of other people.
"""


def bucket_count(source_bytes: int) -> int:
    """Return into how many files to sort the records of a source of ``source_bytes`` bytes.

    The number is a power of two from 16 to 1,024.

    Examples
    --------
    >>> bucket_count(10**6), bucket_count(10**10)
    (16, 512)
    """
    wanted = max(16, source_bytes // _BUCKET_BYTES)
    return min(1 << (wanted - 1).bit_length(), _MOST_BUCKETS)


@dataclass(frozen=True)
class Spill:
    """The folder, the region, the number of buckets, and the days of a window, if there are any."""

    folder: Path
    region: Region
    buckets: int
    window_days: int | None


class Spiller(PlaceCounter):
    """A counter that writes records to files of its own, one for each bucket of people.

    The files of a task that was lost and runs again do no harm, since only results name files.
    """

    def __init__(self, to: Spill) -> None:
        super().__init__(to.region, 0)
        self._to, self._token = to, uuid4().hex
        self._names: set[str] = set()

    def add_kept(
        self,
        xy: NDArray[np.float64],
        person: NDArray[np.int64] | None,
        time: NDArray[np.int64] | None,
        order: Order,
    ) -> None:
        """Write n records."""
        assert person is not None  # noqa: S101
        group = person.view(np.uint64)
        if self._to.window_days is not None:
            if time is None:
                raise InputError(
                    "a unit of privacy with windows of days, such as 'user-day', needs the time of "
                    "each record; give time=..., the name of the column of times."
                )
            nth = windows(time // DAY_S, self._to.window_days)
            group = _spread(group ^ _spread(nth.view(np.uint64)))
        buckets = self._to.buckets
        bucket = (_spread(group) >> np.uint64(64 - buckets.bit_length() + 1)).astype(np.uint16)
        by_bucket = np.argsort(bucket, kind="stable")
        rows = np.empty(by_bucket.size, _RECORD)
        rows["person"], rows["x"], rows["y"] = group[by_bucket].view(np.int64), *xy[by_bucket].T
        ends = np.searchsorted(bucket[by_bucket], np.arange(buckets + 1))
        for at in np.flatnonzero(np.diff(ends)):
            name = f"{at:04}-{self._token}.records"
            self._names.add(name)
            with (self._to.folder / name).open("ab") as file:
                file.write(rows[ends[at] : ends[at + 1]].tobytes())

    def result(self) -> Any:
        """Return the names of the files."""
        return self._names

    def merge(self, result: Any) -> None:
        """Add the files of another counter."""
        self._names |= result


class Sorted:
    """The records of a source in temporary files, sorted by person.

    Only the account that runs the program can read the files, which are deleted with this object.
    They need 24 bytes of disk space for each sorted record, and 16 bytes for each kept record.
    ``spill`` is the folder in which a folder for the files is made, by default the system's folder
    of temporary files; the workers of a cluster must see it.
    """

    def __init__(
        self,
        source: Source,
        region: Region,
        window_days: int | None = None,
        spill: Any = None,
        cluster: Cluster | None = None,
    ) -> None:
        self._cluster = cluster
        self.parts: list[KeptPart] = []
        self.folder = Path(tempfile.mkdtemp(prefix="snhkit-", dir=spill))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        to = Spill(self.folder, region, bucket_count(source.size), window_days)
        take = partial(take_rows, region, source.rules.ids_required)
        try:
            source.refuse_changed()
            spiller, self.seen = over(
                source.parts, partial(Spiller, to), take, "Sorting by person", cluster
            )
            source.refuse_changed()
        except BaseException:
            self._finalizer()
            raise
        self._buckets: dict[str, list[str]] = {}
        for name in sorted(spiller.result()):
            self._buckets.setdefault(name.partition("-")[0], []).append(name)

    def keep(self, choose: Choice) -> None:
        """Keep the records that ``choose`` selects, in new files, and delete the sorted ones."""
        done = self._each(partial(keep, self.folder, choose=choose))
        self.parts = [KeptPart(self.folder / name) for name in sorted(done)]
        for path in self.folder.glob("*.records"):
            path.unlink()

    def of_people(self) -> NDArray[np.int64]:
        """Return the number of records of each of p people, or of people in windows, shape (p,)."""
        return np.concatenate([np.zeros(0, np.int64), *self._each(partial(_tally, self.folder))])

    def _each(self, task: Callable[[str, list[str]], Any]) -> list[Any]:
        tasks = [partial(task, bucket, names) for bucket, names in self._buckets.items()]
        try:
            if self._cluster is not None:
                return list(self._cluster.completed(tasks))
            with ThreadPoolExecutor(thread_count()) as pool:
                return list(completed(pool, tasks))
        except BaseException:
            self._finalizer()
            raise


def keep(folder: Path, bucket: str, names: Sequence[str], choose: Choice) -> str:
    """Write the chosen records of some files, which hold all records of some people, to a new file.

    The new file gets its final name only when it is complete. The old ones are not deleted, so that
    the call can be repeated if a worker of a cluster is lost.
    """
    person, xy = _read(folder, names)
    partial_file = folder / f"{bucket}.{os.getpid()}.{uuid4().hex}.part"
    xy[choose(person, xy)].tofile(partial_file)
    partial_file.replace(folder / f"{bucket}.kept")
    return f"{bucket}.kept"


def _tally(folder: Path, bucket: str, names: Sequence[str]) -> NDArray[np.int64]:
    return np.unique(_read(folder, names)[0], return_counts=True)[1]


def _read(folder: Path, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rows = np.concatenate([np.fromfile(folder / name, _RECORD) for name in names])
    return rows["person"], np.stack([rows["x"], rows["y"]], axis=1)


@dataclass(frozen=True)
class KeptPart:
    """A file of kept records; its blocks yield their places in metres, shape (n, 2)."""

    path: Path

    def blocks(self) -> Iterator[Callable[[], Iterator[NDArray[np.float64]]]]:
        """Yield, for each block of places, a function that reads them."""
        for start in range(0, self.path.stat().st_size // 16, _PLACES):
            yield partial(self._places, start)

    def _places(self, start: int) -> Iterator[NDArray[np.float64]]:
        yield np.fromfile(self.path, float, 2 * _PLACES, offset=16 * start).reshape(-1, 2)


def take_places(counter: Any, seen: Seen, part: int, xy: NDArray[np.float64]) -> None:
    """Give places in metres to a counter; see ``passes.over``."""
    counter.add_places(xy)


def _spread(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each 64-bit word; its high bits depend on all bits of the word."""
    words = (words ^ (words >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return words ^ (words >> np.uint64(32))
