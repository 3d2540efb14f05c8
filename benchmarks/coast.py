"""What a public coastline tells about counts near water: python benchmarks/coast.py [--help].

Needs the folder of public data sets that ``places.py`` names. Land is that of the county borders
that snhkit ships (US Census 2016), so that it depends on no record. Prints, as Markdown, the share
of the records that lie outside it, and the mean absolute error, in records, of squares anywhere,
and of those that the coast crosses: without a mask, with ``Release.constrained(mask=land)``, and
with a denoised grid that is told of the land before it is reconciled with its noisy sums.
"""

import argparse
from functools import partial
from pathlib import Path
from unittest.mock import patch

import geopandas as gpd
import numpy as np
import shapely
from jaxtyping import Bool
from places import PLACES, records_of
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.geometry import Grid
from snhkit.geometry.grid import block_sums
from snhkit.neural.denoiser import levels
from snhkit.viz.maps.land import _frame  # pyright: ignore[reportPrivateUsage]

CITIES = ("San Francisco, taxis", "Boston, check-ins")
EPSILONS = (0.05, 0.2, 0.8)
SIZES_M = ((25.0, 100.0), (100.0, 500.0), (500.0, 2_000.0))
METHODS = ("ug", "identity", "privtree", "denoised")
COUNT = 20_000
_NOTHING = 1e-6  # a variance, in noise scales, of counts that are known


def before(land: shapely.Geometry):
    """Return a context in which cells outside the land are known to be empty.

    Denoised grids that are built in it know this before the network and the reconciliation.
    """
    return patch.object(levels, "estimates", partial(_estimates, land))


def _estimates(land, grid: Grid, noise_scale, cells, large, small, group=None):
    """Return estimates of sums over blocks, in which cells outside the land have no noise."""
    dry = on_land(grid, land)
    alone = np.arange(grid.m**2).reshape(grid.m, grid.m) if group is None else group
    held = np.bincount(alone.ravel(), dry.ravel())
    wet = held == 0
    each = (np.bincount(alone.ravel(), cells.ravel()) / np.where(wet, 1, held))[alone] * dry
    of_small, of_large = levels.blocks(grid)
    counted = block_sums((dry / np.where(wet, 1, held)[alone]), of_small)
    weighed, combined = levels._weighed, levels._combined
    sums, variance = weighed(block_sums(each, of_small), np.maximum(2 * counted, _NOTHING), small)
    inside = np.searchsorted(of_small, of_large)
    fine, coarse = combined(sums, variance, inside, large)
    return levels.Levels(
        grid, noise_scale, each, levels.Blocks(of_small, *fine), levels.Blocks(of_large, *coarse),
        group,
    )  # fmt: skip


def on_land(grid: Grid, land: shapely.Geometry) -> Bool[np.ndarray, "{grid.m} {grid.m}"]:
    """Return whether the land touches each cell."""
    boxes = grid.boxes()
    cells = shapely.box(boxes.x, boxes.y, boxes.x1, boxes.y1)
    shapely.prepare(land)
    return shapely.intersects(land, cells).reshape(grid.m, grid.m)


def crossed(boxes: snh.RangeQueries, land: shapely.Geometry) -> Bool[np.ndarray, " q"]:
    """Return which boxes are partly on land and partly not."""
    shapes = shapely.box(boxes.x, boxes.y, boxes.x1, boxes.y1)
    shapely.prepare(land)
    return shapely.intersects(land, shapes) & ~shapely.contains(land, shapes)


def tables(name: str, folder: Path, draws: int, methods: list[str]) -> None:
    """Print the table of one city."""
    records = records_of(PLACES[name], folder)
    region = records.region
    counties = _frame("counties")
    seen = counties.intersects(shapely.box(*np.array(region.bounds)[[1, 0, 3, 2]]))
    near = snh.districts.Districts.of(gpd.GeoDataFrame(counties[seen]))
    land = shapely.union_all(near.inside(region).clipped)
    outside = 1 - shapely.contains_xy(land, records.xy).mean()
    print(f"\n{name}: land {land.area / region.side_m**2:.0%}, {outside:.3%} of records outside\n")
    boxes = [snh.RangeQueries.sample(region, COUNT, size) for size in SIZES_M]
    truth = [snh.exact_counts(records, part) for part in boxes]
    coast = [crossed(part, land) for part in boxes]
    heads = [f"{a:g}-{b:g} m, {w}" for a, b in SIZES_M for w in ("anywhere", "coast")]
    print("| epsilon | method | mask |", " | ".join(heads), "|")
    print("|---" * (3 + len(heads)) + "|", flush=True)
    data = snh.PrivateDataset(records, budget=10**6, unit="record", n_public=True)

    def errors(release: snh.Release) -> list[float]:
        found = []
        for part, true, shore in zip(boxes, truth, coast, strict=True):
            off = np.abs(np.maximum(release.answer(part), 0) - true)
            found += [off.mean(), off[shore].mean()]
        return found

    for epsilon in EPSILONS:
        for key in tqdm(methods, leave=False):
            rows: dict[str, list[list[float]]] = {}
            for _ in range(draws):
                release = data.release(snh.METHODS[key].builder(), epsilon=epsilon)
                rows.setdefault("none", []).append(errors(release))
                rows.setdefault("after", []).append(errors(release.constrained(mask=near)))
                if key == "denoised":
                    with before(land):
                        told = data.release(snh.DenoisedGrid(), epsilon=epsilon)
                    rows.setdefault("before", []).append(errors(told))
                    both = told.constrained(mask=near)
                    rows.setdefault("before and after", []).append(errors(both))
            for mask, found in rows.items():
                told = " | ".join(f"{x:.3f}" for x in np.mean(found, axis=0))
                tqdm.write(f"| {epsilon:g} | {snh.METHODS[key].title} | {mask} | {told} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Errors along a coast, with a mask and without.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--cities", nargs="+", default=CITIES, choices=PLACES)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    given = parser.parse_args()
    for city in given.cities:
        tables(city, given.folder, given.draws, given.methods)
