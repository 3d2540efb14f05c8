"""When Gaussian noise is smaller than Laplace noise: python benchmarks/gaussian.py [--help].

Prints, as Markdown, the standard deviation of the noise of a cell and of boxes, for releases that
share one budget. With pure epsilon, the noise is Laplace; with (epsilon, delta), Gaussian. The
noise does not depend on the records, so no real records are used.
"""

import argparse
import math
from fractions import Fraction
from typing import Any

import numpy as np

import snhkit as snh
from snhkit.privacy import Rho, noise_variance

RELEASES = (1, 4, 16, 64, 256)
METHODS: dict[str, Any] = {
    "`Identity(50)`": snh.Identity(50),
    "`HierarchicalGrid(50)`": snh.HierarchicalGrid(50),
    "`QuadTree(8)`": snh.QuadTree(8),
}
SIDES_M = (50, 400, 3_200)


def cell_stds(budget: snh.Budget, releases: int) -> tuple[float, float]:
    """Return the standard deviations of the Laplace and of the Gaussian noise of a cell."""
    laplace = noise_variance(budget.epsilon / releases, 1)
    return math.sqrt(laplace), math.sqrt(noise_variance(Rho(budget.rho / releases), 1))


def box_errors(builder: Any, budget: snh.Budget, releases: int) -> np.ndarray:
    """Return the mean standard errors of boxes of each side, for Laplace and Gaussian noise."""
    records = snh.synthetic_points("milwaukee", 20_000)
    pure = snh.PrivateDataset(records, budget.epsilon, unit="record")
    mixed = snh.PrivateDataset(records, budget, unit="record")
    each = epsilon_of_rho(budget, releases)
    made = (
        pure.release(builder, epsilon=budget.epsilon / releases),
        mixed.release(builder, epsilon=each, delta=budget.delta),
    )
    boxes = [snh.RangeQueries.sample(records.region, 200, (side, side), seed=1) for side in SIDES_M]
    return np.array([[one.noise_sd(of).mean() for one in made] for of in boxes])


def epsilon_of_rho(budget: snh.Budget, releases: int) -> Fraction:
    """Return the epsilon of one of several releases that share the budget's rho equally."""
    low, high = Fraction(0), budget.epsilon
    for _ in range(30):
        middle = (low + high) / 2
        fits = snh.Budget(middle, budget.delta).rho <= budget.rho / releases
        low, high = (middle, high) if fits else (low, middle)
    return Fraction(round(low * 10**9) - 1, 10**9)


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="0.000001")
    given = parser.parse_args()
    budget = snh.Budget(given.epsilon, given.delta)
    print(f"Budget: epsilon = {given.epsilon}, delta = {given.delta} (rho {float(budget.rho):.3g})")
    print("\n| releases | Laplace | Gaussian | epsilon of each, Gaussian |\n|---|---|---|---|")
    for releases in RELEASES:
        laplace, gaussian = cell_stds(budget, releases)
        each = float(epsilon_of_rho(budget, releases))
        print(f"| {releases} | {laplace:.1f} | {gaussian:.1f} | {each:.3f} |")
    sides = " | ".join(f"{side:,} m: Laplace | Gaussian" for side in SIDES_M)
    print(f"\n| method | releases | {sides} |\n|{'---|' * (2 + 2 * len(SIDES_M))}")
    for name, builder in METHODS.items():
        for releases in (1, 16, 64):
            errors = box_errors(builder, budget, releases).ravel()
            print(f"| {name} | {releases} | {' | '.join(f'{e:.1f}' for e in errors)} |", flush=True)


if __name__ == "__main__":
    main()
