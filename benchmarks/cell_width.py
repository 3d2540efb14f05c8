"""Where the default cell width comes from.

Usage: python benchmarks/cell_width.py PARAMSELECT_CSV [ST_LOUIS_CSV_GZ]

With the paper's published labels it prints the least-squares plane through the 45 training rows.
With a public data set as well (columns lat, lon), it prints the error of SNH at multiples of it.
"""

import sys

import numpy as np
import pandas as pd

import snhkit as snh
from snhkit.builders.cell_width import default_cell_width
from snhkit.experiment import relative_errors

FACTORS = (1.0, 1.25, 1.5, 2.0)


def plane(path: str) -> np.ndarray:
    """Intercept, exponent of n and exponent of epsilon."""
    table = pd.read_csv(path)
    rows = table[(table.split == "train") & table.best_cell_width_m.notna()]
    columns = np.stack([np.ones(len(rows)), np.log(rows.n), np.log(rows.epsilon)], axis=1)
    solution = np.linalg.lstsq(columns, np.log(rows.best_cell_width_m), rcond=None)[0]
    print(f"{len(rows)} labels: width = {np.exp(solution[0]):.2f}", end="")
    print(f" n^{solution[1]:.4f} epsilon^{solution[2]:.4f} metres")
    print(f"default_cell_width(100,000, 0.2) = {default_cell_width(100_000, 0.2):.1f} m")
    return solution


def sweep(path: str, solution: np.ndarray) -> None:
    """Error of SNH on 200,000 incidents, by multiples of the plane's width."""
    city = snh.Region.around(lat=38.63, lon=-90.24, side_m=13_200)
    frame = pd.read_csv(path, usecols=["lat", "lon"])
    points = snh.read_points(frame, city, report=print)
    order = np.random.default_rng(1).permutation(len(points))
    records, public = (snh.Points(city, points.xy[i]) for i in (order[:200_000], order[-20_000:]))
    boxes = snh.RangeQueries.sample(records, 3000)
    truth = snh.exact_counts(records, boxes)
    data = snh.PrivateDataset(records, budget=1000, unit="record", n="public")
    for epsilon in (0.05, 0.2, 0.8):
        width = float(np.exp(solution @ [1, np.log(data.n), np.log(epsilon)]))
        for factor in FACTORS:
            builder = snh.SNH(cell_m=width * factor)
            answers = data.release(builder, epsilon=epsilon, public=public).answer(boxes)
            error = relative_errors(answers, truth, data.n).mean()
            print(f"epsilon {epsilon}: {factor:g} x {width:.1f} m: {error:.4f}", flush=True)


if __name__ == "__main__":
    fitted = plane(sys.argv[1])
    if len(sys.argv) > 2:
        sweep(sys.argv[2], fitted)
