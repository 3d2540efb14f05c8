"""The progress of long tasks, shown as a bar or passed to a function that may stop the task."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from tqdm.auto import tqdm


@dataclass(frozen=True)
class Step:
    """The progress of a task: its name, completed and all steps; it may end before ``total``."""

    what: str
    done: int
    total: int


Watcher = Callable[[Step], object]
_WATCHER: ContextVar[Watcher | None] = ContextVar("snhkit_watcher", default=None)


class Advance(Protocol):
    """A callback that reports completed steps, and values to show beside the progress bar."""

    def __call__(self, by: int = 1, **beside: object) -> None:
        """Report ``by`` completed steps."""


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Call ``watcher`` with each ``Step`` of this thread's tasks; its exceptions end a task."""
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)


def told(step: Step) -> None:
    """Pass a step, reported by another process, to the function given to ``watched``, if any."""
    if (watcher := _WATCHER.get()) is not None:
        watcher(step)


@contextmanager
def steps(total: int, what: str, unit: str = "step") -> Iterator[Advance]:
    """Yield a callback that reports completed steps to a progress bar, or to ``watched``."""
    watcher = _WATCHER.get()
    if watcher is None:
        with tqdm(total=total, desc=what, unit=unit, leave=False) as bar:

            def shown(by: int = 1, **beside: object) -> None:
                bar.set_postfix(beside, refresh=False)
                bar.update(by)

            yield shown
        return
    done = 0

    def advance(by: int = 1, **beside: object) -> None:
        nonlocal done
        done = min(done + by, total)
        watcher(Step(what, done, total))

    advance(0)
    yield advance
