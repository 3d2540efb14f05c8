"""Builds that tell how far they are, and that a person can stop."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from snhkit.errors import InputError, SnhkitError
from snhkit.experiment.methods import METHODS
from snhkit.privacy import written
from snhkit.progress import Step, watched
from snhkit.widgets.session import Built, Session

__all__ = ["Building", "Cancelled", "Order"]

Say = Callable[[float, str], object]


class Cancelled(SnhkitError):  # noqa: N818 - what happened, not what went wrong
    """A person stopped a build."""


@dataclass(frozen=True)
class Order:
    """What is to be built, one method after the other.

    Parameters
    ----------
    session : Session
        From whose records.
    methods : sequence of str
        Keys of methods.
    epsilon : float
        What each costs.
    sizes_m : (float, float)
        Sides of the boxes that will be asked, in metres, for methods that prepare for them.
    """

    session: Session
    methods: Sequence[str]
    epsilon: float
    sizes_m: tuple[float, float]


class Building:
    """At most one order at a time.

    A build can be stopped between two methods, and at each step that a method tells of. What was
    charged stays charged: noise may have been drawn.

    Parameters
    ----------
    say : callable
        Is told the share that is done, and of what.
    built : callable
        Is told of each release.
    """

    def __init__(self, say: Say, built: Callable[[Session, Built], object]) -> None:
        self._say, self._built = say, built
        self._busy, self._stop = threading.Lock(), threading.Event()

    @property
    def running(self) -> bool:
        """Whether something is being built."""
        return self._busy.locked()

    def cancel(self) -> None:
        """Stop as soon as it can be."""
        self._stop.set()

    def run(self, order: Order) -> None:
        """Build here and now.

        Raises
        ------
        Cancelled
            When a person stopped it; says what stays spent.
        BudgetExceeded
            When a method would cost more than is left; those before it are built.
        """
        with self._alone():
            for k in range(len(order.methods)):
                self._built(order.session, self._one(order, k, self._say))

    async def run_aside(self, order: Order) -> None:
        """Build in another thread, while this one goes on; raises as ``run`` does."""
        say = partial(asyncio.get_running_loop().call_soon_threadsafe, self._say)
        with self._alone():
            for k in range(len(order.methods)):
                self._built(order.session, await asyncio.to_thread(self._one, order, k, say))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise InputError("Something is being built; wait for it, or cancel it.")
        self._stop.clear()
        try:
            yield
        finally:
            self._busy.release()

    def _one(self, order: Order, k: int, say: Say) -> Built:
        key, total = order.methods[k], len(order.methods)
        title, ledger = METHODS[key].title, order.session.dataset.ledger
        which = f"{title} ({k + 1} of {total})" if total > 1 else title
        if self._stop.is_set():
            raise Cancelled(f"Cancelled before {title}: nothing was spent on it.")

        def watch(step: Step) -> None:
            if self._stop.is_set():
                raise Cancelled
            say(
                (k + step.done / step.total) / total,
                f"{which}: {step.what}, {step.done} of {step.total}",
            )

        say(k / total, f"{which} …")
        entries = len(ledger.entries)
        try:
            with watched(watch):
                return order.session.build(key, order.epsilon, order.sizes_m)
        except Cancelled:
            if len(ledger.entries) == entries:
                raise Cancelled(f"Cancelled before {title}: nothing was spent on it.") from None
            price = written(ledger.entries[-1].epsilon)
            raise Cancelled(
                f"{title} was cancelled after its noise was drawn: its ε = {price} stays spent, "
                "and the ledger says so."
            ) from None
