"""A pass: every row of a source is read once, by threads here or by the workers of a cluster."""

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow
from numpy.typing import NDArray

from snhkit.data.counting.counters import Counter
from snhkit.data.sources.chunk import Chunk
from snhkit.data.sources.opening import Source
from snhkit.data.sources.report import FIRST_ROWS, Seen, defect, possible
from snhkit.data.sources.times import NO_TIME
from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import Region
from snhkit.progress import steps

if TYPE_CHECKING:
    from distributed import Client

_MOST_THREADS = 8
_TASKS_PER_WORKER, _RETRIES = 4, 3
_SAMPLE = 2**10  # rows of a chunk that are also read with latitude and longitude exchanged


C = TypeVar("C", bound=Counter)
T = TypeVar("T")
Take = Callable[[Any, Seen, int, Any], None]
"""A function of a counter, what it has seen, the number of a part and an item of that part."""


def over(
    parts: Sequence[Any],
    make: Callable[[], C],
    take: Take,
    what: str = "",
    cluster: "Cluster | None" = None,
) -> tuple[C, Seen]:
    """Read all parts once; return a counter with the results of all, and what was seen.

    ``take`` gives the items of each block to a counter that ``make`` returned; ``what`` is shown.
    """
    counter: C | None = None
    seen = Seen()
    with ExitStack() as stack:
        # Here and not in a thread, since the filters of warnings belong to all threads.
        stack.enter_context(warnings.catch_warnings(action="ignore"))
        advance = stack.enter_context(steps(len(parts), what, "part")) if what else lambda: None
        if cluster is None:  # threads take blocks from one queue
            queue = _Shared(_blocks(parts, 0, advance))
            pool = stack.enter_context(ThreadPoolExecutor(thread_count()))
            stack.callback(queue.stop)  # runs before the pool waits for its threads
            for other, others in completed(
                pool, [partial(_pulled, queue, make, take)] * thread_count()
            ):
                seen.merge(others)
                if counter is None:
                    counter = other
                else:
                    counter.merge(other.result())
        else:  # each worker reads some parts, and returns what its counter found, never rows
            cuts = np.linspace(0, len(parts), min(len(parts), cluster.tasks()) + 1).astype(int)
            tasks = [partial(_read, parts[a:b], a, make, take) for a, b in pairwise(cuts.tolist())]
            counter = make()
            for result, others in cluster.completed(tasks):
                seen.merge(others)
                counter.merge(_unpacked(result))
    pyarrow.default_memory_pool().release_unused()  # decoded blocks
    assert counter is not None  # noqa: S101
    return counter, seen


def completed(executor: Executor, tasks: Sequence[Callable[[], T]]) -> Iterator[T]:
    """Yield the results of tasks as they are completed; the first failure is raised."""
    for future in as_completed([executor.submit(task) for task in tasks]):
        yield future.result()


class Cluster:
    """The workers that ``client`` is connected to, which can read the source's files."""

    def __init__(self, client: "Client", source: Source) -> None:
        if not source.places:
            raise InputError(
                f"{source.name} exists in this process only, so workers cannot read it; "
                "write the records to files that all workers can read, and pass the "
                "files' path."
            )
        self._client = client

    def tasks(self) -> int:
        """Return into how many tasks to divide a pass."""
        return _TASKS_PER_WORKER * max(len(self._client.scheduler_info(n_workers=-1)["workers"]), 1)

    def completed(self, tasks: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield the results of tasks as workers complete them; a lost worker's tasks run again."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        scheduler = self._client.scheduler
        address = "the Dask scheduler" if scheduler is None else scheduler.address
        try:
            # Identical tasks must run again in the next pass, because the files may have changed.
            executor = self._client.get_executor(pure=False, retries=_RETRIES)
            yield from completed(executor, tasks)
        except KilledWorker as failure:
            raise SnhkitError(
                f"{address}: workers ran out of memory or stopped repeatedly during one "
                f"task ({failure}); give each worker more memory. The ledger shows what "
                "was charged."
            ) from None
        except (
            CommClosedError, FutureCancelledError, CancelledError, TimeoutError, OSError,
        ) as failure:  # fmt: skip
            told = str(failure).partition("\n")[0].rpartition("reason: ")[2]
            reason = told.rstrip(".")[:160] or type(failure).__name__
            raise SnhkitError(
                f"{address}: the Dask scheduler was lost before the counts were complete "
                f"({reason}). Nothing was released; the ledger shows what was charged. "
                "Start the scheduler again and repeat the call."
            ) from None


def thread_count() -> int:
    """Return the number of threads of a pass: one for each available core, at most 8."""
    usable = getattr(os, "sched_getaffinity", None)
    return min(len(usable(0)) if usable else os.cpu_count() or 1, _MOST_THREADS)


def _read(parts: Sequence[Any], first: int, make: Callable[[], Any], take: Take) -> Any:
    """Read parts of a source, the first of which has the number ``first``, on a worker."""
    counter, seen = _pulled(_Shared(_blocks(parts, first, lambda: None)), make, take)
    return _packed(counter.result()), seen


def _pulled(queue: "_Shared[Any]", make: Callable[[], Any], take: Take) -> tuple[Any, Seen]:
    counter, seen = make(), Seen()
    try:
        while (block := queue.next()) is not None:
            for item in block[1]():
                take(counter, seen, block[0], item)
                if queue.stopped:
                    break
    except BaseException:
        queue.stop()
        raise
    return counter, seen


def _blocks(
    parts: Sequence[Any], first: int, advance: Callable[[], object]
) -> Iterator[tuple[int, Any]]:
    for number, part in enumerate(parts, first):
        for block in part.blocks():
            yield number, block
        advance()


class _Shared(Generic[T]):
    """An iterator shared by several threads; after an error in one thread, it ends for all."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items, self._lock = items, threading.Lock()
        self.stopped = False

    def next(self) -> T | None:
        with self._lock:
            return None if self.stopped else next(self._items, None)

    def stop(self) -> None:
        self.stopped = True


def _packed(result: Any) -> Any:
    """Return counts without zeros if these take more space; other results as they are."""
    if isinstance(result, np.ndarray):
        held = np.count_nonzero(result)
        if held * (result.itemsize + 4) < result.nbytes:
            at = np.flatnonzero(result).astype(np.int32)
            return result.size, at, result[at]
    return result


def _unpacked(result: Any) -> Any:
    if isinstance(result, tuple):
        size, at, counts = result
        result = np.zeros(size, counts.dtype)
        result[at] = counts
    return result


def take_rows(
    region: Region, ids_required: bool, counter: Counter, seen: Seen, part: int, chunk: Chunk
) -> None:
    """Give the rows of a chunk to a counter, and note which are unusable, and why."""
    lat, lon, beside = chunk.lat, chunk.lon, chunk.beside
    gaps: NDArray[np.bool_] | None = None
    if isinstance(person := beside.get("person"), np.ndarray):
        gaps = person == 0 if ids_required else None
        seen.ids.add(chunk.texts, person, lambda row: chunk.value(row, "user"))
    if isinstance(time := beside.get("time"), np.ndarray):
        gone = time == NO_TIME
        gaps = gone if gaps is None else gaps | gone
    at: NDArray[np.int64] | None = None
    lost: list[NDArray[np.int64]] = []
    if gaps is not None and gaps.any():
        lost.append(np.flatnonzero(gaps))
        at = np.flatnonzero(~gaps)
        lat, lon = lat[at], lon[at]
        beside = {name: column[at] for name, column in beside.items()}
    inside, bad = counter.add(lat, lon, beside, (part, chunk.first))
    lost.append(bad if at is None else at[bad])
    unusable = np.sort(np.concatenate(lost))
    seen.rows += chunk.rows
    seen.inside += inside
    seen.unusable += unusable.size + len(chunk.malformed)
    seen.times |= {chunk.unit} - {""}
    seen.families |= {chunk.family} - {""}
    seen.sample = seen.sample + _sample(region, chunk, inside)
    if unusable.size or chunk.malformed:
        _note_unusable(seen, part, chunk, unusable, ids_required)


def _sample(region: Region, chunk: Chunk, inside: int) -> NDArray[np.int64]:
    lat, lon = chunk.lat[:_SAMPLE], chunk.lon[:_SAMPLE]
    if 2 * inside > len(chunk.lat):
        return np.array([len(lat), len(lat), len(lat), 0, 0])
    counts = [len(lat)]
    inside_known = []
    for one, other in ((lat, lon), (lon, lat)):
        known = possible(one, other)
        inside_known += [region.contains(region.to_xy(one[known], other[known])).sum(), known.sum()]
    return np.array(counts + inside_known)


def _note_unusable(
    seen: Seen, part: int, chunk: Chunk, unusable: NDArray[np.int64], ids_required: bool
) -> None:
    placed = possible(chunk.lat[unusable], chunk.lon[unusable])
    known = np.ones(unusable.size, bool)
    if ids_required and isinstance(person := chunk.beside.get("person"), np.ndarray):
        known = person[unusable] != 0
    seen.causes.update(
        place=int((~placed).sum()),
        user=int((placed & ~known).sum()),
        time=int((placed & known).sum()),
        fields=len(chunk.malformed),
    )
    told = [(part, number, why) for number, why in list(chunk.malformed.items())[:FIRST_ROWS]]
    for row, user_known in zip(unusable[:FIRST_ROWS].tolist(), known.tolist(), strict=False):
        number = chunk.number(row)
        if len(seen.first) < FIRST_ROWS or (part, number) < seen.first[-1][:2]:
            lat, lon = float(chunk.lat[row]), float(chunk.lon[row])
            why = defect(lat, lon, user_known, partial(chunk.value, row))
            told.append((part, number, why))
    seen.first = sorted(seen.first + told)[:FIRST_ROWS]
