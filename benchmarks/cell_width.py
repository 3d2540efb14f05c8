"""The fit of the default cell width: python benchmarks/cell_width.py [--help].

Prints the least-squares plane through the paper's published labels, and the errors of Identity at
multiples of ``default_cell_width``, on the cities of ``denoised_widths.py``.
"""

import argparse
from pathlib import Path

import numpy as np
from denoised_widths import EPSILONS, datasets

import snhkit as snh
from snhkit.builders.cell_width import default_cell_width
from snhkit.metrics import relative_errors

FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)


def plane() -> None:
    """Print the fitted constant, exponent of n and exponent of epsilon."""
    labels = snh.ParamSelect.pretrained().labels
    columns = np.stack([np.ones(len(labels)), np.log(labels.n), np.log(labels.epsilon)], axis=1)
    solution = np.linalg.lstsq(columns, np.log(labels.cell_m), rcond=None)[0]
    print(f"{len(labels)} labels: width = {np.exp(solution[0]):.2f}", end="")
    print(f" n^{solution[1]:.4f} epsilon^{solution[2]:.4f} metres\n")


def sweep(name: str, records: snh.Points, epsilon: float) -> list[float]:
    """Print the errors at several cell widths, and return the logarithms of error / least error."""
    n = len(records)
    boxes = snh.RangeQueries.sample(records, 1_500)
    truth = snh.exact_counts(records, boxes)
    data = snh.PrivateDataset(records, budget=10_000, unit="record", n_public=True)
    errors = []
    for factor in FACTORS:
        builder = snh.Identity(factor * default_cell_width(n, epsilon))
        answers = np.maximum(data.release(builder, epsilon=epsilon).answer(boxes), 0)
        errors.append(float(relative_errors(answers, truth, n).mean()))
    cells = [name, f"{n:,}", epsilon, *(f"{error:.3f}" for error in errors)]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return list(np.log(np.array(errors) / min(errors)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The fit of the default cell width.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    cities = datasets(parser.parse_args().folder)
    plane()
    print("| city | n | epsilon |", " | ".join(f"{f:g} x" for f in FACTORS), "|")
    print("|---" * (3 + len(FACTORS)) + "|")
    lost = [sweep(name, city, epsilon) for name, city in cities.items() for epsilon in EPSILONS]
    print("\nMean logarithm of error / least error, by factor:", end=" ")
    print(dict(zip(FACTORS, np.mean(lost, axis=0).round(3).tolist(), strict=True)))
