"""Errors and intervals of maps by hour: python benchmarks/strata.py [--help].

Needs the folder of public data sets. The table "errors" has the mean absolute error of queries of
one cell of 37 m in one hour, at each record, on New York's Uber pick-ups, which no network was
trained on: of a noisy histogram, of denoised grids of each hour alone, and of denoised grids with a
share of epsilon for a map of all hours, to which the hours add up. The table "pooled" has the
errors of the latter divided by those of the former, for several public data sets and strata, and
"expected" measured errors divided by those that ``expected_error`` expects. The table "coverage"
has how often 90 % intervals contain the true count: of a stratum, of the sum over strata, and of
one map of all records.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from public_cities import CALIBRATION, HELD_OUT
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.geometry import Grid
from snhkit.metrics import SIZE_BANDS_M, band_name, relative_errors
from snhkit.privacy.count_source import PointSource
from snhkit.release.strata import StratifiedRelease

CELLS, CELL_M, EPSILON = 576, 37, 0.2
SIDE_M, POOL = 13_200.0, 0.4  # of epsilon, also for kinds, which share no map by default
UBER, CABS, BOSTON = "New York, Uber", "New York, cabs", "Boston, incidents"
POOLED = [
    ([BOSTON], snh.By.hour(), (0.1, 0.2, 1.0)),
    ([BOSTON], snh.By.weekday(), (0.2, 1.0)),
    ([BOSTON, "Boston, check-ins"], snh.By.column("kind", ["incident", "check-in"]), (0.2,)),
    ([CABS, UBER], snh.By.column("kind", ["cab", "uber"]), (0.2,)),
    ([CABS], snh.By.hour(), (0.2,)),
    ([UBER], snh.By.hour(), (0.2,)),
    ([UBER], snh.By.weekday(), (0.2,)),
    ([BOSTON], snh.By.weekday_hour(), (1.0,)),
]
"""Records, strata and values of epsilon; no network was trained on these cities' records."""

BANDS = {"25 to 100 m": (25, 100), "100 m to 1 km": (100, 1_000), "1 to 5 km": (1_000, 5_000)}
BOXES, SEEDS = 300, 2
COVERED = ("identity", "ug", "privtree", "denoised")


def region_of(name: str, side_m: float = SIDE_M) -> snh.Region:
    """Return the region of a public data set."""
    source = (CALIBRATION | HELD_OUT)[name]
    return snh.Region.around(source.lat, source.lon, side_m)


def read(name: str, folder: Path, region: snh.Region) -> snh.Points:
    """Return the records of a public data set, with their times if they have any."""
    source = (CALIBRATION | HELD_OUT)[name]
    time = None if source.family == "check-ins" else "time"
    return snh.read_points(folder / source.file, region, time=time, report=lambda told: None)


def errors(folder: Path) -> None:
    """Print the errors of one cell in one hour."""
    records, by = read(UBER, folder, region_of(UBER, CELLS * CELL_M)), snh.By.hour()
    grid = Grid(records.region, CELLS)
    truth = np.stack([p.count(grid).counts.ravel() for p in PointSource(records).strata(by)()])
    data = snh.PrivateDataset(records, budget=10, unit="record")
    first = 0.0

    def row(name: str, found: NDArray, took: str = "|") -> float:
        error = float((np.abs(found - truth) * truth).sum() / truth.sum())
        less = f"{1 - error / first:.0%}" if first else ""
        print(f"| {name} | {error:.2f} | {less} | {took} |", flush=True)
        return error

    def made(name: str, builder: Builder) -> float:
        start, busy = time.perf_counter(), time.process_time()
        day = data.release(builder, epsilon=EPSILON, by=by)
        took = f"{time.perf_counter() - start:.0f} | {time.process_time() - busy:.0f}"
        return row(name, np.stack([each.answer(grid.boxes()) for each in day.values()]), took)

    held = (truth**2).sum() / len(records)
    print(f"{len(records):,} records; a cell with a record holds {held:.1f} on average")
    print("| map | mean absolute error, records | below the first | s | processor s |")
    print("|---|---|---|---|---|", flush=True)
    first = made("noisy histogram", snh.Identity(CELL_M))
    row("nothing but 0", np.zeros_like(truth))
    made("denoised, each hour alone", snh.DenoisedGrid(cell_m=CELL_M, pool=0))
    made("denoised, with a map of all hours", snh.DenoisedGrid(cell_m=CELL_M))


def errors_of(parts: list[snh.Points], day: StratifiedRelease) -> dict[str, NDArray]:
    """Return what is measured of each stratum, and of the quietest quarter of them.

    Relative errors are those of squares around the stratum's records, absolute ones those of
    squares anywhere, and "total" is the relative error of the number of records.
    """
    found: dict[str, list[float]] = {}
    for part, made in zip(parts, day.values(), strict=False):  # no record is of another kind
        for size in SIZE_BANDS_M:
            near = snh.RangeQueries.sample(part, BOXES, size)
            off = relative_errors(made.answer(near), snh.exact_counts(part, near), len(part))
            found.setdefault(f"near, {band_name(size)}", []).append(float(off.mean()))
            boxes = snh.RangeQueries.sample(part.region, BOXES, size)
            off = np.abs(made.answer(boxes) - snh.exact_counts(part, boxes)).mean()
            found.setdefault(f"anywhere, {band_name(size)}", []).append(float(off))
        whole = Grid(part.region, 1).boxes()
        found.setdefault("total", []).append(float(abs(made.answer(whole)[0] / len(part) - 1)))
    told = {name: np.array(values) for name, values in found.items()}
    n = np.array([len(part) for part in parts])
    return told | {f"quiet, {name}": each[n <= np.quantile(n, 0.25)] for name, each in told.items()}


def divided(
    names: list[str], by: snh.By, folder: Path
) -> tuple[snh.PrivateDataset, list[snh.Points]]:
    """Return the records of public data sets, each of a kind unless ``by`` divides by time."""
    region = region_of(names[0])
    parts = [read(name, folder, region) for name in names]
    if by.times:
        number = by.of_points(parts[0])
        data = snh.PrivateDataset(parts[0], 100, unit="record")
        return data, [snh.Points(region, parts[0].xy[number == k]) for k in range(len(by))]
    rows = [
        pd.DataFrame(region.to_latlon(part.xy), ["lat", "lon"]).T.assign(kind=kind)
        for part, kind in zip(parts, by.labels, strict=False)
    ]
    return snh.PrivateDataset.scan(pd.concat(rows), region, 100, unit="record"), parts


def pooled(folder: Path, numbers: Sequence[int] = ()) -> None:
    """Print errors with a map of all strata divided by those without, means over strata."""
    heads: list[str] = []
    alike = []
    for names, by, prices in POOLED:
        if numbers and len(by) not in numbers:
            continue
        data, parts = divided(names, by, folder)
        for epsilon in prices:
            alone, both = (
                errors_of(parts, data.release(snh.DenoisedGrid(pool=pool), epsilon=epsilon, by=by))
                for pool in (0, POOL)
            )
            if not heads:
                heads = ["records", "n", "strata", "epsilon", *alone]
                print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)
            ratios = [both[name].mean() / alone[name].mean() for name in alone]
            alike += [ratios] if by.alike else []
            n = sum(map(len, parts))
            row = ("; ".join(names), f"{n:,}", len(by), epsilon, *(f"{r:.2f}" for r in ratios))
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
    told = (f"{r:.2f}" for r in np.median(alike, axis=0))
    print("| " + " | ".join(("median of hours and weekdays", "", "", "", *told)) + " |")


def expected(folder: Path, methods: Sequence[str] = COVERED) -> None:
    """Print measured errors divided by those of ``expected_error``, means over strata."""
    measures = {"near": "rel_error", "anywhere": "abs_error_anywhere"}
    bands = [f"{where}, {band_name(size)}" for where, size in product(measures, SIZE_BANDS_M)]
    heads = ("records", "strata", "method", *bands)
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)
    for name, by in product((BOSTON, CABS, UBER), (snh.By.hour(), snh.By.weekday())):
        data, parts = divided([name], by, folder)
        public = snh.Points(parts[0].region, np.concatenate([part.xy for part in parts]))
        given = {"n": len(public), "epsilon": 0.2, "sizes_m": None, "public": public, "by": by}
        for key in methods:
            found = errors_of(parts, data.release(key, epsilon=0.2, by=by))
            told = np.ravel([snh.expected_error(key, **given)[one] for one in measures.values()])
            ratios = (found[band].mean() / one for band, one in zip(bands, told, strict=True))
            row = (name, len(by), key, *(f"{ratio:.2f}" for ratio in ratios))
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


def coverage(folder: Path, methods: Sequence[str] = COVERED) -> None:
    """Print how often intervals of strata, sums, and one map contain the true count."""
    places = {
        BOSTON: read(BOSTON, folder, region_of(BOSTON)),
        CABS: read(CABS, folder, region_of(CABS)),
        "Fargo, synthetic": snh.synthetic_points("fargo", 60_000),
    }
    heads = ("records", "method", "strata", "around", "side", "stratum", "sum", "one map")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, records in places.items():
        asked = {
            (around, band): snh.RangeQueries.sample(where, BOXES, size)
            for around, where in (("records", records), ("anywhere", records.region))
            for band, size in BANDS.items()
        }
        for key, step in tqdm(list(product(methods, (1, 6))), leave=False):
            by, hits = snh.By.hour(step), {which: np.zeros(3) for which in asked}
            number = by.of_points(records)
            parts = [snh.Points(records.region, records.xy[number == k]) for k in range(len(by))]
            for _ in range(SEEDS):
                data = snh.PrivateDataset(records, budget=10, unit="record")
                day = data.release(key, epsilon=0.3, by=by)
                one = data.release(key, epsilon=0.3)
                for which, boxes in asked.items():
                    each = [snh.exact_counts(part, boxes) for part in parts]
                    true = np.concatenate(each), np.sum(each, axis=0), np.sum(each, axis=0)
                    for k, release in enumerate((day, day.total(), one)):
                        found = release.estimate(boxes)
                        within = (found.low <= true[k]) & (true[k] <= found.high)
                        hits[which][k] += within.mean() / SEEDS
            for which, held in hits.items():
                row = (name, key, len(by), *which, *(f"{share:.0%}" for share in held))
                print("| " + " | ".join(map(str, row)) + " |", flush=True)


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--methods", nargs="+", default=list(COVERED))
    parser.add_argument("--strata", nargs="+", type=int, default=[], help="their number in pooled")
    tables = {"errors": errors, "pooled": pooled, "expected": expected, "coverage": coverage}
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    given = parser.parse_args()
    warnings.simplefilter("ignore", snh.errors.OutsideWarning)
    options = {"errors": [], "pooled": [given.strata]}
    for table in given.tables:
        tables[table](given.data, *options.get(table, [given.methods]))


if __name__ == "__main__":
    main()
