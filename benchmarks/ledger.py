"""One ledger with killed processes, threads and forks: python benchmarks/ledger.py [--help].

Kills processes that spend from one ledger in a file, at random instants and at each of their system
calls. Then many threads of many processes spend from one budget. Prints, as Markdown, whether the
ledger is right afterwards. Linux and macOS only.
"""

import argparse
import contextlib
import fcntl
import os
import random
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm, trange

from snhkit.errors import BudgetExceeded, LedgerWarning
from snhkit.geometry import Points, Region
from snhkit.privacy import PointSource, PrivacyUnit, read_ledger
from snhkit.privacy.stored_ledger import StoredLedger

RECORDS = PointSource(Points(Region.around(lat=0, lon=0, side_m=10), [[1, 1]]))
UNIT = PrivacyUnit("record")
BUDGET = 10**6
CALLS = ("open", "write", "fsync", "close", "replace", "ftruncate", "pread", "fstat")


def ledger(path: Path) -> StoredLedger:
    """Return the ledger in a file; a missing file is created."""
    return StoredLedger(path, RECORDS, UNIT, BUDGET)


def forked(work: Callable[[], None]) -> int:
    """Run a function in a forked process, and return the process id."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def spends(path: Path, report: int, count: int = BUDGET) -> None:
    """Spend 1 ``count`` times, and write a byte to ``report`` after each entry in the ledger."""
    ours = ledger(path)
    for _ in range(count):
        entry = ours.charge(1, "killed")
        os.write(report, b"+")
        ours.settle(entry, [])


def killed(path: Path, seconds: float | None, work: Callable[[int], None]) -> tuple[int, bool]:
    """Return how many charges a process reported, and whether the process was killed.

    The process is killed after ``seconds``; with None, the process kills itself.
    """
    out, report = os.pipe()
    child = forked(lambda: work(report))
    os.close(report)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(out, "rb") as stream:
        reported = len(stream.read())
    return reported, os.WIFSIGNALED(os.waitpid(child, 0)[1])


def checked(path: Path, reported: int) -> str:
    """Return "lost" or "doubled" if the ledger disagrees with the reported charges, else ""."""
    ours = ledger(path)
    numbers = [entry.number for entry in ours.entries]
    if numbers != list(range(1, len(numbers) + 1)) or ours.spent > reported + 1:
        return "doubled"
    return "lost" if ours.spent < reported else ""


def random_kills(runs: int, seconds: float, draw: random.Random) -> dict[str, int]:
    """Kill processes that use one ledger within ``seconds``, and return counts of outcomes."""
    found = {"kills": 0, "charges": 0, "lost": 0, "doubled": 0}
    with tempfile.TemporaryDirectory() as folder:
        path, total = Path(folder) / "random.ledger", 0
        for number in trange(runs, desc="random kills", disable=None):
            if number % 20 == 0:
                # A new ledger from time to time, so that its creation is interrupted too.
                path, total = Path(folder) / f"{number}.ledger", 0
            reported, ended = killed(
                path, draw.uniform(0, seconds), lambda out, p=path: spends(p, out)
            )
            wrong = checked(path, total + reported)
            found["kills"] += ended
            found["charges"] += reported
            total = int(read_ledger(path).spent)
            if wrong:
                found[wrong] += 1
    return found


@contextlib.contextmanager
def killing(nth: int, when: str) -> Iterator[None]:
    """Make this process kill itself before, during or after its n-th system call."""
    counted = 0

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def calling(*given: Any, **named: Any) -> Any:
            nonlocal counted
            counted += 1
            if counted == nth:
                if when == "within" and name == "write":
                    call(given[0], given[1][: len(given[1]) // 2])
                elif when == "after":
                    call(*given, **named)
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **named)

        return calling

    for name in CALLS:
        setattr(os, name, wrapped(name, getattr(os, name)))
    fcntl.flock = wrapped("flock", fcntl.flock)
    yield


def kills_at_every_call() -> dict[str, int]:
    """Kill a process at each system call of opening a ledger and spending twice.

    Return counts of outcomes.
    """
    found = {"kills": 0, "charges": 0, "lost": 0, "doubled": 0}
    with tempfile.TemporaryDirectory() as folder:
        for when in tqdm(("before", "within", "after"), desc="every call", disable=None):
            nth, ended = 1, True
            while ended:
                path = Path(folder) / f"{when}{nth}.ledger"

                def work(report: int, path: Path = path, nth: int = nth, when: str = when) -> None:
                    write = os.write
                    with killing(nth, when):
                        ours = ledger(path)
                        for _ in range(2):
                            entry = ours.charge(1, "killed")
                            write(report, b"+")
                            ours.settle(entry, [])

                reported, ended = killed(path, None, work)
                wrong = checked(path, reported)
                found["kills"] += ended
                found["charges"] += reported
                if wrong:
                    found[wrong] += 1
                nth += 1
    return found


def crowd(processes: int, threads: int, charges: int) -> dict[str, Any]:
    """Let threads request twice the budget in total, and return how much they were granted."""
    price = Fraction(1, processes * threads * charges)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crowd.ledger"
        parent = StoredLedger(path, RECORDS, UNIT, Fraction(1, 2))
        out, report = os.pipe()

        def spend() -> None:
            ours = StoredLedger(path, RECORDS, UNIT)
            for _ in range(charges):
                try:
                    ours.settle(ours.charge(price, "crowd"), [])
                    os.write(report, b"+")
                except BudgetExceeded:
                    os.write(report, b"-")

        def work() -> None:
            crowd = [threading.Thread(target=spend) for _ in range(threads)]
            for thread in crowd:
                thread.start()
            for thread in crowd:
                thread.join()

        children = [forked(work) for _ in range(processes)]
        os.close(report)
        with os.fdopen(out, "rb") as stream:
            said = stream.read()
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
        return {
            "processes": processes, "threads each": threads, "asked": len(said),
            "granted": said.count(b"+"), "entries in the parent's view": len(parent.entries),
            "spent": parent.spent, "budget": parent.total,
        }  # fmt: skip


def printed(rows: dict[str, dict[str, Any]]) -> None:
    """Print counts of outcomes as a table."""
    names = list(next(iter(rows.values())))
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(str(row[n]) for n in names)} |")


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kills at random instants")
    parser.add_argument(
        "--seconds", type=float, default=0.1, help="kill a process within this time"
    )
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--charges", type=int, default=4, help="charges requested by each thread")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", LedgerWarning)  # of lines that a kill has cut
    printed({
        "at random instants": random_kills(given.kills, given.seconds, random.Random(given.seed)),  # noqa: S311
        "at each system call": kills_at_every_call(),
    })  # fmt: skip
    print()
    printed({"one ledger": crowd(given.processes, given.threads, given.charges)})


if __name__ == "__main__":
    main()
