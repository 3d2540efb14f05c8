"""Errors for boxes of all sizes and shapes, and nested boxes: python benchmarks/bands.py [--help].

Needs sf_cabs.npy. Prints, as Markdown, mean relative errors of the denoised grid, and of Identity
with cells as wide as those that the denoised grid bought, for boxes from 10 m to the whole region,
squares and strips, on records and anywhere; and how often a box is answered with less than a box
inside it.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
from cabs import CITY, cabs

import snhkit as snh
from snhkit.experiment import relative_errors

BANDS_M = ((10, 25), (25, 100), (100, 300), (300, 1_000), (1_000, 4_000), (4_000, 13_200))
ASPECTS = (1.0, 10.0)


def boxes(near, band: tuple[float, float], aspect: float, count: int = 2_000) -> snh.RangeQueries:
    """Return rectangles of a given aspect ratio whose areas are those of squares of a size band."""
    squares = snh.RangeQueries.sample(near, count, band)
    long, wide = squares.width * aspect**0.5, squares.height / aspect**0.5
    turned = np.arange(count) % 2 == 0
    width, height = np.where(turned, long, wide), np.where(turned, wide, long)
    width, height = np.minimum(width, CITY.side_m), np.minimum(height, CITY.side_m)
    x = np.clip(squares.x + (squares.width - width) / 2, 0, CITY.side_m - width)
    y = np.clip(squares.y + (squares.height - height) / 2, 0, CITY.side_m - height)
    return snh.RangeQueries(CITY, x, y, width, height)


def inconsistent(release: snh.Release, outer: snh.RangeQueries) -> float:
    """Return the share of boxes whose answer is below that of a random box inside the box."""
    rng = np.random.default_rng(0)
    share = rng.uniform(0.1, 1, (2, len(outer)))
    at = rng.uniform(size=(2, len(outer))) * (1 - share)
    x, y = outer.x + at[0] * outer.width, outer.y + at[1] * outer.height
    inner = snh.RangeQueries(CITY, x, y, share[0] * outer.width, share[1] * outer.height)
    return float(np.mean(release.answer(outer) < release.answer(inner)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Boxes of every size and shape.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    records = cabs(given.folder)
    data = snh.PrivateDataset(records, budget=1_000, unit="record", n="public")
    print(
        "| epsilon | sides, m | aspect | where | Identity | Denoised grid | ratio | inside more |"
    )
    print("|---" * 8 + "|")
    for epsilon in (0.05, 0.2, 0.8):
        ours = [data.release(snh.DenoisedGrid(), epsilon=epsilon) for _ in range(given.draws)]
        width = CITY.side_m / len(ours[0].model.cells().boxes()) ** 0.5 * 2
        plain = [data.release(snh.Identity(width), epsilon=epsilon) for _ in ours]
        for band, aspect, near in itertools.product(BANDS_M, ASPECTS, (records, CITY)):
            asked = boxes(near, band, aspect)
            truth = snh.exact_counts(records, asked)
            theirs, mine = (
                np.mean([relative_errors(r.answer(asked), truth, data.n).mean() for r in releases])
                for releases in (plain, ours)
            )
            where = "anywhere" if near is CITY else "on records"
            cells = [epsilon, f"{band[0]:,}-{band[1]:,}", f"{aspect:g}", where, f"{theirs:.3f}"]
            cells += [f"{mine:.3f}", f"{mine / theirs:.2f}", f"{inconsistent(ours[0], asked):.2%}"]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    whole = snh.RangeQueries(CITY, [0], [0], [CITY.side_m], [CITY.side_m])
    print(f"\nThe whole region at epsilon 0.8: {ours[0].answer(whole)[0]:,.0f}; Identity", end=" ")
    print(f"{plain[0].answer(whole)[0]:,.0f}; true {len(records):,}.")
