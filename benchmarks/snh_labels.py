"""Which cell widths suit the default SNH: python benchmarks/snh_labels.py [--help].

Runs it on the public cities that its prior was trained on, whole and thinned, over a grid of
widths, and writes the table that ``SNH(cell_m="auto")`` learns from. Where a city has check-ins,
these are its public points, as they will be for private ones; elsewhere the records themselves
are. It takes half an hour on two cores; interrupted, it goes on where it was.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from prior_crops import PLACES, SIDE_M

import snhkit as snh
from snhkit.neural import Prior
from snhkit.select import entropy

WIDTHS_M = (12, 16, 21, 28, 37, 50, 66, 88, 117, 156, 210)
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8)
SIZES = (200_000, 100_000, 50_000, 20_000, 10_000, 4_000)


def datasets(folder: Path) -> dict[str, snh.Points]:
    """Each city whole, and as many of its records as fewer cities have."""
    found = {}
    for file, centres in PLACES.items():
        region = snh.Region.around(*centres[0], SIDE_M)
        points = snh.read_points(folder / file, region)
        name = file.split(".")[0].replace("_", " ")
        found[name] = points
        order = np.random.default_rng(0).permutation(len(points))
        for size in (size for size in SIZES if size < 0.8 * len(points)):
            found[f"{name} ({size})"] = snh.Points(region, points.xy[order[:size]])
    return found


def public_of(name: str, cities: dict[str, snh.Points]) -> snh.Points:
    """Check-ins in the same city, or its own records."""
    there = f"{name.split()[0]} foursquare checkins"
    return cities.get(there, cities[name])


def falling(errors: NDArray[np.float64]) -> list[int]:
    """Which width each epsilon gets, where less noise never asks for wider cells.

    Of all such choices, the one with the least sum of logarithms of errors, shape (epsilon, width),
    each of which is first averaged with its neighbours: one draw of noise says little.
    """
    logs = np.log(errors)
    logs[:, 1:-1] = (logs[:, :-2] + 2 * logs[:, 1:-1] + logs[:, 2:]) / 4
    least, came = logs[0], []
    for row in logs[1:]:
        # Of what came before at this width or a wider one, the best.
        wider = np.array([w + np.argmin(least[w:]) for w in range(len(row))])
        came.append(wider)
        least = least[wider] + row
    chosen = [int(np.argmin(least))]
    for wider in reversed(came):
        chosen.insert(0, int(wider[chosen[0]]))
    return chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Which cell widths suit the default SNH.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--journal", type=Path, default=Path("snh_errors.csv"))
    parser.add_argument("--out", type=Path, default=Path("snhkit/select/snh.csv"))
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args()
    cities, builder = datasets(given.folder), snh.SNH(prior=Prior(turns=1))
    how = {"path": given.journal, "n_jobs": given.jobs}
    labels = snh.ParamSelect.fit(cities, EPSILONS, builder, "cell_m", WIDTHS_M, **how).labels
    errors = pd.read_csv(given.journal, comment="#")
    table = errors.pivot_table(index=["dataset", "epsilon"], columns="value", values="error")
    for city, rows in labels.groupby("dataset"):
        best = falling(table.loc[city].to_numpy())
        labels.loc[rows.index, "cell_m"] = np.array(WIDTHS_M)[best]
        labels.loc[rows.index, "entropy"] = round(entropy(public_of(str(city), cities)), 4)
    learned = snh.ParamSelect(labels.astype({"cell_m": float}))
    print(learned.save(given.out), learned.labels.to_string(), sep="\n")
