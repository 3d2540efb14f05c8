"""Counting of all rows of a source in one pass, by several threads."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow
from numpy.typing import NDArray

from snhkit.data.counting.chunk import Block, Chunk, Part
from snhkit.data.reading.defects import FIRST_ROWS, defect
from snhkit.data.reading.times import NO_TIME
from snhkit.progress import Advance, steps

__all__ = ["Counter", "Seen", "in_threads", "over", "thread_count"]

_MOST_THREADS = 8


class Counter(Protocol):
    """The interface of a counter of rows; each thread has one, and they are merged at the end."""

    def add(
        self,
        lat: NDArray[np.float64],
        lon: NDArray[np.float64],
        person: NDArray[np.int64] | None,
        time: NDArray[np.int64] | None,
    ) -> tuple[int, NDArray[np.int64]]:
        """Count rows; return how many lie in the region, and the indices of unusable rows."""
        ...

    def merge(self, other: Any, /) -> None:
        """Add the counts of another thread's counter to this one."""
        ...


C = TypeVar("C", bound=Counter)
S = TypeVar("S")
T = TypeVar("T")


@dataclass(eq=False)
class Seen:
    """Numbers of rows that a pass over a source kept and left out, and the first unusable rows.

    Parameters
    ----------
    rows : int
        The number of rows that passed the filters.
    inside : int
        The number of these rows that lie in the region.
    unusable : int
        The number of these rows with a missing or invalid value.
    first : list of (int, int, str)
        For each of the first unusable rows: the number of its part of the source, its row number,
        and what is wrong.
    """

    rows: int = 0
    inside: int = 0
    unusable: int = 0
    first: list[tuple[int, int, str]] = field(default_factory=list)

    def merge(self, other: "Seen") -> None:
        """Add the numbers and rows that another thread or process found."""
        self.rows += other.rows
        self.inside += other.inside
        self.unusable += other.unusable
        self.first = sorted(self.first + other.first)[:FIRST_ROWS]


def over(
    parts: Sequence[Part],
    make: Callable[[], C],
    what: str = "Counting",
    first_part: int = 0,
    threads: int | None = None,
) -> tuple[C, Seen]:
    """Count the rows of some parts of a source, in several threads.

    Parameters
    ----------
    parts : sequence of Part
        The parts to read.
    make : callable
        Returns a new counter for a thread.
    what : str
        The name of the task, which the progress bar shows.
    first_part : int
        The position, in the source, of the first of these parts.
    threads : int, optional
        Number of threads; by default one for each available core, at most 8.

    Returns
    -------
    counter : Counter
        One counter, into which the counters of all threads were merged.
    seen : Seen
        The numbers of rows kept and left out.
    """

    def take(state: tuple[C, Seen], block: tuple[int, Block]) -> Iterator[None]:
        for chunk in block[1]():
            _take(*state, block[0], chunk)
            yield

    with steps(len(parts), what, "part") as advance:
        blocks = _numbered(parts, first_part, advance)
        states = in_threads(blocks, lambda: (make(), Seen()), take, threads)
    pyarrow.default_memory_pool().release_unused()  # decoded blocks
    counter, seen = states.pop()
    for other, others in states:
        counter.merge(other)
        seen.merge(others)
    return counter, seen


def in_threads(
    items: Iterator[T],
    make: Callable[[], S],
    take: Callable[[S, T], Iterator[None]],
    threads: int | None = None,
) -> list[S]:
    """Process items in several threads, and return the final state of each thread.

    Parameters
    ----------
    items : iterator
        The items. Threads take the next item one after another.
    make : callable
        Returns the initial state of a thread, such as a counter.
    take : callable
        A generator function that processes an item, given the state of the thread and the item. It
        yields after each step, so that the thread can be stopped there.
    threads : int, optional
        Number of threads; by default one for each available core, at most 8.
    """
    shared, done, failures = _Shared(items), [], []

    def work() -> None:
        state = make()
        try:
            while (item := shared.next()) is not None:
                for _ in take(state, item):
                    if shared.stopped:
                        return
        except BaseException as failure:  # raised again below, in the calling thread
            shared.stopped = True
            failures.append(failure)
            return
        done.append(state)

    others = [
        threading.Thread(target=work, daemon=True) for _ in range((threads or thread_count()) - 1)
    ]
    for thread in others:
        thread.start()
    try:
        work()  # in the calling thread, so that progress bars and interruptions work
    finally:
        for thread in others:
            thread.join()
    if failures:
        raise failures[0]
    return done


def thread_count() -> int:
    """Return the number of threads of a pass: one for each available core, at most 8."""
    usable = getattr(os, "sched_getaffinity", None)
    return min(len(usable(0)) if usable else os.cpu_count() or 1, _MOST_THREADS)


def _numbered(parts: Sequence[Part], first: int, advance: Advance) -> Iterator[tuple[int, Block]]:
    for number, part in zip(count(first), parts, strict=False):
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


def _take(counter: Counter, seen: Seen, part: int, chunk: Chunk) -> None:
    lat, lon, person, time = chunk.lat, chunk.lon, chunk.person, chunk.time
    at: NDArray[np.int64] | None = None
    gaps = None if person is None else person == 0
    if time is not None:
        gone = time == NO_TIME
        gaps = gone if gaps is None else gaps | gone
    lost: list[NDArray[np.int64]] = []
    if gaps is not None and gaps.any():
        lost.append(np.flatnonzero(gaps))
        at = np.flatnonzero(~gaps)
        lat, lon = lat[at], lon[at]
        person = None if person is None else person[at]
        time = None if time is None else time[at]
    inside, bad = counter.add(lat, lon, person, time)
    lost.append(bad if at is None else at[bad])
    unusable = np.sort(np.concatenate(lost))
    seen.rows += chunk.rows
    seen.inside += inside
    seen.unusable += unusable.size + len(chunk.malformed)
    told = [(part, number, why) for number, why in list(chunk.malformed.items())[:FIRST_ROWS]]
    for row in unusable[:FIRST_ROWS].tolist():
        if len(seen.first) < FIRST_ROWS or (part, chunk.number(row)) < seen.first[-1][:2]:
            known = chunk.person is None or bool(chunk.person[row] != 0)
            told.append((part, chunk.number(row), defect(chunk, row, known)))
    if told:
        seen.first = sorted(seen.first + told)[:FIRST_ROWS]
