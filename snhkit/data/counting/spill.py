"""Sorting of records into files by person, to keep a bounded number of records of each person."""

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.chunk import Part, Source
from snhkit.data.counting.counters import PlaceCounter, counter_of
from snhkit.data.counting.pass_counts import PassCounts
from snhkit.data.counting.passes import Seen, in_threads, over
from snhkit.data.reading.times import days_of
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region
from snhkit.geometry.histogram import Cells
from snhkit.geometry.windows import windows

__all__ = [
    "BoundedRecords",
    "Choice",
    "Passes",
    "SpillFolder",
    "Spilled",
    "ThreadPasses",
    "bucket_count",
    "count_kept",
    "keep",
    "spilled",
]

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
class SpillFolder:
    """The folder and the settings for sorting records into files by person.

    Parameters
    ----------
    path : Path
        The folder. On a cluster, all workers must see it.
    region : Region
        The region; records outside are dropped.
    buckets : int
        The number of files (buckets) into which each call of ``spilled`` sorts records, a power of
        two.
    window_days : int, optional
        The number of days in a window, if the unit of privacy is a person in a window; by default
        all records of a person are one unit.
    """

    path: Path
    region: Region
    buckets: int
    window_days: int | None = None


@dataclass(frozen=True)
class Spilled:
    """The files that a call of ``spilled`` wrote, and the numbers of rows kept and left out.

    Parameters
    ----------
    paths : list of Path
        The files. A name such as "0003-000012.records" contains the number of the bucket, 3, and
        the argument ``first`` of the call, 12.
    seen : Seen
        The numbers of rows kept and left out.
    """

    paths: list[Path]
    seen: Seen


class Spill(PlaceCounter):
    """A counter that writes records to files, sorted by person; threads share the files.

    Parameters
    ----------
    to : SpillFolder
        The folder of the files, and the settings.
    task : int
        The argument ``first`` of ``spilled``, which is part of the files' names.
    lock : Lock
        The lock that is held while files are written.
    """

    def __init__(self, to: SpillFolder, task: int, lock: Any) -> None:
        super().__init__(to.region, 0)
        self._to, self._task, self._lock = to, task, lock

    def add(
        self,
        lat: NDArray[np.float64],
        lon: NDArray[np.float64],
        person: NDArray[np.int64] | None = None,
        time: NDArray[np.int64] | None = None,
    ) -> tuple[int, NDArray[np.int64]]:
        """Write records; return how many lie in the region, and the indices of unusable rows."""
        usable, inside, xy = self.inside(lat, lon)
        assert person is not None  # noqa: S101
        group = person[usable][inside].view(np.uint64)
        if self._to.window_days is not None:
            if time is None:
                raise InputError(
                    "a unit of privacy with windows of days, such as 'user-day', needs the time of "
                    "each record; give time=..., the name of the column of times."
                )
            nth = windows(days_of(time[usable][inside]), self._to.window_days)
            group = _spread(group ^ _spread(nth.view(np.uint64)))
        buckets = self._to.buckets
        bucket = _spread(group) >> np.uint64(64 - buckets.bit_length() + 1)
        order = np.argsort(bucket, kind="stable")
        rows = np.empty(order.size, _RECORD)
        rows["person"], rows["x"], rows["y"] = group[order].view(np.int64), *xy[order].T
        ends = np.searchsorted(bucket[order], np.arange(buckets + 1, dtype=np.uint64))
        with self._lock:
            for at in np.flatnonzero(np.diff(ends)):
                with _file(self._to, int(at), self._task).open("ab") as file:
                    file.write(rows[ends[at] : ends[at + 1]].tobytes())
        return len(xy), np.flatnonzero(~usable)


def spilled(
    parts: Sequence[Part], first: int, to: SpillFolder, threads: int | None = None
) -> Spilled:
    """Sort the records in some parts of a source into files by person.

    A second call for the same parts replaces the files of the first call.

    Parameters
    ----------
    parts : sequence of Part
        The parts to read.
    first : int
        The position, in the source, of the first of these parts. The names of the files contain it.
    to : SpillFolder
        The folder of the files, and the settings.
    threads : int, optional
        Number of threads; by default one for each available core, at most 8.
    """
    paths = [_file(to, bucket, first) for bucket in range(to.buckets)]
    for path in paths:
        path.unlink(missing_ok=True)
    lock = threading.Lock()
    make = partial(Spill, to, first, lock)
    _, seen = over(parts, make, "Sorting by person", first, threads)
    return Spilled([path for path in paths if path.exists()], seen)


def keep(folder: Path, bucket: str, names: Sequence[str], choose: Choice) -> None:
    """Choose records from several files, and write the chosen coordinates to one file.

    The new file gets its final name only when it is complete.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    bucket : str
        The name of the new file, without the suffix .kept.
    names : sequence of str
        The names of the files to read, which together hold all records of some people. They are
        not deleted, so that the call can be repeated if a worker of a cluster is lost.
    choose : Choice
        The function that chooses the records to keep.
    """
    rows = np.concatenate([np.fromfile(folder / name, _RECORD) for name in names])
    xy = np.stack([rows["x"], rows["y"]], axis=1)
    partial_file = folder / f"{bucket}.{os.getpid()}.part"
    xy[choose(rows["person"], xy)].tofile(partial_file)
    partial_file.replace(folder / f"{bucket}.kept")


class BoundedRecords(PassCounts):
    """Exact counts of a bounded number of records of each person.

    The records are read once and written to temporary files, sorted by person. The records that
    ``choose`` selects from each file are then written to another file, and counts read these files.
    Only the account that runs the program can read the files, which are deleted with this object.
    They need 24 bytes of disk space for each sorted record, and 16 bytes for each selected record.

    Parameters
    ----------
    source : Source
        The rows, with a user id in each.
    region : Region
        The region in which records are counted.
    choose : Choice
        The function that chooses the records to keep.
    window_days : int, optional
        The number of days in a window, if the unit of privacy is a person in a window; by default
        all records of a person are one unit.
    spill : str or path, optional
        The folder in which a folder for the files is made; by default the system's folder of
        temporary files.
    passes : Passes, optional
        Reads the source in threads or on a cluster; by default in threads of this process.
    told : callable, optional
        Called with the numbers of rows kept and left out (``Seen``), before anything is counted.
    """

    def __init__(
        self,
        source: Source,
        region: Region,
        choose: Choice,
        window_days: int | None = None,
        spill: Any = None,
        passes: "Passes | None" = None,
        told: Callable[[Seen], object] = lambda seen: None,
    ) -> None:
        self._passes: Passes = passes or ThreadPasses()
        folder = Path(tempfile.mkdtemp(prefix="snhkit-", dir=spill))
        self._folder = folder
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        try:
            to = SpillFolder(folder, region, bucket_count(source.size), window_days)
            source.refuse_changed()
            seen = self._passes.spill(source, to, choose)
            source.refuse_changed()
            told(seen)
            for path in folder.glob("*.records"):
                path.unlink()
            super().__init__(region)
        except BaseException:
            self._finalizer()
            raise

    def _total(self, what: Cells | RangeQueries) -> NDArray[np.integer]:
        return self._passes.count_kept(sorted(self._folder.glob("*.kept")), what)


class Passes(Protocol):
    """The interface of objects that read all rows of a source, in threads or on a cluster."""

    def count(self, source: Source, what: Cells | RangeQueries) -> tuple[NDArray[np.integer], Seen]:
        """Return the number of records in each of c cells or boxes, shape (c,).

        Also return the numbers of rows kept and left out.
        """
        ...

    def spill(self, source: Source, to: SpillFolder, choose: Choice) -> Seen:
        """Write the records that ``choose`` selects to files.

        Return the numbers of rows kept and left out.
        """
        ...

    def count_kept(self, paths: list[Path], what: Cells | RangeQueries) -> NDArray[np.integer]:
        """Return how many of the records that ``spill`` wrote are in each cell or box."""
        ...


class ThreadPasses:
    """An object that reads all rows of a source in several threads of this process."""

    def count(self, source: Source, what: Cells | RangeQueries) -> tuple[NDArray[np.integer], Seen]:
        """Return the number of records in each of c cells or boxes, shape (c,).

        Also return the numbers of rows kept and left out.
        """
        counter, seen = over(source.parts, counter_of(what))
        return counter.total, seen

    def spill(self, source: Source, to: SpillFolder, choose: Choice) -> Seen:
        """Write the records that ``choose`` selects to files.

        Return the numbers of rows kept and left out.
        """
        done = spilled(source.parts, 0, to)
        for path in done.paths:
            keep(to.path, path.name.split("-")[0], [path.name], choose)
            path.unlink()
        return done.seen

    def count_kept(self, paths: list[Path], what: Cells | RangeQueries) -> NDArray[np.integer]:
        """Return how many of the records that ``spill`` wrote are in each cell or box."""
        return count_kept(paths, what)


def count_kept(
    paths: list[Path], what: Cells | RangeQueries, threads: int | None = None
) -> NDArray[np.integer]:
    """Return how many of the records in files from ``keep`` are in each cell or box."""

    def take(counter: Any, read: Callable[[], NDArray[np.float64]]) -> Iterator[None]:
        counter.add_places(read())
        yield

    def blocks() -> Iterator[Callable[[], NDArray[np.float64]]]:
        for path in paths:
            for start in range(0, path.stat().st_size // 16, _PLACES):
                yield partial(_places, path, start)

    states = in_threads(blocks(), counter_of(what), take, threads)
    counter: Any = states.pop()
    for other in states:
        counter.merge(other)
    return counter.total


def _file(to: SpillFolder, bucket: int, task: int) -> Path:
    return to.path / f"{bucket:04}-{task:06}.records"


def _places(path: Path, start: int) -> NDArray[np.float64]:
    return np.fromfile(path, float, 2 * _PLACES, offset=16 * start).reshape(-1, 2)


def _spread(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each 64-bit word; its high bits depend on all bits of the word."""
    words = (words ^ (words >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return words ^ (words >> np.uint64(32))
