"""The table behind ``expected_error``: python benchmarks/plan_table.py [--help].

Needs the folder of public data sets. Measures methods on public cities, with all records and with
samples of them. The sweep can be interrupted and resumed, and takes about an hour of one core
without ``snh`` and ``pgm``. Then a model is fitted to the errors. With ``--out``, writes the
coefficients; those of methods that were not measured remain in the file. Prints, as Markdown, how
far expected errors are from the mean errors of releases on cities that were not used for the fit.
"""

import argparse
import json
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client
from public_cities import CALIBRATION, HELD_OUT, SIDES_M, TRAINED_ON, places

from snhkit.experiment import Place, sweep
from snhkit.metrics import SIZE_BANDS_M
from snhkit.planning.crowding import crowding, sparsity
from snhkit.planning.expected import PLANNED
from snhkit.planning.table import CITY_KEYS, regressors, rounding

EPSILONS = ("0.05", "0.2", "0.8")
SIZES = (None, 50_000, 10_000, 2_000)
QUICK = ("ug", "identity", "ag", "privtree", "quadtree", "hb2d", "privelet", "hdmm")
SLOW = ("snh", "pgm")
"""Methods that are measured in regions of one size only, and at fewer numbers of records."""

DRAWS = 5
"""Releases of each held-out city, with which expected errors are compared; one for ``snh``."""

RIDGE = 0.3


def measured(
    folder: Path, files: Path, methods: list[str], processes: int, client: Client | None
) -> Any:
    """Return the errors of methods on all cities; results of builds are stored in ``files``."""
    held = places(HELD_OUT, folder)
    tables = []
    for names in ([name for name in methods if name in QUICK], *([m] for m in methods)):
        if not names or (names[0] in QUICK and len(names) == 1):
            continue
        sides = SIDES_M[:1] if names[0] in SLOW else SIDES_M
        for towns, seeds in ((places(CALIBRATION, folder, sides), 1), (held, DRAWS)):
            tables.append(
                sweep(
                    towns,
                    names,
                    EPSILONS,
                    n={"snh": (None,), "pgm": (None, 10_000)}.get(names[0], SIZES),
                    bands_m=SIZE_BANDS_M[:2] if names == ["snh"] else SIZE_BANDS_M,
                    seeds=range(1 if names == ["snh"] else seeds),
                    queries=1_000,
                    file=files / f"plan_{'fast' if len(names) > 1 else names[0]}.jsonl",
                    processes=processes,
                    client=client,
                )
            )
    keys = ["method", "city", "n", "epsilon", "from_m", "to_m"]
    every = pd.concat(tables, ignore_index=True)
    return every.groupby(keys, sort=False, as_index=False)[list(PLANNED)].mean()


def terms(table: Any, towns: dict[str, Place], known: dict) -> np.ndarray:
    """Return the regressors of the model of errors for each row of a table of errors."""
    lows = [low for low, _ in SIZE_BANDS_M]
    found = []
    for row in table.itertuples():
        side_m = towns[row.city].records.region.side_m
        crowded, sparse = (known[row.city][key] for key in CITY_KEYS)
        rounded = rounding(row.method, side_m, row.n, row.epsilon)
        band = sparse[[lows.index(row.from_m)]]
        found.append(regressors(row.n, row.epsilon, side_m, crowded[None], band, rounded))
    return np.concatenate(found)


def fitted(table: Any, towns: dict[str, Place], known: dict) -> dict:
    """Return coefficients and residual spread by method, smallest side of the band, and measure."""
    found: dict = {}
    for (name, low), part in table.groupby(["method", "from_m"]):
        if name == "denoised":
            part = part[~part.city.str.startswith(TRAINED_ON)]
        x = terms(part, towns, known)
        penalty = RIDGE * np.eye(x.shape[1])
        penalty[0, 0] = 0
        for measure in PLANNED:
            y = np.log(np.maximum(part[measure].to_numpy(float), 1e-9))
            found.setdefault(name, {}).setdefault(f"{low:g}", {})[measure] = {
                "coefficients": np.linalg.solve(x.T @ x + penalty, x.T @ y).round(4).tolist(),
                "spread": round(left_out(x, y, part.city.to_numpy(), penalty), 3),
            }
    return found


def left_out(x: np.ndarray, y: np.ndarray, city: np.ndarray, penalty: np.ndarray) -> float:
    """Return the standard deviation of prediction errors, each city predicted from the others."""
    town = np.array([name.rpartition(", ")[0] for name in city])
    rest = np.zeros(len(y))
    for name in np.unique(town):
        out = town == name
        a = x[~out]
        rest[out] = y[out] - x[out] @ np.linalg.solve(a.T @ a + penalty, a.T @ y[~out])
    return float(np.sqrt(np.mean(rest**2)))


def tested(table: Any, fits: dict, towns: dict[str, Place], known: dict) -> None:
    """Print how far expected errors are from measured ones on held-out cities."""
    print("| method | squares, m | measure | median deviation | within 25 % | within 50 % |")
    print("|---" * 6 + "|")
    every = []
    for (name, low), part in table.groupby(["method", "from_m"], sort=False):
        x = terms(part, towns, known)
        for measure in ("rel_error", "abs_error_anywhere"):
            expected = np.exp(x @ np.array(fits[name][f"{low:g}"][measure]["coefficients"]))
            off = np.abs(expected / part[measure].to_numpy(float) - 1)
            every.append(off)
            told = [f"{np.median(off):.2f}", *(f"{np.mean(off <= b):.2f}" for b in (0.25, 0.5))]
            band = f"{low:,.0f}-{part.to_m.iloc[0]:,.0f}"
            print("|", " | ".join([str(name), band, measure, *told]), "|")
    off = np.concatenate(every)
    told = [f"{np.median(off):.2f}", *(f"{np.mean(off <= b):.2f}" for b in (0.25, 0.5))]
    print("| all | | |", " | ".join(told), "|")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The table behind expected_error.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--files", type=Path, default=Path(), help="folder for results of builds")
    parser.add_argument("--methods", nargs="+", default=[*QUICK, "dawa", "denoised", *SLOW])
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--scheduler", help="address of a Dask cluster that measures instead")
    parser.add_argument("--out", type=Path, help="where to write the table")
    given = parser.parse_args()
    towns = places(CALIBRATION, given.folder, SIDES_M) | places(HELD_OUT, given.folder)
    known = {
        name: {"crowding": crowding(town.records), "sparsity": sparsity(town.records)}
        for name, town in towns.items()
    }
    cluster = None if given.scheduler is None else Client(given.scheduler)
    table = measured(given.folder, given.files, given.methods, given.processes, cluster)
    held = table.city.isin(list(places(HELD_OUT, given.folder)))
    fits = fitted(table[~held], towns, known)
    if given.out is not None:
        before = json.loads(given.out.read_text()) if given.out.exists() else {}
        days = before.get("provenance", {}).get("measured", {})
        written = {
            "provenance": {
                "command": "python benchmarks/plan_table.py --out snhkit/planning/table.json",
                "date": str(date.today()),
                "measured": days | dict.fromkeys(fits, str(date.today())),
                "snhkit": version("snhkit"),
                "cities": list(CALIBRATION),
                "held_out": list(HELD_OUT),
                "n": [n or "all" for n in SIZES],
                "epsilons": list(EPSILONS),
            },
            "n_epsilon": [60, 350_000],
            "cities": {
                name: {
                    key: known[f"{name}, {SIDES_M[0]:,.0f} m"][key].round(4).tolist()
                    for key in CITY_KEYS
                }
                for name in CALIBRATION
            },
            "fits": before.get("fits", {}) | fits,
        }
        given.out.write_text(json.dumps(written) + "\n")
    tested(table[held], fits, towns, known)
