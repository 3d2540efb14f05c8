"""Errors of DAWA with other settings, on public cities: python benchmarks/dawa.py [--help].

Needs the folder of public data sets. Prints, as Markdown, the mean relative errors of squares of
four size bands for cells and thresholds other than the defaults, divided by the error with the
defaults.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from public_cities import CALIBRATION, places
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.experiment import SIZE_BANDS_M, relative_errors, thinned

CITIES = ("Boston, incidents", "Chicago, assaults", "Miami, check-ins", "New York, cabs")
CHANGES = {
    "half as wide cells": {"order": 1},
    "twice as wide cells": {"order": -1},
    "caution / 3": {"caution": 1 / 3},
    "caution x 2": {"caution": 2},
    "block 1": {"block": 1},
    "block 4": {"block": 4},
    "order 10, block 256, no caution": {"old": 1},
}


@dataclass(frozen=True)
class Exam:
    """Records, boxes with their true counts, and an epsilon, on which variants are compared."""

    data: snh.PrivateDataset
    public: snh.Points | None
    boxes: snh.RangeQueries
    truth: np.ndarray
    epsilon: str

    def error(self, builder: snh.DAWA, draws: int) -> float:
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
        if "old" in change:
            return snh.DAWA(order=10, block=256, caution=0, sizes_m=sizes_m)
        usual, side_m = snh.DAWA(sizes_m=sizes_m), self.data.region.side_m
        order = usual.order_for(side_m, self.data.n * float(self.epsilon))
        caution = usual.caution_for(side_m / 2**order)
        return snh.DAWA(
            order=min(order + change.get("order", 0), 11),
            caution=caution * change.get("caution", 1),
            block=change.get("block", usual.block),
            sizes_m=sizes_m,
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
        data = snh.PrivateDataset(records, 10**9, unit="record", n="public")
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
