"""Errors of HTF with other settings, on public cities: python benchmarks/htf.py [--help].

Needs the folder of public data sets. Prints, as Markdown, the mean relative errors of squares of
two size bands around records, divided by the error with the defaults; the last column is PrivTree.
"""

import argparse
from pathlib import Path

import numpy as np
from dawa import Exam
from public_cities import CALIBRATION, places
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.experiment import thinned

CITIES = ("Boston, incidents", "Chicago, assaults", "New York, cabs")
BANDS = ((25.0, 100.0), (1_000.0, 5_000.0))
CHANGES = {
    "cuts": (0.02, 0.2),
    "turns": (1, 5),
    "least": (2.0, 20.0),
    "mean": (0.01, 1.0, 10.0),
    "side": (256, 1_024),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Errors of HTF with other settings.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 10_000])
    parser.add_argument("--epsilons", nargs="+", default=["0.05", "0.4"])
    parser.add_argument("--draws", type=int, default=2)
    given = parser.parse_args()
    builders = {
        f"{name} {value:g}": snh.HTF(**{name: value})
        for name, values in CHANGES.items()
        for value in values
    } | {"PrivTree": snh.PrivTree()}
    towns = places({name: CALIBRATION[name] for name in CITIES}, given.folder)
    print("| records | n | epsilon | squares, m | error |", " | ".join(builders), "|")
    print("|---" * (5 + len(builders)) + "|", flush=True)
    logs = []
    jobs = [(k, n, e, b) for k in towns for n in given.n for e in given.epsilons for b in BANDS]
    for name, n, epsilon, band in tqdm(jobs, unit="row", leave=False):
        records = towns[name].records
        records = thinned(records, n) if n < len(records) else records
        data = snh.PrivateDataset(records, 10**9, unit="record", n_public=True)
        boxes = snh.RangeQueries.sample(records, 1_000, band)
        exam = Exam(data, None, boxes, snh.exact_counts(records, boxes), epsilon)
        usual = exam.error(snh.HTF(), given.draws)
        ratios = [exam.error(builder, given.draws) / usual for builder in builders.values()]
        logs.append(np.log(ratios))
        cells = [name, f"{len(records):,}", epsilon, f"{band[0]:g}-{band[1]:g}", f"{usual:.3f}"]
        tqdm.write("| " + " | ".join([*cells, *(f"{r:.2f}" for r in ratios)]) + " |")
    means = [f"{r:.2f}" for r in np.exp(np.mean(logs, axis=0))]
    print("| geometric mean | | | | |", " | ".join(means), "|")
