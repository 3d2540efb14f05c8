"""Builds that report their progress and that a person can cancel."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry.strata import By
from snhkit.privacy import written
from snhkit.progress import Step, watched
from snhkit.widgets import teaching
from snhkit.widgets.session import Built, Session

_PATIENCE_S = 0.5  # a cancelled build gets at most twice this time to end, and is then abandoned
_LEAST_SHARE = 0.05  # until this fraction is completed, the remaining time is not estimated

Say = Callable[[float, str], object]


class Cancelled(SnhkitError):  # noqa: N818 - an event, not an error
    """Raised if a person cancels a build; the message gives the epsilon that stays spent."""


@dataclass(frozen=True)
class Order:
    """Releases to build by several methods, one after the other, each for ``epsilon``."""

    session: Session
    methods: Sequence[str]
    epsilon: float
    sizes_m: tuple[float, float]
    by: By | None = None  # strata, all of which together cost epsilon

    def __post_init__(self) -> None:
        if not self.methods:
            raise InputError("No method is ticked: tick at least one. Nothing was spent.")
        low, high = self.sizes_m
        if not 0 < low <= high:
            raise InputError(
                f"The smallest box size, {low:g} m, must not exceed the largest, {high:g} m. "
                "Nothing was spent."
            )


class Building:
    """Runs the builds of one ``Order`` at a time.

    A build in another thread (``run_aside``) can be cancelled at any point: the thread is abandoned
    within about a second, and its release discarded. Epsilon that was charged stays spent, because
    noise may have been drawn.
    """

    def __init__(self, say: Say, built: Callable[[Session, Built], object]) -> None:
        self._say, self._built = say, built
        self._busy, self._stop = threading.Lock(), threading.Event()
        self._share, self._what = 0.0, ""

    @property
    def running(self) -> bool:
        """True while a build is running."""
        return self._busy.locked()

    def cancel(self) -> None:
        """Cancel the build that is running."""
        self._stop.set()

    def said(self, seconds: float) -> str:
        """Return the current step, the ``seconds`` since the beginning, and the expected rest."""
        if self._stop.is_set():
            return "Stopping …"
        if self._share < _LEAST_SHARE:
            return f"{self._what} · {seconds:.0f} s"
        rest = seconds * (1 - self._share) / self._share
        return f"{self._what} · {seconds:.0f} s, about {rest:.0f} s more"

    def run(self, order: Order) -> None:
        """Build all methods of an order before returning; see ``Explorer.build``."""
        with self._alone() as stop:
            for k in range(len(order.methods)):
                self._built(order.session, self._one(order, k, self._say, stop))

    async def run_aside(self, order: Order) -> None:
        """Build all methods of an order in another thread; raise the same exceptions as ``run``."""
        say = partial(asyncio.get_running_loop().call_soon_threadsafe, self._say)
        with self._alone() as stop:
            for k in range(len(order.methods)):
                entries = len(order.session.dataset.ledger.entries)
                task = asyncio.ensure_future(asyncio.to_thread(self._one, order, k, say, stop))
                while not (await asyncio.wait({task}, timeout=_PATIENCE_S))[0]:
                    if stop.is_set() and not (await asyncio.wait({task}, timeout=_PATIENCE_S))[0]:
                        task.add_done_callback(_unheeded)
                        raise _cancelled(order, k, entries)
                self._built(order.session, task.result())

    @contextmanager
    def _alone(self) -> Iterator[threading.Event]:
        if not self._busy.acquire(blocking=False):
            raise InputError("A build is running: wait until it ends, or cancel the build.")
        # A new event, since an abandoned thread must not miss that its build was cancelled.
        self._stop, self._share = threading.Event(), 0.0
        try:
            yield self._stop
        finally:
            self._busy.release()

    def _one(self, order: Order, k: int, say: Say, stop: threading.Event) -> Built:
        key, total = order.methods[k], len(order.methods)
        title, ledger = order.session.method(key).title, order.session.dataset.ledger
        which = f"{title} ({k + 1} of {total})" if total > 1 else title
        if stop.is_set():
            raise Cancelled(f"The build of {title} was cancelled before it spent epsilon.")

        def tell(share: float, text: str) -> None:
            self._share, self._what = share, text
            say(share, text)

        def watch(step: Step) -> None:
            if stop.is_set():
                raise Cancelled
            tell(
                (k + step.done / step.total) / total,
                f"{which}: {step.what}, {step.done} of {step.total}",
            )

        tell(k / total, f"{which} …")
        entries = len(ledger.entries)
        try:
            with watched(watch):
                built = order.session.build(key, order.epsilon, order.sizes_m, order.by)
                if order.session.invented and order.sizes_m[1] <= order.session.region.side_m:
                    teaching.prepare(order.session, order.sizes_m)
                return built
        except Cancelled:
            raise _cancelled(order, k, entries) from None


def _cancelled(order: Order, k: int, entries: int) -> Cancelled:
    """Return the exception for the cancelled build of the order's k-th method.

    ``entries`` is the number of ledger entries before that build.
    """
    session = order.session
    title, ledger = session.method(order.methods[k]).title, session.dataset.ledger
    if len(ledger.entries) == entries:
        return Cancelled(f"The build of {title} was cancelled before it spent epsilon.")
    price = written(ledger.entries[-1].epsilon)
    return Cancelled(
        f"The build of {title} was cancelled after its ledger entry was written: ε = {price} stays "
        "spent, because noise may have been drawn."
    )


def _unheeded(task: "asyncio.Task[Built]") -> None:
    """Retrieve the exception of an abandoned build, so that asyncio does not report it as lost."""
    if not task.cancelled():
        task.exception()
