"""Ctrl-C at many instants of ``snhkit release``: python benchmarks/interrupts.py [--help].

Runs ``snhkit release`` on an invented file many times, always with the same output file, and sends
SIGINT at instants that are spread evenly over the time that a release takes. Prints, as Markdown,
how the processes ended, and what was left: incomplete files, temporary files, and charges that the
ledger has twice or not at all.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np

import snhkit as snh

EPSILON = Fraction(1, 100)
COMMAND = [
    "release", "--center", "45,7", "--side-km", "10", "--data", "t.csv", "--user", "user",
    "--max-per-user", "5", "--method", "identity", "--cell-m", "20", "--epsilon", str(EPSILON),
    "--budget", "100", "--out", "t.snh", "--force",
]  # fmt: skip
PROGRAM = "from snhkit.cli.main import main; main()"


def started(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start a command of snhkit in a folder, and return its process."""
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *words],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def entries(folder: Path) -> list[dict[str, str]]:
    """Return the entries of the ledger."""
    process = started(["ledger", "t.csv.ledger", "--json"], folder)
    told = json.loads(process.communicate()[0])
    found = told["entries"]
    assert Fraction(told["spent"]) == sum(Fraction(entry["epsilon"]) for entry in found)
    return found


def write_records(path: Path, rows: int) -> None:
    """Write a file of records of 300 people."""
    rng = np.random.default_rng(0)
    lat, lon = 45 + rng.normal(0, 0.02, rows), 7 + rng.normal(0, 0.02, rows)
    lines = (
        f"{a:.6f},{b:.6f},{user}\n"
        for a, b, user in zip(lat, lon, rng.integers(300, size=rows), strict=True)
    )
    with path.open("w", encoding="utf-8") as file:
        file.write("lat,lon,bearer\n")
        file.writelines(lines)


def main() -> None:
    """Read the options, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instants", type=int, default=40)
    parser.add_argument("--rows", type=int, default=300_000)
    given = parser.parse_args()
    ends, faults = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_records(folder / "t.csv", given.rows)
        started(COMMAND, folder).communicate()  # so that bytecode is compiled before
        begun = time.monotonic()
        started(COMMAND, folder).communicate()
        takes = time.monotonic() - begun
        names = {path.name for path in folder.iterdir()}
        for k in range(given.instants):
            old, before = (folder / "t.snh").read_bytes(), len(entries(folder))
            process = started(COMMAND, folder)
            time.sleep(takes * (k + 1) / given.instants)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=120)
            now, found = (folder / "t.snh").read_bytes(), entries(folder)
            written = now != old
            if process.returncode == 130:
                ends["interrupted, in one line"] += 1
            elif process.returncode == 1:
                ends["interrupted while Python imported snhkit, with a traceback"] += 1
            elif "Traceback" in err.partition("Written to")[0]:
                ends["went on: the signal was lost in a callback"] += 1
            else:
                ends["had written its file already"] += 1
            snh.load(folder / "t.snh")
            charged = len(found) - before
            faults["a charge twice"] += charged > 1
            faults["a new file that was not paid for"] += written and charged != 1
            faults["an entry left open"] += found[-1]["state"] == "open"
            faults["files left over"] += {path.name for path in folder.iterdir()} != names
    print("| | of", given.instants, "|\n|---|---|")
    for what, count in [*ends.items(), *faults.items()]:
        print(f"| {what} | {count} |")
    sys.exit(any(faults.values()))


if __name__ == "__main__":
    main()
