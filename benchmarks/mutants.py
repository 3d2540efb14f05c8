"""Planted faults that tests must find: python benchmarks/mutants.py [--help].

benchmarks/mutants.toml lists the faults: a file, a text that occurs once in the file, the text that
replaces it, and tests of which at least one must fail. Each fault is planted in a copy of the
source tree. Prints, as Markdown, how many faults were found, which were not, and the slowest ones.
The exit code is 1 if a fault was not found.

With --journal FILE each result is stored, so that a run that was interrupted can be continued: a
fault is tried again only if it, its file or its tests have changed.
"""

import argparse
import datetime
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tqdm.auto import tqdm

ROOT = Path(__file__).parents[1]
COPIED = ("snhkit", "tests", "benchmarks", "docs", "pyproject.toml")
LIMIT_S = 900
NOT_RUN = 99
_FORKS = multiprocessing.get_context("spawn" if os.name == "nt" else "forkserver")
_SLOW = [
    "geopandas",
    "jax",
    "jax.numpy",
    "optax",
    "pyarrow.dataset",
    "pytest",
    "scipy.stats",
    "tqdm",
]


@dataclass(frozen=True)
class Fault:
    """A fault to plant: a text that occurs once in a file, and the text that replaces it.

    Parameters
    ----------
    name : str
        A description of the fault.
    file : str
        The path of the file in the source tree.
    old, new : str
        The text to replace, and its replacement.
    tests : tuple of str
        Paths or node ids of tests, of which at least one must fail.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def planted(self, root: Path) -> str:
        """Return the text of the file with the fault.

        ValueError is raised if ``old`` does not occur exactly once.
        """
        path = root / self.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if (times := text.count(self.old)) != 1:
            raise ValueError(
                f"{self.name}: the text in old must occur once in {self.file}, not {times} times"
            )
        if self.old == self.new:
            raise ValueError(f"{self.name}: old and new are equal, so the fault changes nothing")
        return text.replace(self.old, self.new)

    def key(self) -> str:
        """Return a digest of the fault, its file and its tests."""
        files = [self.file, *(test.partition("::")[0] for test in self.tests)]
        paths = [p for f in files for p in ([ROOT / f] if (ROOT / f).is_file() else
                                            sorted((ROOT / f).rglob("*.py")))]  # fmt: skip
        found = [repr(self).encode(), *(path.read_bytes() for path in paths)]
        return hashlib.sha256(b"".join(found)).hexdigest()


class Results:
    """The results of faults by key, also in a file of JSON lines if there is a path."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        entries = [json.loads(line) for line in lines if line.endswith("}")]
        self.known = {entry["key"]: entry for entry in entries}

    def add(self, fault: Fault, key: str, result: str, seconds: float) -> None:
        """Store the result of a fault."""
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        entry = {"key": key, "name": fault.name, "result": result, "seconds": round(seconds, 1),
                 "when": when}  # fmt: skip
        self.known[key] = entry
        if self.path:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")


def faults(path: Path = ROOT / "benchmarks" / "mutants.toml") -> list[Fault]:
    """Return the faults that a file lists, by default benchmarks/mutants.toml."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Fault(**entry | {"tests": tuple(entry["tests"])}) for entry in listed["fault"]]


def run(tests: tuple[str, ...], root: Path) -> int:
    """Return 0 if all tests in a copy passed, 1 if one failed.

    Other codes mean that no test ran, as after an error of pytest itself. Each run is a process of
    its own, forked from one that has imported the packages that are slow to import, but nothing of
    the source tree.
    """
    process = _FORKS.Process(target=_tested, args=(tests, root))
    process.start()
    process.join(LIMIT_S)
    if process.exitcode is None:  # tests that do not end count as failed
        process.kill()
        process.join()
        return 1
    return process.exitcode


def _tested(tests: tuple[str, ...], root: Path) -> None:
    """Run tests in a copy of the source tree, and end the process with pytest's exit code."""
    import pytest

    os.chdir(root)
    os.environ |= {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(root))
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        words = ["-n", "0", "-q", "-x", *tests]
        outcomes = Outcomes()
        try:
            code = int(pytest.main(words, plugins=[outcomes]))
        except BaseException:
            code = NOT_RUN
        os._exit(code if code == 0 or outcomes.failed else NOT_RUN)


class Outcomes:
    """A plug-in of pytest that notes whether a test failed."""

    failed = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note the result of a phase of a test."""
        self.failed |= report.failed


def caught(fault: Fault, root: Path) -> str:
    """Return "caught" or "survived", or the reason why the fault could not be tried."""
    path = root / fault.file
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    try:
        path.write_text(fault.planted(root), encoding="utf-8")
    except (ValueError, OSError) as error:
        return f"error: {error}"
    try:
        code = run(fault.tests, root)
    finally:
        path.write_text(before, encoding="utf-8")
    return {0: "survived", 1: "caught"}.get(code, f"error: the tests could not be run ({code})")


def copy_to(folder: Path) -> Path:
    """Return a new copy of the source tree."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "_build", "*.png")
            shutil.copytree(source, target, ignore=ignored)
        else:
            shutil.copy(source, target)
    return folder


def main() -> None:
    """Print for each fault whether tests found it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="pattern of a fault's name or file")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sound", action="store_true", help="first run all tests without a fault")
    parser.add_argument("--faults", type=Path, help="another file of faults than mutants.toml")
    parser.add_argument("--journal", type=Path, help="file of results, to continue a run")
    given = parser.parse_args()
    results, keys = Results(given.journal), {}
    _FORKS.set_forkserver_preload(_SLOW)
    listed = faults(given.faults) if given.faults else faults()
    chosen = [f for f in listed if re.search(given.only, f"{f.name} {f.file}")]
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for worker in range(given.workers):
            (Path(folder) / str(worker)).mkdir()
            copies.put(copy_to(Path(folder) / str(worker)))
        if given.sound:
            root = copies.get()
            tests = tuple(sorted({test for fault in chosen for test in fault.tests}))
            code = run(tests, root)
            print(f"Without a fault, the {len(tests)} tests end with exit code {code}.")
            copies.put(root)

        def tried(fault: Fault) -> None:
            root = copies.get()
            start = time.monotonic()
            try:
                result = caught(fault, root)
            finally:
                copies.put(root)
            results.add(fault, keys[fault.name], result, time.monotonic() - start)
            tqdm.write(f"{result}: {fault.name}", file=sys.stderr)

        keys |= {fault.name: fault.key() for fault in chosen}
        left = [fault for fault in chosen if keys[fault.name] not in results.known]
        with ThreadPoolExecutor(given.workers) as pool:
            list(tqdm(pool.map(tried, left), total=len(left), disable=None))
    entries = [results.known[keys[fault.name]] for fault in chosen]
    number = sum(entry["result"] == "caught" for entry in entries)
    seconds = sorted(entry["seconds"] for entry in entries)
    print(
        f"{number} of {len(chosen)} planted faults were caught, in {sum(seconds):,.0f} s, "
        f"{seconds[len(seconds) // 2]:g} s each in the median.\n"
    )
    for fault, entry in zip(chosen, entries, strict=True):
        if entry["result"] != "caught":
            print(f"- {fault.name} ({fault.file}): {entry['result']}")
    for entry in sorted(entries, key=lambda entry: -entry["seconds"])[:10]:
        print(f"- {entry['seconds']:g} s: {entry['name']}")
    sys.exit(number != len(chosen))


if __name__ == "__main__":
    main()
