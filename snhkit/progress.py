"""Progress of long computations, shown as a bar or passed to a function that may stop them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from tqdm.auto import tqdm

__all__ = ["Step", "steps", "watched"]


@dataclass(frozen=True)
class Step:
    """The progress of a long computation.

    Parameters
    ----------
    what : str
        Name of the computation.
    done, total : int
        Steps done so far, and in total; a computation that converges early ends before.
    """

    what: str
    done: int
    total: int


Watcher = Callable[[Step], object]
_WATCHER: ContextVar[Watcher | None] = ContextVar("snhkit_watcher", default=None)


class Advance(Protocol):
    """A function that reports finished steps, and values for the bar to show."""

    def __call__(self, by: int = 1, **beside: object) -> None: ...


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Call ``watcher`` with each step of the computations inside, instead of showing a bar.

    Only computations of this thread are reported. An exception of ``watcher`` ends them.

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
    """Yield a function that reports finished steps of a computation.

    Parameters
    ----------
    total : int
        Number of steps.
    what : str
        Name of the computation; it must not contain a value that depends on records.
    unit : str
        Name of one step.
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
