"""The table "which method" of docs/evidence.md: python benchmarks/which_method.py [--help].

Needs no data: the program reads the table behind ``expected_error``, which ``plan_table.py``
measures on public cities. Prints, as Markdown, the method with the least expected error of squares
around records, and the methods whose error is at most a tenth larger, by n and epsilon, by how
clustered the records are, and by the sides of the squares. Then prints, for each method, the mean
and the largest ratio of its error to the least error (DPBench's regret), and in how many cases this
ratio is at most 1.1.
"""

import argparse

import numpy as np

from snhkit.methods import METHODS, title
from snhkit.metrics import SIZE_BANDS_M, band_name
from snhkit.planning import plan_table
from snhkit.planning.table import Situation

CASES = ((2_000, 0.05), (5_000, 0.2), (50_000, 0.2), (200_000, 0.5))
"""Pairs of a number of records and an epsilon."""

SIDE_M = 13_200.0
GROUP = 5
CLOSE = 1.1


def errors(measure: str) -> dict[tuple, dict[str, float]]:
    """Return the expected error of each method, by case, group of cities, and size band."""
    fits, places = plan_table()["fits"], plan_table()["places"]
    public = [p for p in places if p["side_m"] == SIDE_M and p["family"] != "synthetic"]
    public.sort(key=lambda place: place["crowding"])
    groups = {
        group: [np.array([place[key] for place in chosen]) for key in ("crowding", "sparsity")]
        for group, chosen in (("even", public[:GROUP]), ("crowded", public[-GROUP:]))
    }
    return {
        (n, epsilon, group, band): {
            name: float(np.exp(place.logs(name, epsilon, k, measure).mean()))
            for name in fits
            if f"{band[0]:g}" in fits[name] and not METHODS[name].demonstration
            for place in [Situation(n, 1, SIDE_M, points[0], points[1])]
        }
        for n, epsilon in CASES
        for group, points in groups.items()
        for k, band in enumerate(SIZE_BANDS_M)
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Which method has the least expected error.")
    parser.add_argument("--measure", default="rel_error")
    found = errors(parser.parse_args().measure)
    heads = [band_name(band) for band in SIZE_BANDS_M]
    print("| n | epsilon | records |", " | ".join(heads), "|\n" + "|---" * (3 + len(heads)) + "|")
    for n, epsilon, group in dict.fromkeys(key[:3] for key in found):
        row = []
        for band in SIZE_BANDS_M:
            case = found[n, epsilon, group, band]
            ordered = sorted(case, key=case.__getitem__)
            best = case[ordered[0]]
            close = [title(name) for name in ordered if case[name] <= CLOSE * best]
            row.append(f"**{close[0]}** {best:.2g}" + "".join(f", {name}" for name in close[1:]))
        print(f"| {n:,} | {epsilon:g} | {group} |", " | ".join(row), "|")
    print(f"\n| method | {' | '.join(heads)} | largest ratio | within a tenth of the least |")
    print("|---" * (3 + len(heads)) + "|")
    ratios: dict[str, dict[tuple, float]] = {}
    for key, case in found.items():
        for name, error in case.items():
            ratios.setdefault(name, {})[key] = error / min(case.values())
    for name in sorted(ratios, key=lambda name: np.mean(np.log(list(ratios[name].values())))):
        logs = {
            band: [np.log(r) for key, r in ratios[name].items() if key[3] == band]
            for band in SIZE_BANDS_M
        }
        means = [f"{np.exp(np.mean(part)):.2f}" if part else "" for part in logs.values()]
        every = np.array(list(ratios[name].values()))
        told = f"{every.max():.1f} | {int((every <= CLOSE).sum())} of {len(every)}"
        print(f"| {title(name)} |", " | ".join(means), f"| {told} |")
