"""What limits the denoised grid's wide boxes: python benchmarks/denoiser_levels.py [--help].

Prints two tables as Markdown. The first needs no data: the noise of boxes of two sizes, for other
shares of epsilon for blocks, for other divisions between small and large blocks, and with a third
level of blocks 2.4 or 3.6 km wide, all as ratios to the first row. It is computed for weighted
least squares, with every cell counted alone in a region of 13.2 km. The second table needs the
folder of public data sets: the mean absolute error of the denoised grid's sums over 3 by 3 large
blocks, and the mean error of those of them that hold more than 5 psi records. Its columns compare
the projection that the method uses, which is biased, with the estimates before the projection.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from public_cities import CALIBRATION, HELD_OUT, place
from tqdm.auto import tqdm

from snhkit.builders.cell_width import chosen_grid
from snhkit.geometry.grid import block_sums
from snhkit.metrics import smoothing
from snhkit.neural.denoiser.levels import WIDER, bought_levels, coarse_share
from snhkit.neural.denoiser.reconcile import projected
from snhkit.privacy import Measurements, PointSource, PrivacyUnit, ReplayableEntropy, Terms, exact

SIDE_KM, SMALL = 13.2, 36  # the region, and its small blocks per side
BANDS_KM = ((0.3, 1.0), (1.0, 5.0))
BOXES = 60


class Design(NamedTuple):
    """A division of epsilon: the share for all blocks, and the parts of large and wider ones."""

    share: float
    large: float = 0.7
    wider: float = 0.0
    side: int = 9  # small blocks per side of a block of the third level


DESIGNS = (
    Design(0.13),
    Design(0.13, large=0.55),
    Design(0.13, large=0.4),
    Design(0.13, large=0.85),
    Design(0.13, large=0.5, wider=0.2, side=6),
    Design(0.13, large=0.5, wider=0.2),
    Design(0.2),
    Design(0.2, large=0.6, wider=0.2),
    Design(0.3),
)
PLACES = {
    "San Francisco, taxis": (0.05, 0.2, 0.8),
    "New York, Uber": (0.05, 0.2, 0.8),
    "New York, cabs": (0.2, 0.8),
    "Boston, incidents": (0.2, 0.8),
    "Milwaukee, check-ins": (0.2, 0.8),
}


def inside(side: int) -> NDArray[np.float64]:
    """Return for each block, ``side`` small blocks wide, which small blocks are inside (0 or 1)."""
    axis = (np.arange(SMALL) // side == np.arange(-(-SMALL // side))[:, None]).astype(float)
    return np.kron(axis, axis)


def boxes(rng: np.random.Generator, least: float, most: float) -> NDArray[np.float64]:
    """Return which part of each small block is inside of each random box, shape (q, blocks)."""
    found = []
    at = np.arange(SMALL)
    for side in rng.uniform(least, most, BOXES) * SMALL / SIDE_KM:
        along = [
            np.clip(np.minimum(at + 1, low + side) - np.maximum(at, low), 0, 1)
            for low in rng.uniform(0, SMALL - side, 2)
        ]
        found.append(np.outer(*along).ravel())
    return np.array(found)


def noise(design: Design, cells: int, asked: list[NDArray[np.float64]]) -> list[float]:
    """Return the mean standard deviation of boxes in each list; a small block has ``cells`` cells.

    The sums over small blocks are estimated from cells and small blocks, and then conditioned on
    the counts of larger blocks and on the known number of records.
    """
    share, large, wider, side = design
    small = share * (1 - large - wider)
    covariance = np.eye(SMALL**2) / ((1 - share) ** 2 / (2 * cells) + small**2 / 2)
    known = [(inside(3), 2 / (share * large) ** 2), (np.ones((1, SMALL**2)), 1e-6)]
    if wider:
        known.append((inside(side), 2 / (share * wider) ** 2))
    for blocks, variance in known:
        both = blocks @ covariance
        total = both @ blocks.T + variance * np.eye(len(blocks))
        covariance = covariance - both.T @ np.linalg.solve(total, both)
    return [float(np.mean(np.sqrt(((q @ covariance) * q).sum(1)))) for q in asked]


def levels_table() -> None:
    """Print the noise of boxes of each design, relative to that of the first."""
    rng = np.random.default_rng(0)
    asked = [boxes(rng, *band) for band in BANDS_KM]
    counted = (100, 600)
    heads = [f"{a:g}-{b:g} km, {n} cells" for n in counted for a, b in BANDS_KM]
    print("\n| share | small | large | third | " + " | ".join(heads) + " |")
    print("|---" * (4 + len(heads)) + "|", flush=True)
    first = [noise(DESIGNS[0], cells, asked) for cells in counted]
    for design in tqdm(DESIGNS, desc="designs", leave=False):
        found = [noise(design, cells, asked) for cells in counted]
        third = f"{design.wider:g} on {design.side / SMALL * SIDE_KM:.1f} km"
        parts = [design.share, f"{1 - design.large - design.wider:.2f}", design.large]
        row = [*parts, third if design.wider else "", *(np.ravel(found) / np.ravel(first)).round(2)]
        tqdm.write("| " + " | ".join(map(str, row)) + " |")


def bias_table(folder: Path, draws: int) -> None:
    """Print errors of sums over 3 by 3 large blocks with the projection, and without."""
    print("\n| records | epsilon | projected | not | projected, above 5 psi | not, above 5 psi |")
    print("|---" * 6 + "|", flush=True)
    for name, epsilons in PLACES.items():
        records = place((CALIBRATION | HELD_OUT)[name], folder).records
        n = len(records)
        for epsilon in epsilons:
            found = []
            for draw in range(draws):
                terms = Terms(exact(str(epsilon)), PrivacyUnit("record"), n)
                private = Measurements(PointSource(records), terms, ReplayableEntropy(draw))
                share = coarse_share(n, epsilon)
                grid = chosen_grid(private, None, 1 - share, labels="denoised", wider=WIDER)
                levels = bought_levels(private, grid, share)
                scale, large = levels.noise_scale, levels.large
                true = _threes(block_sums(grid.count(records).counts, large.first))
                everything, total = np.zeros(1, int), np.full((1, 1), n / scale)
                ours = projected(large.sums, large.variance, everything, total)
                parts = large.variance / large.variance.sum()
                plain = large.sums + (total - large.sums.sum()) * parts
                off = [_threes(scale * sums) - true for sums in (ours, plain)]
                full = true > 5 * smoothing(n)
                found.append([np.abs(a).mean() for a in off] + [a[full].mean() for a in off])
            row = [f"{x:.0f}" for x in np.mean(found, axis=0)]
            print(f"| {name} | {epsilon} | " + " | ".join(row) + " |", flush=True)


def _threes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums over all squares of 3 by 3 neighbouring values."""
    windows = np.lib.stride_tricks.sliding_window_view(values, (3, 3))
    return windows.sum(axis=(2, 3))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What limits the denoised grid's wide boxes.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=6)
    given = parser.parse_args()
    levels_table()
    bias_table(given.folder, given.draws)
