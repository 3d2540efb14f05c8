"""What differs between ours and the authors' programs: python benchmarks/dpbench_parts.py [--help].

Needs the folder that dpbench.py needs. Prints, as Markdown, the errors of DAWA and AG on DPBench's
histogram with one part changed at a time, beside those of the authors' programs:

- AG with 16 x 16 coarse cells, each in 1, 4, 16, 64 or 256 pieces: the edges are those of the
  histogram's cells, along which the boxes lie, as the edges of the authors' program are;
- DAWA with another grid: at order 8 its cells are those of the histogram;
- DAWA that chooses each bucket freely among intervals of 1, 2, 4, ... cells that begin at a
  multiple of their length: from costs without noise, with noise, and with noise and cut off below
  at 0, as the authors' program does.

Our privacy proof covers none of the free choices; they may be tried because the data are public.
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
from snhkit.experiment import relative_errors
from snhkit.privacy import Measurements

Draw = Callable[[int], NDArray[np.float64]]


@dataclass(frozen=True)
class AlignedAG(snh.AdaptiveGrid):
    """AG whose edges are those of a histogram of 256 x 256 cells."""

    def cells_per_side(self, n: int, epsilon: float) -> int:
        """Return 16."""
        return 16

    def pieces(self, noisy: NDArray, epsilon: float) -> NDArray[np.int64]:
        """Return the next power of two above the rule, at most 16."""
        wanted = super().pieces(noisy, epsilon)
        return np.minimum(2 ** np.ceil(np.log2(wanted)).astype(np.int64), 16)


def deviations(counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the deviations from the median of all intervals of 1, 2, 4, ... cells."""
    length = 1
    while length <= counts.size:
        ordered = np.sort(counts.reshape(-1, length), axis=1)
        yield ordered[:, (length + 1) // 2 :].sum(axis=1) - ordered[:, : length // 2].sum(axis=1)
        length *= 2


def free_buckets(counts: NDArray[np.int64], price: float, noise: Draw, cut: bool) -> NDArray:
    """Return lengths of the buckets of least noisy cost; each is 1, 2, 4, ... cells long."""
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
    """Let DAWA choose its buckets otherwise, without privacy."""
    ours = Measurements.buckets
    rng = np.random.default_rng(seed)

    def buckets(self, grid, along, block, price, epsilon, block_price):
        ours(self, grid, along, block, price, epsilon, block_price)  # spends what it would
        counts = grid.count(records).counts.ravel()[along]
        scale = 0 if how == "exact" else 2 / float(epsilon)
        return free_buckets(counts, float(price), lambda k: rng.laplace(0, scale, k), how == "cut")

    if how != "ours":
        Measurements.buckets = buckets  # type: ignore[method-assign]
    try:
        yield
    finally:
        Measurements.buckets = ours  # type: ignore[method-assign]


def variants(sizes_m: tuple[float, float]) -> dict[str, tuple[Builder, str, str]]:
    """Return builders, how buckets are chosen, and the authors' algorithm, by title."""
    dawa, fine = snh.DAWA(sizes_m=sizes_m), snh.DAWA(order=8, sizes_m=sizes_m)
    return {
        "AG": (snh.AdaptiveGrid(), "ours", "AG"),
        "AG, edges of the histogram": (AlignedAG(), "ours", "AG"),
        "DAWA": (dawa, "ours", "DAWA_float"),
        "DAWA, order 6": (replace(dawa, order=6), "ours", "DAWA_float"),
        "DAWA, order 7": (replace(dawa, order=7), "ours", "DAWA_float"),
        "DAWA, order 8": (fine, "ours", "DAWA_float"),
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
    data = snh.PrivateDataset(records, 10**9, unit="record", n="public")
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
