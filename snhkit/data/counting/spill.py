"""Sorting of records into files: by person, to keep a bounded number of each, and by stratum."""

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
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.data.counting.counters import Beside, Counter, Order
from snhkit.data.counting.passes import Cluster, completed, over, take_rows, thread_count
from snhkit.data.sources.opening import Source
from snhkit.data.sources.report import Seen
from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.geometry.points import DAY_S, windows
from snhkit.geometry.strata import LEFT_OUT, By
from snhkit.privacy.unit import mixed

_PLACES = 2**18  # places that are read at a time
_BUCKET_BYTES = 2**25  # approximate size of a bucket
_MOST_BUCKETS = 1024
_UNKNOWN = 2**32  # bytes, assumed for a source whose size is unknown

Choice = Callable[[NDArray[np.int64], NDArray[np.float64]], NDArray[np.int64]]
"""Chooses which of n records are kept, from their persons (n,) and places in metres (n, 2).

It returns their indices. The choice for a person does not depend on the records of other people.
"""


def bucket_count(source_bytes: int) -> int:
    """Return into how many files to sort the records of a source, a power of two up to 1,024."""
    wanted = max(16, (source_bytes or _UNKNOWN) // _BUCKET_BYTES)
    return min(1 << (wanted - 1).bit_length(), _MOST_BUCKETS)


@dataclass(frozen=True)
class Spill:
    """Where and how records are written; by stratum if not by person."""

    folder: Path
    region: Region
    buckets: int
    by: By | None
    people: bool
    window_days: int | None


class Spiller(Counter):
    """A counter that appends records to files of its own, one for each of several buckets.

    The files of a task that was lost and runs again do no harm, since only results name files.
    """

    def __init__(self, to: Spill) -> None:
        super().__init__(to.region)
        self._to, self._token = to, uuid4().hex
        self.names: set[str] = set()

    def add_kept(self, xy: Float[np.ndarray, "n 2"], beside: Beside, order: Order) -> None:
        """Write n records; without people, those that are in a stratum."""
        to, stratum = self._to, beside.get("stratum")
        if not to.people:
            assert isinstance(stratum, np.ndarray)  # noqa: S101
            inside = stratum != LEFT_OUT
            self._append(stratum[inside], xy[inside], "kept")
            return
        group = self._groups(beside)
        rows = np.empty(len(xy), _record(to.by))
        rows["person"], rows["x"], rows["y"] = group.view(np.int64), *xy.T
        if to.by is not None:
            rows["stratum"] = stratum
        bits = to.buckets.bit_length() - 1
        self._append(mixed(group) >> np.uint64(64 - bits), rows, "records")

    def _groups(self, beside: Beside) -> NDArray[np.uint64]:
        """Return a number for the person of each record, or for the person in a window."""
        person, time = beside["person"], beside.get("time")
        assert isinstance(person, np.ndarray)  # noqa: S101
        group = person.view(np.uint64)
        if self._to.window_days is None:
            return group
        if not isinstance(time, np.ndarray):
            raise InputError(
                "a unit of privacy with windows of days, such as 'user-day', needs the time of "
                "each record; give time=..., the name of the column of times."
            )
        nth = windows(time // DAY_S, self._to.window_days)
        # A person's number is ``mixed`` of a whole id: without the outer hash of it, the person 7
        # in window 9 and the person 9 in window 7 would be one.
        return mixed(mixed(group) + mixed(nth.view(np.uint64)))

    def _append(self, bucket: NDArray[np.integer], rows: NDArray, suffix: str) -> None:
        """Write n rows; the bucket of each is below ``Spill.buckets``."""
        bucket = bucket.astype(np.uint16)  # which numpy sorts in linear time
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(self._to.buckets + 1))
        for at in np.flatnonzero(np.diff(ends)):
            name = f"{self._token}.{at}.{suffix}"
            self.names.add(name)
            with (self._to.folder / name).open("ab") as file:
                file.write(rows[order[ends[at] : ends[at + 1]]].tobytes())

    def result(self) -> Any:
        """Return the names of the files."""
        return self.names

    def merge(self, result: Any) -> None:
        """Add the files of another counter."""
        self.names |= result


class Sorted:
    """Records of a source, in a folder in ``spill`` that is deleted with this object."""

    def __init__(
        self, source: Source, region: Region, spill: Any = None, cluster: Cluster | None = None,
        people: bool = True, window_days: int | None = None,
    ) -> None:  # fmt: skip
        self._cluster, self._by = cluster, source.rules.by
        self.folder = Path(tempfile.mkdtemp(prefix="snhkit-", dir=spill))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        size = sum(place.size for place in source.places)
        buckets = len(self._by) if self._by and not people else bucket_count(size)
        to = Spill(self.folder, region, buckets, self._by, people, window_days)
        take = partial(take_rows, region, source.rules.ids_required)
        what = "Sorting by person" if people else "Dividing"
        try:
            source.refuse_changed()
            writer, self.seen = over(source.parts, partial(Spiller, to), take, what, cluster)
            source.refuse_changed()
        except BaseException:
            self._finalizer()
            raise
        self._names = sorted(writer.names)

    def keep(self, choose: Choice) -> None:
        """Keep the records that ``choose`` selects, in new files, and delete the sorted ones."""
        done = self._each(partial(keep, self.folder, self._by, choose=choose))
        for path in self.folder.glob("*.records"):  # also those of lost tasks
            path.unlink()
        self._names = sorted(name for names in done for name in names)

    def parts(self, stratum: int = 0) -> list["KeptPart"]:
        """Return the files of kept records; those of a stratum, if there are strata."""
        mine = f".{stratum}.kept"
        return [KeptPart(self.folder / name) for name in self._names if name.endswith(mine)]

    def of_people(self) -> NDArray[np.int64]:
        """Return the number of records of each of p people, or of people in windows, shape (p,)."""
        return np.concatenate([np.zeros(0, np.int64), *self._each(partial(_tally, self.folder))])

    def _each(self, task: Callable[[str, list[str]], Any]) -> list[Any]:
        """Return the results of a task for each bucket of people and the names of its files."""
        buckets: dict[str, list[str]] = {}
        for name in self._names:
            buckets.setdefault(name.split(".")[1], []).append(name)
        tasks = [partial(task, bucket, names) for bucket, names in buckets.items()]
        try:
            if self._cluster is not None:
                return list(self._cluster.completed(tasks))
            with ThreadPoolExecutor(thread_count()) as pool:
                return list(completed(pool, tasks))
        except BaseException:
            self._finalizer()
            raise


def keep(
    folder: Path, by: By | None, bucket: str, names: Sequence[str], choose: Choice
) -> list[str]:
    """Write chosen records by stratum; old files stay, as a lost worker's call is repeated."""
    rows = _read(folder, names, by)
    xy = np.stack([rows["x"], rows["y"]], axis=1)
    kept = choose(rows["person"], xy)
    stratum = np.zeros(len(kept), np.int64) if by is None else rows["stratum"][kept]
    made = []
    for number in np.unique(stratum[stratum != LEFT_OUT]).tolist():
        partial_file = folder / f"{bucket}.{os.getpid()}.{uuid4().hex}.part"
        xy[kept[stratum == number]].tofile(partial_file)
        made.append(f"{bucket}.{number}.kept")
        partial_file.replace(folder / made[-1])
    return made


def _tally(folder: Path, bucket: str, names: Sequence[str]) -> NDArray[np.int64]:
    return np.unique(_read(folder, names, None)["person"], return_counts=True)[1]


def _read(folder: Path, names: Sequence[str], by: By | None) -> NDArray[Any]:
    return np.concatenate([np.fromfile(folder / name, _record(by)) for name in names])


def _record(by: By | None) -> np.dtype[Any]:
    """Return the type of a record in a file that is sorted by person."""
    stratum = [] if by is None else [("stratum", "<i8")]
    return np.dtype([("person", "<i8"), ("x", "<f8"), ("y", "<f8"), *stratum])


@dataclass(frozen=True)
class KeptPart:
    """A file of kept records; its blocks yield their places in metres, shape (n, 2)."""

    path: Path

    @property
    def n(self) -> int:
        """The number of records."""
        return self.path.stat().st_size // 16

    def blocks(self) -> Iterator[Callable[[], Iterator[NDArray[np.float64]]]]:
        """Yield, for each block of places, a function that reads them."""
        for start in range(0, self.n, _PLACES):
            yield partial(self._places, start)

    def _places(self, start: int) -> Iterator[NDArray[np.float64]]:
        yield np.fromfile(self.path, float, 2 * _PLACES, offset=16 * start).reshape(-1, 2)


def take_places(counter: Any, seen: Seen, part: int, xy: NDArray[np.float64]) -> None:
    """Give places in metres to a counter; see ``passes.over``."""
    counter.add_places(xy)
