"""Errors of the baselines and of their authors' programs: python benchmarks/dpbench.py [--help].

Needs a folder with DPBench's 256 x 256 histogram of San Francisco cabs, boxes in its cells, and the
errors of the authors' own programs on them (Hay, Machanavajjhala, Miklau, Chen and Zhang, SIGMOD
2016). Each record becomes a point at a random position in its cell. Prints, as Markdown, the mean
relative errors of our methods and of the authors' programs, and their ratio. For DAWA, there are
errors of two variants of the authors' program: the second rounds the counts of cells to whole
numbers, so that small counts on empty land become 0. The authors' errors at epsilon 0.5 are
interpolated between those at 0.4 and 0.8. ``--histogram`` names another square histogram of the
same form.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.metrics import relative_errors

CELL_M = 100.0
THEIRS = {
    "UG": "UG",
    "AG": "AG",
    "QuadTree": "QuadTree",
    "HB2D": "HB2D",
    "Identity": "IDENTITY",
    "Privelet": "Privelet2D",
    "DAWA": "DAWA_float",
}
"""The methods' names in the file of the authors' errors, which has two variants of DAWA."""

WORKLOADS = {"small": (1, 8), "large": (16, 96)}
"""Smallest and largest side of the boxes, in cells, for which DAWA and HDMM are prepared."""


def points(counts: np.ndarray, seed: int = 0) -> snh.Points:
    """Return random points in the cells of a square histogram: for each cell, its count."""
    region = snh.Region.around(37.7637, -122.4337, CELL_M * len(counts))
    cell = np.repeat(np.arange(counts.size), counts.ravel())
    corner = np.stack([cell // len(counts), cell % len(counts)], axis=1)
    inside = np.random.default_rng(seed).uniform(0.001, 0.999, corner.shape)
    return snh.Points(region, (corner + inside) * CELL_M)


def boxes_of(region: snh.Region, cells: np.ndarray) -> snh.RangeQueries:
    """Return boxes, given their x0, y0, x1 and y1 in units of cells."""
    x0, y0, x1, y1 = cells.T * CELL_M
    return snh.RangeQueries(region, x0, y0, x1 - x0, y1 - y0)


def builders(sizes_m: tuple[float, float]) -> dict[str, Builder]:
    """Return our methods by title; methods with a cell width get that of the histogram."""
    return {
        "UG": snh.UniformGrid(),
        "AG": snh.AdaptiveGrid(),
        "QuadTree": snh.QuadTree(height=8),
        "HB2D": snh.HierarchicalGrid(cell_m=CELL_M, b=16),
        "Identity": snh.Identity(cell_m=CELL_M),
        "Privelet": snh.Privelet(cell_m=CELL_M),
        "DAWA": snh.DAWA(sizes_m=sizes_m),
        "PrivTree": snh.PrivTree(),
        "HDMM": snh.HDMM(cell_m=CELL_M, sizes_m=sizes_m),
    }


def at_epsilon(theirs: pd.DataFrame, name: str, workload: str, epsilon: float) -> float | None:
    """Return the error of the authors' program at an epsilon, interpolated in logarithms."""
    rows = theirs.query("algorithm == @name and workload == @workload").sort_values("eps")
    if not len(rows) or not rows.eps.min() <= epsilon <= rows.eps.max():
        return None
    logs = np.interp(np.log(epsilon), np.log(rows.eps), np.log(rows.rel_err))
    return float(np.exp(logs))


def main() -> None:
    """Read the options, and print the table."""
    parser = argparse.ArgumentParser(description="Our baselines and their authors' programs.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data/dpbench"))
    parser.add_argument("--histogram", default="cabspottingS_n100000.npz")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", nargs="+", default=["0.05", "0.1", "0.5"])
    parser.add_argument("--methods", nargs="+", help="titles, such as DAWA; by default all")
    given = parser.parse_args()
    counts = np.load(given.folder / given.histogram)["counts"]
    records = points(counts)
    theirs = pd.read_csv(given.folder / "reference_errors.csv")
    data = snh.PrivateDataset(records, 10**9, unit="record", n_public=True)
    queries = np.load(given.folder / "queries.npz")
    print("| method | epsilon | boxes | ours | theirs | ratio | whole counts | ratio |")
    print("|---" * 8 + "|", flush=True)
    chosen = given.methods or list(builders((100, 800)))
    jobs = [(t, e, w) for t in chosen for w in WORKLOADS for e in given.epsilons]
    for title, epsilon, workload in tqdm(jobs, unit="row", leave=False):
        asked = boxes_of(records.region, queries[workload])
        truth = snh.exact_counts(records, asked)
        low, high = WORKLOADS[workload]
        builder = builders((low * CELL_M, high * CELL_M))[title]
        errors = [
            relative_errors(
                data.release(builder, epsilon=epsilon, seed=seed).answer(asked), truth, data.n
            ).mean()
            for seed in range(given.seeds)
        ]
        row = [title, epsilon, workload, f"{np.mean(errors):.4f}"]
        for name in {"DAWA": ("DAWA_float", "DAWA")}.get(title, (THEIRS.get(title, ""),)):
            reference = at_epsilon(theirs, name, workload, float(epsilon))
            row += ["", ""] if reference is None else [f"{reference:.4f}"]
            row += [] if reference is None else [f"{np.mean(errors) / reference:.2f}"]
        row += [""] * (8 - len(row))
        tqdm.write("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
