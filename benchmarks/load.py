"""Rates of answers, and memory after repeated builds: python benchmarks/load.py [--help].

Prints, as Markdown, how many boxes per second each kind of model answers, one at a time and many at
a time, and by how much the memory of the process grows during many answers and many builds.
"""

import argparse
import gc
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
from tqdm.auto import trange

import snhkit as snh

CITY = snh.Region.around(lat=45, lon=7, side_m=10_000)
METHODS = {
    "grid (`Identity`)": snh.Identity(50),
    "partition (`PrivTree`)": snh.PrivTree(),
    "denoised (`DenoisedGrid`)": snh.DenoisedGrid(100, prior=snh.Prior(turns=1)),
    "networks (`SNH`)": snh.SNH(100, networks=snh.Networks(k=2, steps=20)),
}
PART = 1_000


def megabytes() -> float:
    """Return the present memory of this process in megabytes; 0 if unknown on this system."""
    gc.collect()
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4_096 / 1e6 if status.exists() else 0.0


def dataset(count: int = 20_000) -> snh.PrivateDataset:
    """Return a dataset of ``count`` records around two positions."""
    rng = np.random.default_rng(1)
    xy = rng.normal([[4_000, 5_000], [7_000, 2_000]], 800, (count // 2, 2, 2)).reshape(-1, 2)
    records = snh.Points(CITY, xy.clip(0, 9_999))
    return snh.PrivateDataset(records, budget=10**6, unit="record")


def rate(release: snh.Release, boxes: snh.RangeQueries, seconds: float = 2.0) -> float:
    """Return the number of boxes that a release answers per second, all boxes in each call."""
    release.answer(boxes)
    began, asked = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        release.answer(boxes)
        asked += len(boxes)
    return asked / passed


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--builds", type=int, default=100)
    given = parser.parse_args()
    data = dataset()
    one, some, many = (snh.RangeQueries.sample(CITY, count) for count in (1, PART, 100 * PART))
    print(
        "Boxes per second, answered one at a time, 1,000 at a time and 100,000 at a time, and by "
        f"how much memory grew during {given.answers:,} answers:\n"
    )
    print("| model | one at a time | 1,000 at a time | 100,000 at a time | MB gained |")
    print("|---|---|---|---|---|", flush=True)
    for name, builder in METHODS.items():
        with tempfile.TemporaryDirectory() as folder:
            file = data.release(builder, epsilon=1).save(Path(folder) / "a.snh")
            release = snh.load(file).total()
        rates = [rate(release, boxes) for boxes in (one, some, many)]
        before = megabytes()
        for _ in trange(given.answers // PART, desc="answers", disable=None):
            release.answer(some)
        gained = megabytes() - before
        shown = " | ".join(f"{boxes:,.0f}" for boxes in rates)
        print(f"| {name} | {shown} | {gained:.1f} |", flush=True)
    print(
        f"\nMemory of one process ({platform.system()}) after 10 and after {given.builds} builds "
        "of the same method:\n"
    )
    print("| builds of | MB after 10 | MB after all | MB gained |\n|---|---|---|---|")
    for name, builder in METHODS.items():
        after = 0.0
        for number in trange(given.builds, desc="builds", disable=None):
            data.release(builder, epsilon=1).answer(some)
            if number == min(9, given.builds - 1):
                after = megabytes()
        now = megabytes()
        print(f"| {name} | {after:,.0f} | {now:,.0f} | {now - after:.1f} |", flush=True)


if __name__ == "__main__":
    main()
