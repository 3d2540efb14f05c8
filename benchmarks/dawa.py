"""Errors of DAWA with other settings, on public cities: python benchmarks/dawa.py [--help].

Needs the folder of public data sets. Prints, as Markdown, the mean relative errors of squares of
four size bands for cells, largest buckets and shares of epsilon other than the defaults, divided by
the error with the defaults.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from public_cities import CALIBRATION, places
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.experiment import thinned
from snhkit.geometry import Grid
from snhkit.metrics import SIZE_BANDS_M, relative_errors

CITIES = ("Boston, incidents", "Chicago, assaults", "Miami, check-ins", "New York, cabs")
CHANGES = {
    "half as wide cells": {"order": 1},
    "twice as wide cells": {"order": -1},
    "half as wide buckets": {"bucket": 0.5},
    "twice as wide buckets": {"bucket": 2},
    "one bucket": {"bucket": 1e9},
    "ratio 0.25": {"ratio": 0.25},
    "ratio 0.5": {"ratio": 0.5},
}


@dataclass(frozen=True)
class Exam:
    """Records, boxes with their true counts, and an epsilon, on which variants are compared."""

    data: snh.PrivateDataset
    public: snh.Points | None
    boxes: snh.RangeQueries
    truth: np.ndarray
    epsilon: str

    def error(self, builder: Builder, draws: int) -> float:
        """Return the mean relative error of the boxes, averaged over several draws of the noise."""
        found = []
        for seed in range(draws):
            release = self.data.release(
                builder, epsilon=self.epsilon, public=self.public, seed=seed
            )
            answers = release.answer(self.boxes)
            found.append(relative_errors(answers, self.truth, self.data.n).mean())
        return float(np.mean(found))

    def variant(self, sizes_m: tuple[float, float], change: dict) -> snh.DAWA:
        """Return DAWA for squares of the given sizes, with one setting changed."""
        usual, side_m = snh.DAWA(sizes_m=sizes_m), self.data.region.side_m
        known = self.data.n * float(self.epsilon)
        order = usual.order_for(side_m, known)
        grid = Grid(self.data.region, 2**order)
        bucket_m = grid.cell_m * 2 ** usual.bucket_order_for(grid, known)
        return replace(
            usual,
            order=min(order + change.get("order", 0), 11),
            max_bucket_m=bucket_m * change.get("bucket", 1),
            ratio=change.get("ratio", usual.ratio),
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Errors of DAWA with other settings.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 10_000])
    parser.add_argument("--epsilons", nargs="+", default=["0.05", "0.4"])
    parser.add_argument("--draws", type=int, default=2)
    given = parser.parse_args()
    towns = places({name: CALIBRATION[name] for name in CITIES}, given.folder)
    print("| records | n | epsilon | squares, m | error |", " | ".join(CHANGES), "|")
    print("|---" * (5 + len(CHANGES)) + "|", flush=True)
    logs = []
    jobs = [(k, n, e, b) for k in towns for n in given.n for e in given.epsilons
            for b in SIZE_BANDS_M]  # fmt: skip
    for name, n, epsilon, band in tqdm(jobs, unit="row", leave=False):
        records = towns[name].records
        records = thinned(records, n) if n < len(records) else records
        data = snh.PrivateDataset(records, 10**9, unit="record", n_public=True)
        boxes = snh.RangeQueries.sample(records, 1_000, band)
        exam = Exam(data, towns[name].public, boxes, snh.exact_counts(records, boxes), epsilon)
        usual = exam.error(exam.variant(band, {}), given.draws)
        ratios = [
            exam.error(exam.variant(band, change), given.draws) / usual
            for change in CHANGES.values()
        ]
        logs.append(np.log(ratios))
        cells = [name, f"{len(records):,}", epsilon, f"{band[0]:g}-{band[1]:g}", f"{usual:.3f}"]
        tqdm.write("| " + " | ".join([*cells, *(f"{r:.2f}" for r in ratios)]) + " |")
    means = [f"{r:.2f}" for r in np.exp(np.mean(logs, axis=0))]
    print("| geometric mean | | | | |", " | ".join(means), "|")
