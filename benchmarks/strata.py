"""Errors and intervals of maps by hour: python benchmarks/strata.py [--help].

Needs the folder of public data sets. The table "errors" has the mean absolute error of queries of
one cell of 37 m in one hour, at each record, on New York's Uber pick-ups, which no network was
trained on: of a noisy histogram, of denoised grids, and of these with a share of epsilon for a map
of all hours, to which the hours add up. The table "coverage" has how often 90 % intervals contain
the true count: of the sum over strata, and of one map of all records.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from public_cities import CALIBRATION, HELD_OUT
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.geometry import Grid
from snhkit.privacy.count_source import PointSource

CELLS, CELL_M, EPSILON = 576, 37, 0.2
COMMON = 0.05  # the part of epsilon for the map of all hours
PULLS = (0.3, 1.0)  # weights of the pattern of all hours against that of an hour
BANDS = {"25 to 100 m": (25, 100), "100 m to 1 km": (100, 1_000), "1 to 5 km": (1_000, 5_000)}
BOXES, SEEDS = 300, 2


def timed(name: str, folder: Path, side_m: float) -> snh.Points:
    """Return the records of a public data set with their times."""
    source = (CALIBRATION | HELD_OUT)[name]
    region = snh.Region.around(source.lat, source.lon, side_m)
    return snh.read_points(folder / source.file, region, time="time", report=lambda told: None)


def counts_of(release: snh.Release, grid: Grid) -> NDArray[np.float64]:
    """Return the counts of all cells of a grid by a release."""
    return release.answer(grid.boxes())


def shared(hours: NDArray, whole: NDArray, pull: float) -> NDArray[np.float64]:
    """Return counts of hours that add up to a map of all hours, and are drawn to its pattern."""
    mixed = hours + pull * whole * (hours.sum(axis=1) / hours.sum())[:, None]
    sums = mixed.sum(axis=0)
    return mixed * np.divide(whole, sums, out=np.zeros_like(sums), where=sums > 0)


def errors(folder: Path) -> None:
    """Print the errors of one cell in one hour."""
    records, by = timed("New York, Uber", folder, CELLS * CELL_M), snh.By.hour()
    grid = Grid(records.region, CELLS)
    truth = np.stack([p.count(grid).counts.ravel() for p in PointSource(records).strata(by)()])
    data = snh.PrivateDataset(records, budget=10, unit="record")

    def made(builder: Builder, epsilon: float) -> tuple[NDArray[np.float64], float]:
        busy = time.process_time()
        day = data.release(builder, epsilon=epsilon, by=by)
        took = time.process_time() - busy
        return np.stack([counts_of(each, grid) for each in day.values()]), took

    def row(name: str, found: NDArray, took: float) -> float:
        error = float((np.abs(found - truth) * truth).sum() / truth.sum())
        less = f"{1 - error / first:.0%}" if first else ""
        print(f"| {name} | {error:.2f} | {less} | {took:.0f} |", flush=True)
        return error

    first = 0.0
    held = (truth**2).sum() / len(records)
    print(f"{len(records):,} records; a cell with a record holds {held:.1f} on average")
    print("| map | mean absolute error, records | below the first | processor s |")
    print("|---|---|---|---|", flush=True)
    first = row("noisy histogram", *made(snh.Identity(CELL_M), EPSILON))
    row("nothing but 0", np.zeros_like(truth), 0)
    denoised = snh.DenoisedGrid(cell_m=CELL_M)
    row("denoised by hour", *made(denoised, EPSILON))
    hours, took = made(denoised, EPSILON - COMMON)
    whole = counts_of(data.release(denoised, epsilon=COMMON), grid)
    row("denoised by hour at 0.15", hours, took)
    for pull in PULLS:
        row(f"the same and all hours at 0.05, pull {pull:g}", shared(hours, whole, pull), took)


def coverage(folder: Path) -> None:
    """Print how often intervals of sums over strata, and of one map, contain the true count."""
    places = {
        "Boston, incidents": timed("Boston, incidents", folder, 13_200),
        "Fargo, synthetic": snh.synthetic_points("fargo", 60_000),
    }
    print("| records | method | strata | around | side | sum | one map |\n" + "|---" * 7 + "|")
    for name, records in places.items():
        asked = {
            (around, band): snh.RangeQueries.sample(where, BOXES, size)
            for around, where in (("records", records), ("anywhere", records.region))
            for band, size in BANDS.items()
        }
        for key in tqdm(("identity", "ug", "privtree"), leave=False):
            for step in (1, 6):
                by, hits = snh.By.hour(step), {which: np.zeros(2) for which in asked}
                for _ in range(SEEDS):
                    data = snh.PrivateDataset(records, budget=10, unit="record")
                    made = [data.release(key, epsilon=0.3, by=by).total()]
                    made.append(data.release(key, epsilon=0.3))
                    for which, boxes in asked.items():
                        true = snh.exact_counts(records, boxes)
                        for k, release in enumerate(made):
                            found = release.estimate(boxes)
                            within = (found.low <= true) & (true <= found.high)
                            hits[which][k] += within.mean() / SEEDS
                for (around, band), (sums, one) in hits.items():
                    row = (name, key, len(by), around, band, f"{sums:.0%}", f"{one:.0%}")
                    print("| " + " | ".join(map(str, row)) + " |", flush=True)


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    tables = {"errors": errors, "coverage": coverage}
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    given = parser.parse_args()
    warnings.simplefilter("ignore", snh.errors.OutsideWarning)
    for table in given.tables:
        tables[table](given.data)


if __name__ == "__main__":
    main()
