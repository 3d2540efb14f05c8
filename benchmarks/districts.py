"""Counts by district on San Francisco's taxis: python benchmarks/districts.py [--help].

Needs a folder with sf_cabs.npy. Prints, as Markdown, the mean absolute error in records of the
counts of square districts of one size that cover the region, and the sum of these counts divided by
the number of records. The first two methods use the districts as cells; the other methods do not
depend on the districts.
"""

import argparse
from pathlib import Path

import geopandas as gpd
import numpy as np
import shapely
from cabs import CITY, cabs
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.geometry import Grid

METHODS = ("ug", "ag", "privtree", "identity", "denoised")


def squares(grid: Grid) -> gpd.GeoDataFrame:
    """Return the cells of a grid as polygons in degrees."""
    boxes = grid.boxes()
    local = gpd.GeoSeries(shapely.box(boxes.x, boxes.y, boxes.x1, boxes.y1), crs=CITY.crs)
    shapes = local.translate(-CITY.side_m / 2, -CITY.side_m / 2).to_crs(4326)
    return gpd.GeoDataFrame({"square": range(len(boxes))}, geometry=shapes)


def row(data: snh.PrivateDataset, builder: Builder, epsilon: float, given) -> tuple[float, float]:
    """Return the mean absolute error of the districts' counts, and their sum divided by n."""
    districts, truth, draws = given
    counts = [data.release(builder, epsilon=epsilon).answer(districts) for _ in range(draws)]
    return float(np.abs(counts - truth).mean()), float(np.mean(np.sum(counts, axis=1)) / data.n)


def table(records: snh.Points, side_m: float, epsilon: float, draws: int) -> None:
    """Print a table with a row for each method."""
    grid = Grid.of_width(CITY, side_m)
    districts, truth = squares(grid), grid.count(records).counts.ravel()
    builders: dict[str, Builder] = {
        "Tessellation, told the districts": snh.Tessellation(districts, label="square"),
        "Identity, its cells are the districts": snh.Identity(grid.cell_m),
    }
    builders |= {snh.METHODS[key].title: snh.METHODS[key].builder() for key in METHODS}
    data = snh.PrivateDataset(records, budget=10_000, unit="record", n_public=True)
    print(
        f"\n{len(districts):,} squares of {grid.cell_m:.1f} m, epsilon {epsilon:g}, "
        f"mean of {draws} draws\n\n| method | mean absolute error, records | sum / n |"
    )
    print("|---|---|---|", flush=True)
    for name, builder in tqdm(builders.items(), unit="method", leave=False):
        error, total = row(data, builder, epsilon, (districts, truth, draws))
        tqdm.write(f"| {name} | {error:.1f} | {total:.3f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Counts by district on San Francisco's taxis.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--side-m", type=float, nargs="+", default=[508.0])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.2])
    given = parser.parse_args()
    records = cabs(given.folder)
    for side_m in given.side_m:
        for epsilon in given.epsilon:
            table(records, side_m, epsilon, given.draws)
