"""The workers of a Dask cluster as an executor; they read the records and return only counts.

Noise is drawn once, by the process that owns the ledger. If workers drew noise, the noise of all
workers would add up, a task that runs twice after a failure would publish two noisy versions of the
same counts, and the source of entropy on every worker would have to be trusted.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, TypeVar

from snhkit.data.counting.passes import completed
from snhkit.data.sources.opening import Source
from snhkit.errors import InputError, SnhkitError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Cluster"]

_TASKS_PER_WORKER = 4
_RETRIES = 3
T = TypeVar("T")


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
