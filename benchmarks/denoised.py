"""Errors of the denoised grid and of other methods: python benchmarks/denoised.py [--help].

Needs the folder of public data sets that ``places.py`` names. Prints five tables as Markdown. The
first has, for each method on San Francisco's taxis, the errors of squares of all sizes and of 508 m
tiles, and the sum of the tiles divided by n. The second ("frontier") has the same for the denoised
grid with several shares of epsilon for counts of blocks, the third ("few") on samples of six other
cities, and the fourth for several cell widths. The fifth has errors around records and anywhere on
other cities.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from cabs import CITY, EPSILONS, cabs
from places import OTHER_CITIES, PLACES, Place, records_of, sweep
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.geometry import Grid
from snhkit.metrics import relative_errors

OTHERS = ("ug", "ag", "privtree", "dawa")
METHODS = (*OTHERS, "identity", "snh", "denoised")
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
FEW = ((2_000, 0.05), (3_000, 0.1), (5_000, 0.2), (8_000, 0.5))
FEW_SHARES = (0.03, 0.1, 0.17, 0.25, 0.4)
FACTORS = (0.7, 0.9, 1.0, 1.2)
TILES_M = (25, 50, 100, 400)
COLUMNS = (
    "on records", "anywhere, records", "100-300 on", "100-300", "300-1,000", "1-5 km",
    "508 m, records", "25 m", "50 m", "100 m", "400 m",
)  # fmt: skip
WAYS = tuple(COLUMNS[:7])


class Task:
    """Squares of all sizes, around records and anywhere, with their true counts."""

    def __init__(self, records: snh.Points) -> None:
        self.n, region = len(records), records.region
        tiles = Grid(region, round(region.side_m / 508)).boxes()
        boxes = (
            snh.RangeQueries.sample(records, 5_000, DEFAULT_SIZES_M),
            snh.RangeQueries.sample(region, 20_000, DEFAULT_SIZES_M),
            snh.RangeQueries.sample(records, 3_000, (100.0, 300.0)),
            snh.RangeQueries.sample(region, 5_000, (100.0, 300.0)),
            snh.RangeQueries.sample(region, 5_000, (300.0, 1_000.0)),
            snh.RangeQueries.sample(region, 5_000, (1_000.0, 5_000.0)),
            tiles,
        )
        self.asked = [(part, snh.exact_counts(records, part)) for part in boxes]
        self.tiles = [Grid.of_width(region, side).boxes() for side in TILES_M]

    def measured(self, release: snh.Release) -> list[float]:
        """Return the mean errors of a release and its sums of tiles / n, one for each column."""
        found = []
        for way, (boxes, truth) in zip(WAYS, self.asked, strict=True):
            answers = release.answer(boxes)
            in_records = "records" in way.split(", ")
            errors = (
                np.abs(answers - truth) if in_records else relative_errors(answers, truth, self.n)
            )
            found.append(float(errors.mean()))
        return [*found, *(release.answer(part).sum() / self.n for part in self.tiles)]


def header(first: str) -> None:
    """Print the head of a table."""
    print("\n| " + " | ".join([first, "epsilon", *COLUMNS]) + " |")
    print("|---" * (len(COLUMNS) + 2) + "|", flush=True)


def row(name: str, epsilon: float, numbers: Sequence[float]) -> None:
    """Print one line of a table."""
    in_records = ["records" in column.split(", ") for column in COLUMNS]
    shown = [f"{x:.{2 if few else 4}f}" for x, few in zip(numbers, in_records, strict=True)]
    tqdm.write(f"| {name} | {epsilon} | " + " | ".join(shown) + " |")


def mean(
    task: Task,
    data: snh.PrivateDataset,
    builder: Builder,
    epsilon: float,
    draws: int,
    public: snh.Points | None = None,
):
    """Return the numbers of ``Task.measured`` for a builder, averaged over draws of the noise."""
    releases = (data.release(builder, epsilon=epsilon, public=public) for _ in range(draws))
    return np.mean([task.measured(release) for release in releases], axis=0)


def cabs_table(folder: Path, draws: int, methods: Sequence[str] = METHODS) -> None:
    """Print the errors of each method on San Francisco's taxis."""
    records = cabs(folder)
    task, data = (
        Task(records),
        snh.PrivateDataset(records, budget=10**6, unit="record", n_public=True),
    )
    public = snh.read_points(folder / "san_francisco_gowalla_checkins.csv.gz", CITY)
    header("method")
    for epsilon in EPSILONS:
        for key in methods:
            method = snh.METHODS[key]
            # SNH is trained on squares around these public points; the other methods ignore them.
            near = public if key == "snh" else None
            row(method.title, epsilon, mean(task, data, method.builder(), epsilon, draws, near))


def frontier_table(folder: Path, draws: int) -> None:
    """Print the errors for different shares of epsilon that buy counts of blocks."""
    records = cabs(folder)
    task, data = (
        Task(records),
        snh.PrivateDataset(records, budget=10**6, unit="record", n_public=True),
    )
    header("share")
    for epsilon in EPSILONS[::2]:
        for share in SHARES:
            builder = snh.DenoisedGrid(coarse=share)
            row(f"{share:g}", epsilon, mean(task, data, builder, epsilon, draws))


def few_table(folder: Path, draws: int) -> None:
    """Print the same for random samples of few records: geometric means over six other cities."""
    cities = {name: records_of(PLACES[name], folder) for name in OTHER_CITIES}
    header("share")
    for n, epsilon in FEW:
        errors = []
        for records in tqdm(cities.values(), desc=f"{n:,} records", leave=False):
            chosen = np.random.default_rng(0).permutation(len(records))[:n]
            some = snh.Points(records.region, records.xy[chosen])
            task = Task(some)
            data = snh.PrivateDataset(some, budget=10**6, unit="record", n_public=True)
            builders = [snh.DenoisedGrid(coarse=share) for share in FEW_SHARES]
            errors.append([mean(task, data, builder, epsilon, draws) for builder in builders])
        found = np.exp(np.log(errors).mean(axis=0))
        for share, numbers in zip(FEW_SHARES, found, strict=True):
            row(f"{share:g} of {n:,} records", epsilon, numbers.tolist())


def widths_table(folder: Path, draws: int) -> None:
    """Print the errors for wider and narrower cells."""
    records = cabs(folder)
    task, data = (
        Task(records),
        snh.PrivateDataset(records, budget=10**6, unit="record", n_public=True),
    )
    header("width, m")
    for epsilon in EPSILONS[::2]:
        usual = data.release(snh.DenoisedGrid(), epsilon=epsilon).model.cells()
        assert isinstance(usual, Grid)
        for factor in FACTORS:
            width = factor * 2 * usual.cell_m
            found = mean(task, data, snh.DenoisedGrid(width), epsilon, draws)
            row(f"{width:.0f}", epsilon, found)


def city_rows(name: str, place: Place, folder: Path, draws: int) -> list[tuple[float, ...]]:
    """Print a city's rows, and return the errors of the best other method, Identity and ours."""
    records = records_of(place, folder)
    n, region = len(records), records.region
    near = snh.RangeQueries.sample(records, 5_000)
    far = snh.RangeQueries.sample(region, 20_000)
    truths = snh.exact_counts(records, near), snh.exact_counts(records, far)
    data = snh.PrivateDataset(records, budget=10**6, unit="record", n_public=True)

    def errors(builder: Builder, epsilon: float) -> tuple[float, float]:
        found = []
        for _ in range(draws):
            release = data.release(builder, epsilon=epsilon)
            # Replacing negative answers by 0 is post-processing, so all methods get it.
            one, two = (np.maximum(release.answer(boxes), 0) for boxes in (near, far))
            found.append(
                (relative_errors(one, truths[0], n).mean(), np.abs(two - truths[1]).mean())
            )
        on_records, anywhere = np.mean(found, axis=0)
        return float(on_records), float(anywhere)

    rows = []
    for epsilon in tqdm(EPSILONS, desc=name, leave=False):
        others = [errors(snh.METHODS[key].builder(), epsilon) for key in OTHERS]
        identities = [errors(builder, epsilon) for builder in sweep(n, epsilon)]
        ours = errors(snh.DenoisedGrid(), epsilon)
        best, oracle = (min(a for a, _ in part) for part in (others, identities))
        lowest = min(b for _, b in others + identities)
        rows.append((best, oracle, ours[0]))
        cells = [name, f"{n:,}", epsilon, f"{best:.3f}", f"{oracle:.3f}", f"{ours[0]:.3f}"]
        cells += [f"{ours[0] / best:.2f}", f"{ours[0] / oracle:.2f}"]
        cells += [f"{lowest:.3f}", f"{ours[1]:.3f}", f"{ours[1] / lowest:.2f}"]
        tqdm.write("| " + " | ".join(map(str, cells)) + " |")
    return rows


def cities_table(folder: Path, draws: int) -> None:
    """Print the errors on other cities, and the geometric means of their ratios."""
    print("\n| records | n | epsilon | best of four | best Identity | denoised | of the four "
          "| of Identity | best other anywhere | denoised anywhere | ratio |")  # fmt: skip
    print("|---" * 11 + "|", flush=True)
    found = {name: city_rows(name, place, folder, draws) for name, place in PLACES.items()}
    print("\n| geometric means | denoised of the best of four | of the best Identity |")
    print("|---" * 3 + "|")
    chosen = {name: [name] for name in found} | {"six other cities": list(OTHER_CITIES)}
    for name, parts in (chosen | {"all nine": list(found)}).items():
        others, oracle, ours = np.log(np.concatenate([found[part] for part in parts])).T
        ratios = np.exp([(ours - others).mean(), (ours - oracle).mean()])
        print(f"| {name} | {ratios[0]:.3f} | {ratios[1]:.3f} |", flush=True)


TABLES = {
    "cabs": cabs_table,
    "frontier": frontier_table,
    "few": few_table,
    "widths": widths_table,
    "cities": cities_table,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Errors of the denoised grid and of others.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument(
        "--methods", nargs="+", default=METHODS, choices=METHODS, help="methods of the table cabs"
    )
    given = parser.parse_args()
    for name in given.tables:
        further = {"methods": given.methods} if name == "cabs" else {}
        TABLES[name](given.folder, given.draws, **further)
