"""Counting on a Dask cluster, whose workers read the records and return only counts.

Workers return exact counts, which are added up in a tree. Noise is drawn once, by the process that
owns the ledger. If workers drew noise, the noise of all workers would add up, a task that runs
twice after a failure would publish two noisy versions of the same counts, and the source of entropy
on every worker would have to be trusted.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.chunk import Part, Source
from snhkit.data.counting.counters import counter_of
from snhkit.data.counting.passes import Seen, over
from snhkit.data.counting.spill import (
    Choice,
    Spilled,
    SpillFolder,
    count_kept,
    keep,
    spilled,
)
from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import RangeQueries
from snhkit.geometry.histogram import Cells

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ClusterPasses", "Totals"]

_TASKS_PER_WORKER = 4
_FAN_IN = 8  # totals that one task adds up
_RETRIES = 3
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Totals:
    """The counts of one task, and the numbers of rows that the task kept and left out.

    Only counts above 0 are stored if this takes less memory.

    Parameters
    ----------
    size : int
        The number of counts.
    at : ndarray of int, optional
        The positions of the stored counts among all counts, if zeros are left out.
    counts : ndarray of int
        The stored counts.
    seen : Seen
        The numbers of rows kept and left out.
    """

    size: int
    at: NDArray[np.integer] | None
    counts: NDArray[np.integer]
    seen: Seen

    @classmethod
    def of(cls, counts: NDArray[np.integer], seen: Seen) -> "Totals":
        """Return the totals of a task, without zeros if this takes less memory."""
        if np.count_nonzero(counts) * (counts.itemsize + 4) < counts.nbytes:
            at = np.flatnonzero(counts).astype(np.int32)
            return cls(counts.size, at, counts[at], seen)
        return cls(counts.size, None, counts, seen)

    @classmethod
    def merged(cls, several: "Sequence[Totals]") -> "Totals":
        """Return the totals of several tasks, added up."""
        total, seen = np.zeros(several[0].size, np.int64), Seen()
        for one in several:
            total[slice(None) if one.at is None else one.at] += one.counts
            seen.merge(one.seen)
        return cls.of(total, seen)

    def full(self) -> NDArray[np.int64]:
        """Return all counts with zeros, shape (size,)."""
        total = np.zeros(self.size, np.int64)
        total[slice(None) if self.at is None else self.at] = self.counts
        return total


class ClusterPasses:
    """Passes over a source of records, made by the workers of a Dask cluster.

    A pass reads all rows once.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster, whose workers can read the source's files.
    """

    def __init__(self, client: "Client") -> None:
        self._client = client

    def count(self, source: Source, what: Cells | RangeQueries) -> tuple[NDArray[np.int64], Seen]:
        """Return the number of records in each of c cells or boxes, shape (c,).

        Also return the numbers of rows kept and left out.
        """
        if any(type(part).__name__ == "TablePart" for part in source.parts):
            raise InputError(
                f"{source.name} exists in this process only, so workers cannot read it; "
                "write the records to files that all workers can read, and pass the "
                "files' path."
            )
        tasks = [
            partial(_count_parts, parts, first, what) for first, parts in self._tasks(source.parts)
        ]
        done = self._reduced(tasks)
        return done.full(), done.seen

    def spill(self, source: Source, to: SpillFolder, choose: Choice) -> Seen:
        """Sort records into files by user, and keep only the chosen records of each user.

        The workers write the files, and send only the files' paths to this process.
        """
        tasks = [
            partial(_spill_parts, parts, first, to) for first, parts in self._tasks(source.parts)
        ]
        seen = Seen()
        names: list[list[str]] = []
        for one in self._gathered(tasks):
            seen.merge(one.seen)
            names.append([path.name for path in one.paths])
        buckets: dict[str, list[str]] = {}
        for name in sorted(name for task in names for name in task):
            buckets.setdefault(name.split("-")[0], []).append(name)
        self._gathered(
            [partial(keep, to.path, bucket, files, choose) for bucket, files in buckets.items()]
        )
        return seen

    def count_kept(self, paths: list[Path], what: Cells | RangeQueries) -> NDArray[np.int64]:
        """Return how many of the records that ``spill`` wrote are in each of c cells or boxes."""
        groups = self._tasks(paths)
        return self._reduced([partial(_count_kept, group, what) for _, group in groups]).full()

    def close(self) -> None:
        """Close the connection to the cluster, which continues to run."""
        self._client.close()

    def _tasks(self, items: Sequence[T]) -> list[tuple[int, Sequence[T]]]:
        with self._connected():
            workers = max(len(self._client.scheduler_info(n_workers=-1)["workers"]), 1)
        cuts = np.linspace(0, len(items), min(len(items), _TASKS_PER_WORKER * workers) + 1)
        ends = cuts.astype(int).tolist()
        return [(a, items[a:b]) for a, b in pairwise(ends)]

    def _gathered(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        with self._connected():
            futures = [self._submit(task) for task in tasks]
            gathered: Any = self._client.gather(futures)
            return list(gathered)

    def _reduced(self, tasks: Sequence[Callable[[], Totals]]) -> Totals:
        with self._connected():
            futures = [self._submit(task) for task in tasks]
            while len(futures) > 1:
                groups = [futures[i : i + _FAN_IN] for i in range(0, len(futures), _FAN_IN)]
                futures = [self._submit(Totals.merged, group) for group in groups]
            return futures[0].result()

    def _submit(self, task: Callable[..., Any], *inputs: Any) -> Any:
        # Identical tasks must run again in the next pass, because the files may have changed.
        return self._client.submit(task, *inputs, pure=False, retries=_RETRIES)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        scheduler = self._client.scheduler
        address = "the Dask scheduler" if scheduler is None else scheduler.address
        try:
            yield
        except KilledWorker as failure:
            raise SnhkitError(
                f"{address}: workers ran out of memory or stopped repeatedly during one "
                f"task ({failure}); give each worker more memory. The ledger shows what "
                "was charged."
            ) from None
        except (CommClosedError, FutureCancelledError, TimeoutError, OSError) as failure:
            told = str(failure).partition("\n")[0].rpartition("reason: ")[2]
            reason = told.rstrip(".")[:160] or type(failure).__name__
            raise SnhkitError(
                f"{address}: the Dask scheduler was lost before the counts were complete "
                f"({reason}). Nothing was released; the ledger shows what was charged. "
                "Start the scheduler again and repeat the call."
            ) from None


def _count_parts(parts: Sequence[Part], first: int, what: Cells | RangeQueries) -> Totals:
    counter, seen = over(parts, counter_of(what), first_part=first, threads=1)
    return Totals.of(counter.total, seen)


def _spill_parts(parts: Sequence[Part], first: int, to: SpillFolder) -> Spilled:
    return spilled(parts, first, to, threads=1)


def _count_kept(paths: Sequence[Path], what: Cells | RangeQueries) -> Totals:
    return Totals.of(count_kept(list(paths), what, threads=1), Seen())
