"""The table behind ``expected_error``: python benchmarks/plan_table.py [--help].

Fits a small model to measured errors, which ``plan_errors.csv.gz`` beside this file holds, and
prints, as Markdown, how far it is off for families of places (check-ins, incidents, trips, traces,
addresses, synthetic cities) that were left out of the fit, with bounds from the others. With
``--out``, writes the table.

With ``--measure``, first measures the named methods on the folder of public data sets and replaces
their rows. This can be interrupted and resumed, and takes about a second of one core for each build
of a quick method, and up to half a minute for ``denoised`` and ``snh``.
"""

import argparse
import json
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from public_cities import CALIBRATION, HELD_OUT, OTHERS, SIDES_M, TRAINED_ON, place

import snhkit as snh
from snhkit.experiment import Place, sweep
from snhkit.methods import METHODS
from snhkit.metrics import SIZE_BANDS_M
from snhkit.planning.table import (
    BASELINE,
    PLANNED,
    crowding,
    plan_table,
    regressors,
    shares,
    sparsity,
)

SOURCES = CALIBRATION | HELD_OUT | OTHERS
SYNTHETIC = {"Milwaukee": 100_000, "San Francisco": 100_000, "Tulsa": 50_000, "Boston": 20_000}
ERRORS = Path(__file__).with_name("plan_errors.csv.gz")
KEYS = ["method", "place", "side_m", "n", "epsilon", "from_m"]

SLOW = ("hdmm", "pgm", "denoised", "snh")
EVERY, WIDE, NARROW = slice(None), SIDES_M[0], SIDES_M[1]
FAST_RUNS = (
    (WIDE, EVERY, (None,), ("0.05", "0.8")),
    (WIDE, EVERY, (2_000,), ("0.2",)),
    (NARROW, slice(0, None, 3), (None,), ("0.2",)),
)
SLOW_RUNS = (
    (WIDE, slice(0, None, 2), (None,), ("0.05", "0.8")),
    (WIDE, slice(1, None, 2), (None,), ("0.2",)),
    (WIDE, slice(1, None, 2), (2_000,), ("0.8",)),
)

Frame = Any  # type checkers cannot follow the operators of pandas
"""What is measured: the side of the region, the places, numbers of records, and epsilons."""

RIDGE = 1.0
TAIL = 0.83
"""The share of errors in places of other families that bounds should hold."""


def places(folder: Path, side_m: float) -> dict[str, Place]:
    """Return all places, public and synthetic, with regions of one side, by name."""
    found = {name: place(source, folder, side_m) for name, source in SOURCES.items()}
    for city, n in SYNTHETIC.items():
        points = snh.synthetic_points(city.lower().replace(" ", "_"), n, seed=3)
        inside = points.xy - (points.region.side_m - side_m) / 2
        kept = ((inside >= 0) & (inside < side_m)).all(axis=1)
        region = snh.Region.around(0, 0, side_m)
        found[f"{city}, synthetic"] = Place(snh.Points(region, inside[kept]))
    return found


def family(name: str) -> str:
    """Return the family of a place: what kind of records it holds."""
    return SOURCES[name].family if name in SOURCES else "synthetic"


def measured(folder: Path, file: Path, methods: list[str]) -> Frame:
    """Return measured errors; finished builds are stored in ``file``."""
    tables = []
    for side_m in SIDES_M:
        towns = places(folder, side_m)
        for name in methods:
            for side, part, sizes, epsilons in SLOW_RUNS if name in SLOW else FAST_RUNS:
                if side == side_m:
                    few = dict(list(towns.items())[part])
                    how = {"n": sizes, "seeds": [0], "queries": 1_000, "bands_m": SIZE_BANDS_M}
                    if name == "snh":
                        how["bands_m"] = SIZE_BANDS_M[:2]
                    path = file.with_name(f"{file.stem}_{len(how['bands_m'])}.jsonl")
                    found = sweep(few, [name], epsilons, file=path, **how)
                    tables.append(found.assign(side_m=side_m, measured=str(date.today())))
    found = pd.concat(tables).rename(columns={"city": "place"})
    return found[[*KEYS, *PLANNED, "measured"]]


def known_places(folder: Path) -> Frame:
    """Return what the model uses of each place: its family and how clustered its records are."""
    rows = [
        (name, side_m, family(name), *(f(town.records).round(3) for f in (crowding, sparsity)))
        for side_m in SIDES_M
        for name, town in places(folder, side_m).items()
    ]
    return pd.DataFrame(rows, columns=["place", "side_m", "family", "crowding", "sparsity"])


def with_variables(errors: Frame, known: Frame) -> Frame:
    """Return errors with the family of the place, and with regressors as numbered columns."""
    rows = errors.merge(known, on=["place", "side_m"]).reset_index(drop=True)
    band = rows["from_m"].map({low: k for k, (low, _) in enumerate(SIZE_BANDS_M)}).to_numpy()
    product, side_m = (rows["n"] * rows["epsilon"]).to_numpy(), rows["side_m"].to_numpy()
    sparse = np.stack(rows["sparsity"].to_list())[np.arange(len(rows)), band]
    given = product, side_m, np.stack(rows["crowding"].to_list()), sparse
    for name in (BASELINE, ""):
        x = regressors(name, *given)
        rows[[f"{name}{k}" for k in range(x.shape[1])]] = x
    return rows.drop(columns=["crowding", "sparsity"])


def variables(rows: Frame, name: str) -> NDArray[np.float64]:
    """Return the regressors of a method."""
    start = name if name == BASELINE else ""
    columns = [f"{start}{k}" for k in range(9 if start else 4)]
    return rows[columns].to_numpy()


def solved(x: NDArray, y: NDArray, rows: Frame) -> NDArray[np.float64]:
    """Return coefficients by weighted ridge regression; a place counts by 1 / sqrt(its family).

    For the denoised grid, places in the cities that its network was trained on get a coefficient of
    their own, the measured correction, which is not used for other places.
    """
    share = 1 / rows["place"].map(rows["place"].value_counts()).to_numpy(float)
    share /= np.sqrt(rows["family"].map(rows.groupby("family")["place"].nunique()).to_numpy(float))
    weight = share / share.mean()
    if rows["method"].iloc[0] == "denoised":
        x = np.column_stack([x, rows["place"].str.startswith(TRAINED_ON).to_numpy(float)])
    penalty = RIDGE * np.diag([0.0] + [1.0] * (x.shape[1] - 1))
    return np.linalg.solve(x.T @ (weight[:, None] * x) + penalty, x.T @ (weight * y))


def fitted(rows: Frame, measure: str) -> dict[str, NDArray[np.float64]]:
    """Return the coefficients of all methods for the rows of one size band."""
    found: dict[str, NDArray[np.float64]] = {}
    names = [BASELINE, *(name for name in rows["method"].unique() if name != BASELINE)]
    for name in names:
        part = rows[rows["method"] == name]
        y = np.log(shares(measure, part[measure].to_numpy(), part["n"].to_numpy()))
        if name == "denoised" and part["place"].str.startswith(TRAINED_ON).all():
            continue  # nothing tells the correction from the rest
        if name != BASELINE:
            y = y - variables(part, BASELINE) @ found[BASELINE]
        x = variables(part, name)
        found[name] = solved(x, y, part)[: x.shape[1]]
        if name != BASELINE and found[name][1] > (most := largest_slope(rows, found[BASELINE])):
            rest = solved(np.delete(x, 1, 1), y - most * x[:, 1], part)
            found[name] = np.insert(rest[: x.shape[1] - 1], 1, most)
    return found


def largest_slope(rows: Frame, baseline: NDArray) -> float:
    """Return the largest slope of a ratio in log(n epsilon) with which errors do not rise."""
    z, c = rows[f"{BASELINE}1"], rows[f"{BASELINE}5"]
    ends = [(b, a) for b in (z.min(), z.max()) for a in (c.min(), c.max())]
    return -max(float(baseline @ [0, 1, 2 * b, 0, 0, 0, 0, a, 0]) for b, a in ends)


def residuals(rows: Frame, fits: dict[str, NDArray], measure: str) -> Frame:
    """Return the logarithms of measured over expected errors; corrected places are left out."""
    parts = []
    for name, part in rows.groupby("method", sort=False):
        if name == "denoised":
            part = part[~part["place"].str.startswith(TRAINED_ON)]
        if len(part) and name in fits:
            y = np.log(shares(measure, part[measure].to_numpy(), part["n"].to_numpy()))
            y = y - variables(part, BASELINE) @ fits[BASELINE]
            if name != BASELINE:
                y = y - variables(part, str(name)) @ fits[str(name)]
            parts.append(pd.Series(y, part.index))
    return pd.concat(parts) if parts else pd.Series(dtype=float)


def left_out(rows: Frame, measure: str) -> Frame:
    """Return residuals of rows of one size band, each family predicted from the other families."""
    parts = []
    for name in rows["family"].unique():
        out = rows["family"] == name
        parts.append(residuals(rows[out], fitted(rows[~out], measure), measure))
    return pd.concat(parts)


def spreads(rows: Frame, off: Frame) -> Frame:
    """Return, for each method, the absolute residual that a share TAIL of residuals stay below."""
    return off.abs().groupby(rows["method"]).quantile(TAIL)


def tested(rows: Frame) -> Frame:
    """Return residuals for left-out families, and whether bounds from the others hold them."""
    found = []
    for measure in PLANNED:
        for _, band in rows.groupby("from_m"):
            for name in band["family"].unique():
                out = band["family"] == name
                fits = fitted(band[~out], measure)
                off = residuals(band[out], fits, measure)
                wide = spreads(band[~out], left_out(band[~out], measure))
                told = band.loc[off.index, ["method", "family", "place", "from_m"]]
                within = off.abs().to_numpy() <= told["method"].map(wide).to_numpy()
                found.append(told.assign(measure=measure, off=off, within=within))
    return pd.concat(found)


def told(found: Frame) -> None:
    """Print, for each method, measured over expected errors and the shares within the bounds."""
    families = list(found["family"].unique())
    heads = ["method", *PLANNED, *families, "within the bounds"]
    print("|", " | ".join(heads), "|\n" + "|---" * len(heads) + "|")
    for name in [*(m for m in METHODS if m in set(found["method"])), "all"]:
        part = found if name == "all" else found[found["method"] == name]
        ratios = [np.exp(part["off"][part["measure"] == measure].mean()) for measure in PLANNED]
        ratios += [np.exp(part["off"][part["family"] == kind].mean()) for kind in families]
        texts = [f"{ratio:.2f}" if np.isfinite(ratio) else "" for ratio in ratios]
        print("|", " | ".join([name, *texts, f"{part['within'].mean():.0%}"]), "|")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The table behind expected_error.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--measure", nargs="+", default=[], metavar="METHOD")
    parser.add_argument("--file", type=Path, default=Path("plan_errors.jsonl"))
    parser.add_argument("--out", type=Path, help="where to write the table")
    given = parser.parse_args()
    errors, known = pd.read_csv(ERRORS), pd.DataFrame(plan_table()["places"])
    if given.measure:
        found = measured(given.folder, given.file, given.measure).round(6)
        errors = pd.concat([errors[~errors["method"].isin(given.measure)], found])
        errors.to_csv(ERRORS, index=False, compression={"method": "gzip", "mtime": 0})
        known = known_places(given.folder)
    rows = with_variables(errors, known)
    told(tested(rows))
    if given.out is not None:
        fits: dict = {}
        for low, band in rows.groupby("from_m"):
            for measure in PLANNED:
                wide = spreads(band, left_out(band, measure))
                for name, coefficients in fitted(band, measure).items():
                    fits.setdefault(name, {}).setdefault(f"{low:g}", {})[measure] = {
                        "coefficients": coefficients.round(4).tolist(),
                        "spread": round(float(wide[name]), 3),
                    }
        product = rows["n"] * rows["epsilon"]
        ranges = {key: np.stack(known[key].to_list()) for key in ("crowding", "sparsity")}
        written = {
            "provenance": {
                "command": "python benchmarks/plan_table.py --out snhkit/planning/table.json",
                "date": str(date.today()),
                "measured": {
                    str(name): sorted(days.unique())
                    for name, days in rows.groupby("method")["measured"]
                },
                "snhkit": version("snhkit"),
                "places": len(known["place"].unique()),
            },
            "ranges": {
                "n_epsilon": [float(product.min()), float(product.max())],
                "side_m": [SIDES_M[1], SIDES_M[0]],
                **{k: np.stack([v.min(0), v.max(0)], 1).tolist() for k, v in ranges.items()},
            },
            "places": json.loads(str(known.to_json(orient="records"))),
            "fits": fits,
        }
        given.out.write_text(json.dumps(written) + "\n")
