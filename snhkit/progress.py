"""Steps of long work: shown by tqdm, or told to whoever watches, who may stop the work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from tqdm.auto import tqdm

__all__ = ["Step", "steps", "watched"]


@dataclass(frozen=True)
class Step:
    """How far a piece of long work is.

    Parameters
    ----------
    what : str
        What is being done.
    done, total : int
        Steps; work that converges early ends before all are done.
    """

    what: str
    done: int
    total: int


Watcher = Callable[[Step], object]
_WATCHER: ContextVar[Watcher | None] = ContextVar("snhkit_watcher", default=None)


class Advance(Protocol):
    """Says that some steps are done, and what a bar may show beside them."""

    def __call__(self, by: int = 1, **beside: object) -> None: ...


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell the steps of the work inside to ``watcher`` instead of showing a bar.

    Of this thread's work only. What ``watcher`` raises ends the work.

    Examples
    --------
    >>> with watched(print), steps(2, "sums") as advance:
    ...     advance()
    Step(what='sums', done=0, total=2)
    Step(what='sums', done=1, total=2)
    """
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)


@contextmanager
def steps(total: int, what: str, unit: str = "step") -> Iterator[Advance]:
    """Count ``total`` steps of long work; what it gives is called after each, or some, of them.

    Parameters
    ----------
    total : int
        Steps there are.
    what : str
        What is done; no value that depends on records.
    unit : str
        What a step is called.
    """
    watcher = _WATCHER.get()
    if watcher is None:
        with tqdm(total=total, desc=what, unit=unit, leave=False) as bar:

            def shown(by: int = 1, **beside: object) -> None:
                bar.set_postfix(beside, refresh=False)
                bar.update(by)

            yield shown
        return
    done = 0

    def told(by: int = 1, **beside: object) -> None:
        nonlocal done
        done = min(done + by, total)
        watcher(Step(what, done, total))

    told(0)
    yield told
