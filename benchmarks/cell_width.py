"""Where the default cell width comes from: python benchmarks/cell_width.py [--help].

Prints the least-squares plane through the paper's published labels, and the errors of Identity and
SNH at multiples of the default width, on public and synthetic cities of several sizes.
"""

import argparse
from pathlib import Path

import numpy as np

import snhkit as snh
from snhkit.builders.cell_width import default_cell_width
from snhkit.experiment import relative_errors
from snhkit.neural import Prior

FACTORS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
PLACES = {
    "st_louis_incidents.csv.gz": (38.63, -90.24),
    "chicago_assaults.parquet": (41.88, -87.70),
    "minneapolis_stops_2017.csv.gz": (44.97, -93.27),
    "chicago_foursquare_checkins.csv.gz": (41.89, -87.64),
}


def plane() -> None:
    """Intercept, exponent of n and exponent of epsilon."""
    labels = snh.ParamSelect.pretrained().labels
    columns = np.stack([np.ones(len(labels)), np.log(labels.n), np.log(labels.epsilon)], axis=1)
    solution = np.linalg.lstsq(columns, np.log(labels.cell_m), rcond=None)[0]
    print(f"{len(labels)} labels: width = {np.exp(solution[0]):.2f}", end="")
    print(f" n^{solution[1]:.4f} epsilon^{solution[2]:.4f} metres\n")


def sweep(name: str, records: snh.Points) -> list[np.ndarray]:
    """Print a row for each epsilon and method; the logarithms of errors over the row's best."""
    n = len(records)
    boxes = snh.RangeQueries.sample(records, 2_000)
    truth = snh.exact_counts(records, boxes)
    data = snh.PrivateDataset(records, budget=10_000, unit="record", n="public")
    found = []
    for epsilon in (0.05, 0.2, 0.8):
        widths = default_cell_width(n, epsilon) * np.array(FACTORS)
        rows = {
            "Identity": [snh.Identity(width) for width in widths],
            "SNH": [snh.SNH(width, prior=Prior(turns=1)) for width in widths],
        }
        for method, builders in rows.items():
            answers = (data.release(b, epsilon=epsilon).answer(boxes) for b in builders)
            errors = [relative_errors(np.maximum(a, 0), truth, n).mean() for a in answers]
            cells = [name, f"{n:,}", epsilon, method, *(f"{error:.3f}" for error in errors)]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
            found.append(np.log(np.array(errors) / min(errors)))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Where the default cell width comes from.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    folder = parser.parse_args().folder
    plane()
    print("| city | n | epsilon | method |", " | ".join(f"{f:g} x" for f in FACTORS), "|")
    print("|---" * (4 + len(FACTORS)) + "|")
    cities = {
        file: snh.read_points(folder / file, snh.Region.around(lat, lon, 13_200))
        for file, (lat, lon) in PLACES.items()
    }
    cities["synthetic milwaukee"] = snh.synthetic_points("milwaukee", 100_000, seed=3)
    losses = []
    for city, points in cities.items():
        order = np.random.default_rng(0).permutation(len(points))
        for size in sorted({len(points), 20_000}, reverse=True):
            losses += sweep(city, snh.Points(points.region, points.xy[order[:size]]))
    print("\nMean logarithm of what is lost, Identity:", np.mean(losses[::2], axis=0).round(3))
    print("SNH:", np.mean(losses[1::2], axis=0).round(3))
