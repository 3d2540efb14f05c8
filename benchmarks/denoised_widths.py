"""The best cell widths of the denoised grid: python benchmarks/denoised_widths.py [--help].

Runs ``DenoisedGrid`` at several cell widths on the public and synthetic cities that its network was
trained on, with all records and with samples of them. Prints the coefficients of ``narrowing`` that
give the least errors, and the errors in each city with coefficients fitted to the other cities.
Writes the table from which ``DenoisedGrid(cell_m="auto")`` takes its widths, for real cities only.
The public points of a city are its check-ins if there are any, else the records themselves. The
program takes an hour on two cores; after an interruption, the next run continues.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from denoiser_crops import PLACES, SIDE_M
from numpy.typing import NDArray
from scipy.optimize import minimize

import snhkit as snh
from snhkit.builders.cell_width import bought_evenness, default_cell_width
from snhkit.geometry import Grid
from snhkit.neural import Prior
from snhkit.privacy import Measurements, PointSource, PrivacyUnit, ReplayableEntropy, Terms, exact
from snhkit.select import entropy

WIDTHS_M = (12, 16, 21, 28, 37, 50, 66, 88, 117, 156, 210)
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8)
SIZES = (200_000, 100_000, 50_000, 20_000, 10_000, 4_000)
SYNTHETIC = ("tulsa", "phoenix", "chicago")
BLURRED = (
    "chicago assaults",
    "minneapolis stops 2017",
    "st louis incidents",
    "st louis incidents (200000)",
    "st louis incidents (50000)",
)
BLUR_M = 20.0


def datasets(folder: Path) -> dict[str, snh.Points]:
    """Return data sets by name: each city with all records, and with samples of them.

    Positions in the real data sets are those of streets or houses, so some data sets are also
    blurred, as positions from GPS receivers are.
    """
    whole = {}
    for file, centres in PLACES.items():
        region = snh.Region.around(*centres[0], SIDE_M)
        whole[file.split(".")[0].replace("_", " ")] = snh.read_points(folder / file, region)
    for name in SYNTHETIC:
        whole[f"synthetic {name}"] = snh.synthetic_points(name, 200_000, seed=5)
    found = dict(whole)
    for name, points in whole.items():
        order = np.random.default_rng(0).permutation(len(points))
        sizes = (50_000, 10_000) if name.startswith("synthetic") else SIZES
        for size in (size for size in sizes if size < 0.8 * len(points)):
            found[f"{name} ({size})"] = snh.Points(points.region, points.xy[order[:size]])
    for name in BLURRED:
        region, xy = found[name].region, found[name].xy
        fixes = xy + np.random.default_rng(0).normal(0, BLUR_M, xy.shape)
        found[f"blurred {name}"] = snh.Points(region, np.clip(fixes, 0, SIDE_M - 1e-6))
    return found


def public_of(name: str, cities: dict[str, snh.Points]) -> snh.Points:
    """Return the public points of a data set: check-ins in the city, else the records."""
    there = f"{name.split()[0]} foursquare checkins"
    return cities.get(there, cities[name])


def smoothed(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of errors, averaged over neighbouring widths to reduce the noise."""
    logs = np.log(errors)
    logs[:, 1:-1] = (logs[:, :-2] + 2 * logs[:, 1:-1] + logs[:, 2:]) / 4
    return logs


def falling(logs: NDArray[np.float64]) -> list[int]:
    """Return the index of the width for each epsilon; widths do not grow with epsilon.

    The chosen widths have the least sum of ``logs``, shape (epsilon, width).
    """
    least, came = logs[0], []
    for row in logs[1:]:
        # The best choice for the smaller epsilons that ends at this width or a wider one.
        wider = np.array([w + np.argmin(least[w:]) for w in range(len(row))])
        came.append(wider)
        least = least[wider] + row
    chosen = [int(np.argmin(least))]
    for wider in reversed(came):
        chosen.insert(0, int(wider[chosen[0]]))
    return chosen


def told(records: snh.Points, epsilon: float) -> tuple[float, float, float]:
    """Return the variables of the fit: evenness, log(n epsilon) and log(default width)."""
    n = len(records)
    usual = default_cell_width(n, epsilon)
    terms = Terms(exact(epsilon), PrivacyUnit("record"), n)
    private = Measurements(PointSource(records), terms, ReplayableEntropy(0))
    evenness = bought_evenness(private, Grid.of_width(records.region, usual / 2))
    return evenness, np.log(n * epsilon), np.log(usual)


def rule(table: pd.DataFrame, cities: dict[str, snh.Points]) -> None:
    """Print the fitted coefficients of ``narrowing`` and the errors that they give.

    All cities have equal weights.
    """
    losses = smoothed(table.to_numpy())
    losses -= losses.min(axis=1, keepdims=True)
    even, scale, usual = np.array([told(cities[name], epsilon) for name, epsilon in table.index]).T
    city = table.index.get_level_values("dataset").str.split(" (", regex=False).str[0]
    share = 1 / city.map(city.value_counts()).to_numpy(float)

    def lost(b: NDArray[np.float64]) -> NDArray[np.float64]:
        at = usual + b @ np.stack([np.ones_like(even), even, scale])
        pairs = zip(at, losses, strict=True)
        return np.array([np.interp(x, np.log(WIDTHS_M), row) for x, row in pairs])

    def best(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        found = minimize(lambda b: share[rows] @ lost(b)[rows], [-2.2, 1.5, 0.1], method="Powell")
        return found.x

    everywhere = best(share > 0)
    print("exp(a + b evenness) (n epsilon)^c:", everywhere.round(3), end="; ")
    left_out = [lost(best(city != name))[city == name].mean() for name in city.unique()]
    print(f"mean logarithm lost: {np.average(lost(everywhere), weights=share):.3f}", end=", ")
    print(f"in a city left out: {np.mean(left_out):.3f}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The best cell widths of the denoised grid.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--journal", type=Path, default=Path("denoised_errors.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("snhkit/select/denoised.csv"))
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args()
    cities, builder = datasets(given.folder), snh.DenoisedGrid(prior=Prior(turns=1))
    how = {"path": given.journal, "n_jobs": given.jobs}
    labels = snh.ParamSelect.fit(cities, EPSILONS, builder, "cell_m", WIDTHS_M, **how).labels
    lines = map(json.loads, given.journal.read_text(encoding="utf-8").splitlines()[1:])
    errors = pd.DataFrame([line["cell"] | {"error": line["rows"][0][0]} for line in lines])
    errors[["epsilon", "value"]] = errors[["epsilon", "value"]].astype(float)
    table = errors.pivot_table(index=["dataset", "epsilon"], columns="value", values="error")
    rule(table, cities)
    for city, rows in labels.groupby("dataset"):
        best = falling(smoothed(table.loc[city].to_numpy()))
        labels.loc[rows.index, "cell_m"] = np.array(WIDTHS_M)[best]
        labels.loc[rows.index, "entropy"] = round(entropy(public_of(str(city), cities)), 4)
    real = labels.loc[~labels["dataset"].str.startswith(("synthetic", "blurred"))]
    learned = snh.ParamSelect(real.astype({"cell_m": float}))
    print(learned.save(given.out), learned.labels.to_string(), sep="\n")
