"""Differences from the authors' programs, one by one: python benchmarks/dpbench_parts.py [--help].

Needs the folder that dpbench.py needs. Prints, as Markdown, the errors of DAWA and AG on DPBench's
histogram with one part of our method changed at a time, and those of the authors' programs:

- AG with 16 x 16 coarse cells, each divided into 1, 4, 16, 64 or 256 pieces. As in the authors'
  program, all edges are edges of the histogram's cells, on which the edges of the boxes lie too.
- DAWA with another grid, at order 8 with the cells of the histogram, and DAWA with the whole region
  as the largest bucket.
- DAWA that chooses each bucket among all intervals of 1, 2, 4, ... cells that begin at a multiple
  of their length. The choice is made from costs without noise, from costs with noise, or, as in the
  authors' program, from costs with noise of which negative ones are replaced by 0.

Our privacy proof does not cover these choices of buckets, but the data are public.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from dpbench import CELL_M, WORKLOADS, at_epsilon, boxes_of, points
from numpy.typing import NDArray
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.metrics import relative_errors
from snhkit.privacy import Measurements

Draw = Callable[[int], NDArray[np.float64]]


@dataclass(frozen=True)
class AlignedAG(snh.AdaptiveGrid):
    """AG whose edges are edges of a histogram of 256 x 256 cells."""

    def cells_per_side(self, n: int, epsilon: float) -> int:
        """Return 16, for all n and epsilon."""
        return 16

    def pieces(self, noisy: NDArray, epsilon: float) -> NDArray[np.int64]:
        """Return the smallest power of two that is at least the number by AG's rule, at most 16."""
        wanted = super().pieces(noisy, epsilon)
        return np.minimum(2 ** np.ceil(np.log2(wanted)).astype(np.int64), 16)


def deviations(counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield, for intervals of 1, 2, 4, ... cells, the sums of deviations from their medians."""
    length = 1
    while length <= counts.size:
        ordered = np.sort(counts.reshape(-1, length), axis=1)
        yield ordered[:, (length + 1) // 2 :].sum(axis=1) - ordered[:, : length // 2].sum(axis=1)
        length *= 2


def free_buckets(counts: NDArray[np.int64], price: float, noise: Draw, cut: bool) -> NDArray:
    """Return the lengths of the buckets with the least noisy cost, each 1, 2, 4, ... cells."""
    best, kept = np.zeros(0), []
    for level, deviation in enumerate(deviations(counts)):
        own = deviation + (noise(deviation.size) if level else 0.0)
        own = (np.maximum(own, 0) if cut else own) + price
        whole = np.ones(own.size, bool)
        if level:
            parts = best.reshape(-1, 2).sum(axis=1)
            whole = own <= parts
            own = np.minimum(own, parts)
        best = own
        kept.append(whole)
    length = np.zeros(counts.size, np.int64)
    open_ = np.ones(1, bool)
    for level in range(len(kept) - 1, -1, -1):
        taken = open_ & kept[level]
        length[np.flatnonzero(taken) << level] = 1 << level
        open_ = np.repeat(open_ & ~kept[level], 2)
    return length[length > 0]


@contextmanager
def choosing(records: snh.Points, how: str, seed: int) -> Iterator[None]:
    """Make DAWA choose its buckets in another way, without privacy, during a ``with`` block."""
    ours = Measurements.buckets
    rng = np.random.default_rng(seed)

    def buckets(self, grid, along, longest, epsilon):
        ours(self, grid, along, longest, epsilon)  # spends the same epsilon
        counts = grid.count(records).counts.ravel()[along]
        scale = 0 if how == "exact" else 2 / float(epsilon)
        price = 1 / float(self.left)
        return free_buckets(counts, price, lambda k: rng.laplace(0, scale, k), how == "cut")

    if how != "ours":
        Measurements.buckets = buckets  # type: ignore[method-assign]
    try:
        yield
    finally:
        Measurements.buckets = ours  # type: ignore[method-assign]


def variants(sizes_m: tuple[float, float]) -> dict[str, tuple[Builder, str, str]]:
    """Return by title: the builder, the way to choose buckets, and the authors' algorithm."""
    dawa, fine = snh.DAWA(sizes_m=sizes_m), snh.DAWA(order=8, sizes_m=sizes_m)
    return {
        "AG": (snh.AdaptiveGrid(), "ours", "AG"),
        "AG, edges of the histogram": (AlignedAG(), "ours", "AG"),
        "DAWA": (dawa, "ours", "DAWA_float"),
        "DAWA, order 7": (replace(dawa, order=7), "ours", "DAWA_float"),
        "DAWA, order 8": (fine, "ours", "DAWA_float"),
        "DAWA, order 8, one bucket": (replace(fine, max_bucket_m=1e9), "ours", "DAWA_float"),
        "DAWA, order 8, free buckets, costs without noise": (fine, "exact", "DAWA_float"),
        "DAWA, order 8, free buckets": (fine, "free", "DAWA_float"),
        "DAWA, order 8, free buckets, costs cut off": (fine, "cut", "DAWA_float"),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What differs from the authors' programs.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data/dpbench"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilons", nargs="+", default=["0.05", "0.1", "0.5"])
    given = parser.parse_args()
    records = points(np.load(given.folder / "cabspottingS_n100000.npz")["counts"])
    theirs = pd.read_csv(given.folder / "reference_errors.csv")
    queries = np.load(given.folder / "queries.npz")
    data = snh.PrivateDataset(records, 10**9, unit="record", n_public=True)
    heads = [f"{w} {e}" for w in WORKLOADS for e in given.epsilons]
    print("| variant |", " | ".join(heads), "|\n" + "|---" * (1 + len(heads)) + "|", flush=True)
    for title in tqdm(variants((100, 800)), unit="variant", leave=False):
        row = []
        for workload, (low, high) in WORKLOADS.items():
            asked = boxes_of(records.region, queries[workload])
            truth = snh.exact_counts(records, asked)
            builder, how, name = variants((low * CELL_M, high * CELL_M))[title]
            for epsilon in given.epsilons:
                errors = []
                for seed in range(given.seeds):
                    with choosing(records, how, seed):
                        release = data.release(builder, epsilon=epsilon, seed=seed)
                    errors.append(relative_errors(release.answer(asked), truth, data.n).mean())
                reference = at_epsilon(theirs, name, workload, float(epsilon)) or np.nan
                row.append(f"{np.mean(errors):.4f} ({np.mean(errors) / reference:.2f})")
        tqdm.write(f"| {title} | " + " | ".join(row) + " |")
