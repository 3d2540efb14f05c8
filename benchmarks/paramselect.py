"""Differences between ParamSelect's cell widths and the best cell widths.

Usage: python benchmarks/paramselect.py [PARAMSELECT_CSV]

Prints mean absolute differences in metres on the 45 published labels, in five-fold cross-validation
repeated 3 times as in the paper, and with each city predicted from the others. If there is a file
of the paper's published figures (by default ../shared/paper/paramselect_gowalla.csv, with the
columns dataset, n, epsilon, best_cell_width_m and entropy_512_nats), also prints the differences on
its labels of the Veraset cities, to which ParamSelect was not fitted. For comparison, the same
numbers are printed for UG's rule.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import LeaveOneGroupOut, RepeatedKFold, cross_val_score

from snhkit.builders import UniformGrid
from snhkit.select import ParamSelect, features
from snhkit.select.paramselect import fitted, unfitted

FIGURES = Path(__file__).parents[2] / "shared" / "paper" / "paramselect_gowalla.csv"
SIDE_M = 12_430
"""The side, in metres, of the regions in which the labels were found."""


def cross_validated(labels: pd.DataFrame, h: bool) -> tuple[float, float]:
    """Return mean absolute errors in metres: of 3 x 5 folds of rows, and of cities left out."""
    phi = features(labels.n, labels.epsilon, labels.entropy if h else None)
    trees = unfitted(labels.cell_m.to_numpy())
    folds = RepeatedKFold(n_splits=5, n_repeats=3, random_state=0)
    cities = LeaveOneGroupOut().split(phi, groups=labels.dataset)
    rows, left_out = (
        -cross_val_score(trees, phi, labels.cell_m, cv=cv, scoring="neg_mean_absolute_error").mean()
        for cv in (folds, cities)
    )
    return float(rows), float(left_out)


def on_others(labels: pd.DataFrame, other: pd.DataFrame, h: bool) -> float:
    """Return the mean absolute error in metres of cell widths predicted for other cities."""
    trees = fitted(
        features(labels.n, labels.epsilon, labels.entropy if h else None), labels.cell_m.to_numpy()
    )
    phi = features(other.n, other.epsilon, other.entropy_512_nats if h else None)
    return float(np.abs(trees.predict(phi) - other.best_cell_width_m).mean())


def of_ug(n: pd.Series, epsilon: pd.Series, best: pd.Series) -> float:
    """Return the mean absolute error in metres of the cell width that UG's rule chooses."""
    cells = [UniformGrid().cells_per_side(*row) for row in zip(n, epsilon, strict=True)]
    return float(np.abs(SIDE_M / np.array(cells) - best).mean())


def main() -> None:
    """Print the errors of ParamSelect and of UG's rule."""
    labels = ParamSelect.pretrained().labels
    print(f"{len(labels)} published labels: mean absolute error, metres")
    for h in (True, False):
        rows, cities = cross_validated(labels, h)
        title = "with entropy" if h else "n and epsilon only"
        print(f"  {title:20} 3 x 5 folds {rows:5.2f}   a city left out {cities:5.2f}")
    print(f"  {'UG':20} {of_ug(labels.n, labels.epsilon, labels.cell_m):17.1f}")
    figures = Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURES
    if not figures.is_file():
        print(f"No errors on Veraset: there is no {figures}.")
        return
    table = pd.read_csv(figures)
    veraset = table.query("dataset == 'veraset'").dropna(subset="best_cell_width_m")
    print(f"{len(veraset)} labels of Veraset cities")
    for h in (True, False):
        title = "with entropy" if h else "n and epsilon only"
        print(f"  {title:20} {on_others(labels, veraset, h):17.2f}")
    ug = of_ug(veraset.n, veraset.epsilon, veraset.best_cell_width_m)
    print(f"  {'UG':20} {ug:17.1f}")
    print("The paper reports 3.3 and 281 m.")


if __name__ == "__main__":
    main()
