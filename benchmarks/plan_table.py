"""The table behind ``expected_error``: python benchmarks/plan_table.py [--help].

Needs the folder of public data sets. Measures methods on public and synthetic places, with all
records and with samples of them. The sweep can be interrupted and resumed.
"""

import argparse
from pathlib import Path

import pandas as pd
from public_cities import CALIBRATION, HELD_OUT, OTHERS, SIDES_M, place

import snhkit as snh
from snhkit.experiment import SIZE_BANDS_M, Place, sweep
from snhkit.experiment.expected import PLANNED

EPSILONS = ("0.05", "0.2", "0.8")
SOURCES = CALIBRATION | HELD_OUT | OTHERS
SYNTHETIC = {"Milwaukee": 100_000, "San Francisco": 100_000, "Tulsa": 50_000, "Boston": 20_000}
FAST = ("ug", "identity", "ag", "privtree", "quadtree", "hb2d", "privelet", "dawa")

RUNS = (
    (FAST, SIDES_M[0], (None, 10_000, 2_000), EPSILONS),
    (FAST, SIDES_M[1], (None,), ("0.05", "0.8")),
    (("hdmm",), SIDES_M[0], (None,), ("0.05", "0.8")),
    (("hdmm",), SIDES_M[0], (2_000,), ("0.2",)),
    (("hdmm",), SIDES_M[1], (None,), ("0.2",)),
    (("pgm",), SIDES_M[0], (None,), ("0.05", "0.8")),
    (("pgm",), SIDES_M[0], (2_000,), ("0.2",)),
    (("denoised",), SIDES_M[0], (None,), ("0.05", "0.2", "0.8")),
    (("denoised",), SIDES_M[0], (2_000,), ("0.2",)),
    (("snh",), SIDES_M[0], (None,), ("0.05", "0.2", "0.8")),
    (("snh",), SIDES_M[0], (2_000,), ("0.2",)),
)
"""What is measured: methods, the side of the region, numbers of records, and epsilons."""


def places(folder: Path, side_m: float) -> dict[str, Place]:
    """Return all places with regions of one side, by name."""
    found = {name: place(source, folder, side_m) for name, source in SOURCES.items()}
    for city, n in SYNTHETIC.items():
        key = city.lower().replace(" ", "_")
        region = snh.Region.around(0, 0, side_m)
        points = snh.synthetic_points(key, n, seed=3)
        middle = (points.region.side_m - side_m) / 2
        inside = points.xy - middle
        kept = ((inside >= 0) & (inside < side_m)).all(axis=1)
        found[f"{city}, synthetic"] = Place(snh.Points(region, inside[kept]))
    return found


def measured(folder: Path, file: Path, methods: list[str]) -> pd.DataFrame:
    tables = []
    for side_m in SIDES_M:
        towns = places(folder, side_m)
        for names, side, sizes, epsilons in RUNS:
            chosen = [name for name in names if name in methods]
            if side == side_m and chosen:
                bands = SIZE_BANDS_M[:2] if chosen == ["snh"] else SIZE_BANDS_M
                how = {"bands_m": bands, "seeds": [0], "queries": 1_000}
                path = file.with_name(f"{file.stem}_snh.jsonl") if chosen == ["snh"] else file
                tables.append(
                    sweep(towns, chosen, epsilons, n=sizes, file=path, **how).assign(side_m=side_m)
                )
    every = pd.concat(tables, ignore_index=True)
    return every[["method", "city", "side_m", "n", "epsilon", "from_m", "to_m", *PLANNED]]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The table behind expected_error.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--file", type=Path, default=Path("plan_errors.jsonl"))
    parser.add_argument("--methods", nargs="+", default=[*FAST, "hdmm", "pgm", "denoised", "snh"])
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    measured(given.folder, given.file, given.methods).to_csv("x.csv")
