"""Errors of the denoised grid and others on many cities: python benchmarks/cities.py [--help].

Needs a folder of public data sets, none of which its network was trained on. Prints, as Markdown,
mean relative errors of squares of 25 to 100 m on records; the better of UG, AG, PrivTree and DAWA;
the best Identity of a sweep of widths, which nobody has who may not look at the records; and how
the denoised grid compares with both.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cabs import EPSILONS
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.experiment import relative_errors

SIDE_M = 13_200.0
OTHERS = ("ug", "ag", "privtree", "dawa")


@dataclass(frozen=True)
class Place:
    """A file, the centre of a region in it, and the number of records to take."""

    file: str
    lat: float
    lon: float
    most: int | None = None


PLACES = {
    "San Francisco, taxis": Place("sf_cabs.npy", 37.7637, -122.4337),
    "San Francisco, taxis, tenth": Place("sf_cabs.npy", 37.7637, -122.4337, 21_744),
    "New York, Uber": Place("nyc_uber_2014_sample.parquet", 40.75, -73.98),
    "New York, cabs": Place("nyc_cab_pickups.csv.gz", 40.75, -73.98),
    "Boston, incidents": Place("boston_incidents.csv.gz", 42.33, -71.08),
    "Boston, check-ins": Place("boston_foursquare_checkins.csv.gz", 42.36, -71.06),
    "Los Angeles, check-ins": Place("los_angeles_foursquare_checkins.csv.gz", 34.05, -118.30),
    "Milwaukee, check-ins": Place("milwaukee_foursquare_checkins.csv.gz", 43.038, -87.91),
    "Kansas City, check-ins": Place("kansas_city_gowalla_checkins.csv.gz", 39.09, -94.58),
}

OTHER_CITIES = tuple(PLACES)[2:8]
"""The places outside San Francisco with more than 2,000 records."""


def records_of(place: Place, folder: Path) -> snh.Points:
    """Return the records of a place, or a sample if the place limits their number."""
    region = snh.Region.around(place.lat, place.lon, SIDE_M)
    points = snh.read_points(folder / place.file, region)
    if place.most is None:
        return points
    chosen = np.random.default_rng(0).permutation(len(points))[: place.most]
    return snh.Points(region, points.xy[chosen])


def sweep(n: int, epsilon: float) -> list[Builder]:
    """Return Identity builders with cell widths around the default."""
    width = default_cell_width(n, epsilon)
    return [snh.Identity(width * factor) for factor in (0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.2, 1.4, 2)]


def table(name: str, place: Place, folder: Path, draws: int) -> list[tuple[float, float, float]]:
    """Print a city's rows; return errors of the best other, best Identity and DenoisedGrid."""
    records = records_of(place, folder)
    n = len(records)
    boxes = snh.RangeQueries.sample(records, 5000)
    truth = snh.exact_counts(records, boxes)
    data = snh.PrivateDataset(records, budget=10**6, unit="record", n="public")

    def error(builder: Builder, epsilon: float) -> float:
        releases = (data.release(builder, epsilon=epsilon) for _ in range(draws))
        # Everyone may cut an answer at 0.
        answers = (np.maximum(release.answer(boxes), 0) for release in releases)
        return float(np.mean([relative_errors(a, truth, n).mean() for a in answers]))

    rows = []
    for epsilon in tqdm(EPSILONS, desc=name, leave=False):
        others = [error(snh.METHODS[key].builder(), epsilon) for key in OTHERS]
        oracle = min(error(builder, epsilon) for builder in sweep(n, epsilon))
        ours = error(snh.DenoisedGrid(), epsilon)
        zero = relative_errors(np.zeros(len(boxes)), truth, n).mean()
        best = OTHERS[int(np.argmin(others))]
        rows.append((min(others), oracle, ours))
        cells = [name, f"{n:,}", epsilon, f"{min(others):.3f} ({snh.METHODS[best].title})"]
        cells += [f"{oracle:.3f}", f"{zero:.3f}", f"{ours:.3f}"]
        cells += [f"{ours / min(others):.2f}", f"{ours / oracle:.2f}"]
        tqdm.write("| " + " | ".join(map(str, cells)) + " |")
    return rows


def means(name: str, tables: list[list[tuple[float, float, float]]]) -> None:
    """Print the geometric means of the ratios of errors over one or more cities."""
    others, oracle, ours = np.log(np.concatenate(tables)).T
    ratios = (oracle - others, ours - others, ours - oracle)
    print("| " + " | ".join([name, *(f"{np.exp(r.mean()):.3f}" for r in ratios)]) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="The denoised grid beside the others on many cities."
    )
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    print("| records | n | epsilon | best of four | best Identity | 0 | Denoised grid |", end="")
    print(" ratio | ratio |")
    print("|---" * 9 + "|", flush=True)
    found = {k: table(k, p, given.folder, given.draws) for k, p in PLACES.items()}
    print("\n| geometric means | best Identity / best of four |", end="")
    print(" Denoised grid / best of four | Denoised grid / best Identity |")
    print("|---" * 4 + "|")
    for name in found:
        means(name, [found[name]])
    means("six other cities", [found[name] for name in OTHER_CITIES])
    means("all nine", list(found.values()))
