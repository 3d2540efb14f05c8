"""Errors and costs of every method on San Francisco's taxis: python benchmarks/cabs.py [--help].

Needs a folder with sf_cabs.npy and san_francisco_gowalla_checkins.csv.gz. Prints, as Markdown, the
mean relative error of squares of 25 to 100 m around records (the paper's experiment) and of squares
of 1 to 5 km anywhere. Also prints the time and memory of each method, in a process of its own.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.metrics import relative_errors

CITY = snh.Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8)
WIDTHS_M = (15, 20, 25, 30, 40, 50, 60)
SMALL_M, LARGE_M = (25.0, 100.0), (1_000.0, 5_000.0)


def cabs(folder: Path) -> snh.Points:
    """Return the records of San Francisco's taxis, the private records of this benchmark."""
    return snh.read_points(folder / "sf_cabs.npy", CITY)


@dataclass(frozen=True)
class Task:
    """Private and public records, and boxes with their true counts."""

    data: snh.PrivateDataset
    public: snh.Points
    boxes: snh.RangeQueries
    truth: np.ndarray


def squares(folder: Path, sizes_m: tuple[float, float], count: int = 5_000) -> Task:
    """Return a task with squares around records if the sizes are the paper's, else anywhere."""
    records = cabs(folder)
    public = snh.read_points(folder / "san_francisco_gowalla_checkins.csv.gz", CITY)
    near = records if sizes_m == SMALL_M else CITY
    boxes = snh.RangeQueries.sample(near, count, sizes_m)
    data = snh.PrivateDataset(records, budget=10_000, unit="record", n_public=True)
    return Task(data, public, boxes, snh.exact_counts(records, boxes))


def mean_errors(
    builder: Builder,
    task: Task,
    seeds: Sequence[int | None],
    epsilons: Sequence[float] = EPSILONS,
) -> list[float]:
    """Return the mean relative error at each epsilon, over several draws of the noise."""
    data, found = task.data, []
    for epsilon in epsilons:
        releases = (
            data.release(builder, epsilon=epsilon, public=task.public, seed=seed) for seed in seeds
        )
        answers = [release.answer(task.boxes) for release in releases]
        found.append(np.mean([relative_errors(a, task.truth, data.n).mean() for a in answers]))
    return found


def errors_table(folder: Path, chosen: list[str], sizes_m: tuple[float, float], draws: int) -> None:
    """Print a row of errors for each method, and a row for the best cell width of Identity."""
    task = squares(folder, sizes_m)
    rows = {snh.METHODS[key].title: snh.METHODS[key].builder(sizes_m) for key in chosen}
    if "denoised" in chosen and sizes_m == SMALL_M:
        rows["Denoised grid, cell width by ParamSelect"] = snh.DenoisedGrid("auto")
    sweep = {f"Identity, {width} m": snh.Identity(width) for width in WIDTHS_M}
    print(f"\n5,000 squares of {sizes_m[0]:,.0f} to {sizes_m[1]:,.0f} m, {draws} draws\n")
    header(EPSILONS)
    found = {}
    for name, builder in tqdm((rows | sweep).items(), unit="method", leave=False):
        found[name] = mean_errors(builder, task, [None] * draws)
        row(name, found[name])
    row("Identity, best of these widths", np.min([found[name] for name in sweep], axis=0))


def header(epsilons: Sequence[float]) -> None:
    """Print the head of a table."""
    print("| epsilon |", " | ".join(map(str, epsilons)), "|")
    print("|---" * (len(epsilons) + 1) + "|", flush=True)


def row(name: str, numbers) -> None:
    """Print one line of a table."""
    tqdm.write(f"| {name} | " + " | ".join(f"{x:.3f}" for x in numbers) + " |")
    sys.stdout.flush()


def cost_table(folder: Path, chosen: list[str]) -> None:
    """Print the time and memory of each method at epsilon 0.2, each in a process of its own."""
    print("\n| method | build, s | peak MB | one box, µs | 10,000 boxes, ms | file, kB |")
    print("|---" * 6 + "|")
    for key in ("", *chosen):
        words = [sys.executable, __file__, "--folder", str(folder), "--cost-of", key]
        told = subprocess.run(words, check=True, capture_output=True, text=True).stdout  # noqa: S603
        print(told, end="", flush=True)


def cost(folder: Path, key: str) -> None:
    """Print a method's row of the table of costs; an empty ``key`` gives the cost of reading."""
    start = time.perf_counter()
    records = cabs(folder)
    name = "(reading the file)"
    release = None
    if key:
        name = snh.METHODS[key].title
        builder = snh.METHODS[key].builder()
        data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
        start = time.perf_counter()
        release = data.release(builder, epsilon=0.2)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = warm(release, snh.RangeQueries.sample(records, 10_000)) if release else ""
    print(f"| {name} | {seconds:.2f} | {peak:,.0f} |{told}")


def warm(release: snh.Release, boxes: snh.RangeQueries) -> str:
    """Return the table's columns on answers: time for one box, time for all boxes, file size."""
    one, many = (median_seconds(release, part) for part in (boxes[:1], boxes))
    return f" {one * 1e6:.0f} | {many * 1e3:.0f} | {len(release.to_bytes()) / 1e3:,.0f} |"


def median_seconds(release: snh.Release, boxes: snh.RangeQueries) -> float:
    """Return the median time of a call of ``release.answer``, in seconds."""
    seconds = []
    for _ in range(max(10, 10_000 // len(boxes) // 10)):
        start = time.perf_counter()
        release.answer(boxes)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Every method on San Francisco's taxis.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=list(snh.METHODS), choices=snh.METHODS)
    parser.add_argument("--table", choices=("small", "large", "cost"), help="print this table only")
    parser.add_argument("--cost-of", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cost_of is not None:
        cost(given.folder, given.cost_of)
        sys.exit()
    if given.table in (None, "small"):
        errors_table(given.folder, given.methods, SMALL_M, given.draws)
    if given.table in (None, "large"):
        errors_table(given.folder, given.methods, LARGE_M, given.draws)
    if given.table in (None, "cost"):
        cost_table(given.folder, given.methods)
