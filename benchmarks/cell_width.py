"""Where the default cell widths come from: python benchmarks/cell_width.py [--help].

Prints the least-squares plane through the paper's published labels; the errors of Identity and SNH
at multiples of ``default_cell_width``, on the public and synthetic cities that the prior was
trained on, at several sizes; and the factor, linear in logarithms of n epsilon and in evenness, by
which both lose least.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from prior_crops import PLACES, SIDE_M
from scipy.optimize import minimize

import snhkit as snh
from snhkit.builders import Terms
from snhkit.builders.cell_width import default_cell_width
from snhkit.builders.evenness import bought_evenness
from snhkit.experiment import relative_errors
from snhkit.geometry import Grid
from snhkit.neural import Prior
from snhkit.privacy import PrivacyUnit, ReplayableEntropy, exact

FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)
CITIES = ("st_louis", "chicago_assaults", "minneapolis", "london", "miami", "chicago_foursquare")
SYNTHETIC = ("tulsa", "chicago")


def plane() -> None:
    """Intercept, exponent of n and exponent of epsilon."""
    labels = snh.ParamSelect.pretrained().labels
    columns = np.stack([np.ones(len(labels)), np.log(labels.n), np.log(labels.epsilon)], axis=1)
    solution = np.linalg.lstsq(columns, np.log(labels.cell_m), rcond=None)[0]
    print(f"{len(labels)} labels: width = {np.exp(solution[0]):.2f}", end="")
    print(f" n^{solution[1]:.4f} epsilon^{solution[2]:.4f} metres\n")


def cities(folder: Path) -> Iterator[tuple[str, snh.Points]]:
    """Each whole, and some of its records."""
    found = {
        file.split(".")[0]: snh.read_points(folder / file, snh.Region.around(*places[0], SIDE_M))
        for file, places in PLACES.items()
        if file.startswith(CITIES)
    }
    for name in SYNTHETIC:
        found[f"synthetic {name}"] = snh.synthetic_points(name, 200_000, seed=5)
    for name, points in found.items():
        order = np.random.default_rng(0).permutation(len(points))
        for size in sorted({len(points), min(len(points), 10_000)}):
            yield name, snh.Points(points.region, points.xy[order[:size]])


def evenness(records: snh.Points, epsilon: float) -> float:
    """As it is bought."""
    n = len(records)
    half = Grid.of_width(records.region, default_cell_width(n, epsilon) / 2)
    terms = Terms(exact(epsilon), PrivacyUnit.of("record"), ReplayableEntropy(0), n)
    return bought_evenness(records, half, terms)[0]


def sweep(name: str, records: snh.Points, epsilon: float) -> list[NDArray[np.float64]]:
    """Print a row for each method; the logarithms of errors over the row's best."""
    n = len(records)
    boxes = snh.RangeQueries.sample(records, 1_500)
    truth = snh.exact_counts(records, boxes)
    data = snh.PrivateDataset(records, budget=10_000, unit="record", n="public")
    widths = default_cell_width(n, epsilon) * np.array(FACTORS)
    rows = {
        "Identity": [snh.Identity(width) for width in widths],
        "SNH": [snh.SNH(width, prior=Prior(turns=1)) for width in widths],
    }
    found = []
    for method, builders in rows.items():
        answers = (data.release(b, epsilon=epsilon).answer(boxes) for b in builders)
        errors = [relative_errors(np.maximum(a, 0), truth, n).mean() for a in answers]
        cells = [name, f"{n:,}", epsilon, method, *(f"{error:.3f}" for error in errors)]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        found.append(np.log(np.array(errors) / min(errors)))
    return found


def lost(chosen: NDArray[np.float64], losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each row loses at its logarithm of a factor, between those that were tried."""
    at = np.clip(chosen, np.log(FACTORS[0]), np.log(FACTORS[-1]))
    pairs = zip(at, losses, strict=True)
    return np.array([np.interp(x, np.log(FACTORS), row) for x, row in pairs])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Where the default cell widths come from.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    folder = parser.parse_args().folder
    plane()
    print("| city | n | epsilon | method |", " | ".join(f"{f:g} x" for f in FACTORS), "|")
    print("|---" * (4 + len(FACTORS)) + "|")
    told, losses, names = [], [], []
    for city, points in cities(folder):
        for price in (0.05, 0.3):
            losses.append(sweep(city, points, price))
            told.append([1, evenness(points, price), np.log(len(points) * price)])
            names.append(city)
    X, both = np.array(told), np.array(losses)
    weights = np.array([1 / names.count(city) for city in names])
    mean = weights @ both.mean(axis=1) / weights.sum()
    print(
        "\nMean logarithm of what is lost, by factor:",
        dict(zip(FACTORS, mean.round(3), strict=True)),
    )

    def loss(b: NDArray[np.float64]) -> float:
        """Of the factor exp(X b)."""
        return float(weights @ lost(X @ b, both.mean(axis=1)) / weights.sum())

    found = minimize(loss, [-2.3, 1.8, 0.1], method="Powell", options={"xtol": 1e-3})
    print(
        "By evenness:",
        round(found.fun, 3),
        "with exp(a + b evenness) (n epsilon)^c:",
        found.x.round(3),
    )
