"""HDMM beside ResidualPlanner+ under zCDP, on small grids: python benchmarks/residual_planner.py.

Prints the root of the mean squared error of all ranges of whole cells, in records. The errors of
HDMM, Identity and HB2D are those of their releases. ResidualPlanner+ (Xiao, He, Toksoz, Ding,
Zhang and Kifer, arXiv:2305.08175, Sec. 7) measures the sum of all cells, and what rows, columns and
cells differ from their means, each with noise of its own. The noise in these differences is white
for every strategy of full rank, so its errors follow from Theorems 7 and 8 and Lemma 3 alone. The
last column has the errors of weighted sums of cells along both axes that are best for Gaussian
noise; for the ranges of a grid, they are the best of all sums.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import snhkit as snh
from snhkit.builders.hdmm import interval_gram
from snhkit.geometry import Grid

BUDGET = snh.Budget(1, delta=1e-6)
CELL_M, SIDES = 100, (16, 32)


def ranges(grid: Grid) -> snh.RangeQueries:
    """Return all boxes of whole cells."""
    low, high = np.triu_indices(grid.m)
    x, y = (which.ravel() for which in np.indices((len(low), len(low))))
    start, length = low * grid.cell_m, (high + 1 - low) * grid.cell_m
    return snh.RangeQueries(grid.region, start[x], start[y], length[x], length[y])


def of_release(builder: snh.HDMM | snh.Identity | snh.HierarchicalGrid, m: int) -> float:
    """Return the error of a release that costs the budget's rho."""
    region = snh.Region.around(lat=45, lon=7, side_m=m * CELL_M)
    data = snh.PrivateDataset(snh.Points(region, [[1, 1]]), BUDGET, unit="record")
    if isinstance(builder, snh.HDMM):  # Laplace noise, of which epsilon costs epsilon^2 / 2
        made = data.release(builder, epsilon=math.sqrt(2 * BUDGET.rho) * (1 - 1e-9))
    else:
        made = data.release(builder, epsilon=BUDGET.epsilon, delta=BUDGET.delta)
    errors = made.noise_sd(ranges(Grid(region, m)))
    return math.sqrt((errors**2).mean())


def of_residuals(gram: NDArray[np.float64]) -> float:
    """Return the error of ResidualPlanner+; gram is the mean of w w^T over intervals, (m, m)."""
    m = len(gram)
    mean = gram.sum() / m**2  # of the squares of w 1 / m, for the variance of the sum
    rest = np.trace(gram) - gram.sum() / m  # of |w - mean(w)|^2, for that of the differences
    along = math.sqrt(mean) + math.sqrt(rest * (m - 1) / m)
    return along**2 / math.sqrt(2 * BUDGET.rho)


def of_best_sums(gram: NDArray[np.float64]) -> float:
    """Return the least error of sums along both axes with Gaussian noise."""
    m = len(gram)

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        rows = flat.reshape(m, m)
        norms = np.linalg.norm(rows, axis=0)
        unit = rows / norms
        inverse = np.linalg.inv(unit.T @ unit)
        slope = -2 * unit @ (inverse @ gram @ inverse)
        back = (slope - unit * (unit * slope).sum(axis=0)) / norms
        return float(np.trace(gram @ inverse)), back.ravel()

    start = np.linalg.cholesky(gram).T
    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 5_000})
    return float(found.fun) / math.sqrt(2 * BUDGET.rho)


def main() -> None:
    """Print the table."""
    heads = ["cells", "HDMM", "Identity", "HB2D", "ResidualPlanner+", "best sums, Gaussian"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for m in SIDES:
        gram = interval_gram(m, None)
        builders = (snh.HDMM(CELL_M, None), snh.Identity(CELL_M), snh.HierarchicalGrid(CELL_M))
        errors = [*(of_release(each, m) for each in builders), of_residuals(gram)]
        row = [f"{m} x {m}", *(f"{error:.1f}" for error in (*errors, of_best_sums(gram)))]
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
