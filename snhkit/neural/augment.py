"""From one noisy grid to training squares of k sizes (Alg. 1 of the paper)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Grid, RangeQueries
from snhkit.geometry.grid import SummedArea
from snhkit.neural.workload import average_overlaps, overlaps, popular_corners

__all__ = ["TrainingSet", "aligned", "query_sizes", "scattered"]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Q_A, Y_A and their weights, one row a query size.

    Parameters
    ----------
    corners : ndarray, shape (k, t, 2)
        Lower-left corners in metres.
    labels : ndarray, shape (k, t)
        Counts estimated from the noisy grid.
    weights : ndarray, shape (k, t)
        How much each square matters to the workload; 1 on average.
    """

    corners: NDArray[np.float64]
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]


def query_sizes(low: float, high: float, k: int) -> NDArray[np.float64]:
    """Midpoints of k equal parts of [low, high] in metres: the paper's R.

    Examples
    --------
    >>> query_sizes(25, 100, 3)
    array([37.5, 62.5, 87.5])
    """
    return low + (high - low) / k * (np.arange(k, dtype=np.float64) + 0.5)


def aligned(
    table: SummedArea, sizes: NDArray[np.float64], workload: RangeQueries | None, floor: float
) -> TrainingSet:
    """Squares of every size at the lower-left corner of every cell, as in the paper.

    Parameters
    ----------
    table : SummedArea
        Of the noisy grid.
    sizes : ndarray, shape (k,)
        Query sizes in metres.
    workload : RangeQueries or None
        Q_W; without it all squares weigh the same.
    floor : float
        Weight of a square that no workload box touches, in units of the average weight.
    """
    corners = table.grid.corners()
    weights = [_workload_weight(workload, corners, size, floor) for size in sizes]
    return TrainingSet(
        corners=np.broadcast_to(corners, (len(sizes), *corners.shape)),
        labels=np.stack([_labels(table, corners, size) for size in sizes]),
        weights=np.stack([w / (1 + floor) for w in weights]),
    )


def scattered(
    table: SummedArea,
    sizes: NDArray[np.float64],
    workload: RangeQueries | None,
    floor: float,
    count: int,
    rng: np.random.Generator,
) -> TrainingSet:
    """Squares at any position inside the region, more of them where queries are expected.

    Corners on cell borders alone teach a network nothing about the inside of a cell. The weights
    make up for the uneven draw, so that the loss has the expectation of the paper's.

    Parameters
    ----------
    table, sizes, workload, floor
        As for ``aligned``.
    count : int
        Squares of each size.
    rng : Generator
        Public randomness.
    """
    even = count if workload is None else round(count * _EVEN_SHARE)
    corners, labels, weights = [], [], []
    for size in sizes:
        spread = rng.uniform(0, table.grid.region.side_m - size, (even, 2))
        if workload is not None:
            popular = popular_corners(workload, size, count - even, rng)
            spread = np.concatenate([spread, popular])
        wanted = _workload_weight(workload, spread, size, floor)
        drawn = _EVEN_SHARE + (1 - _EVEN_SHARE) * (wanted - floor)
        corners.append(spread)
        labels.append(_labels(table, spread, size))
        weights.append(wanted / (1 + floor) / drawn)
    return TrainingSet(np.stack(corners), np.stack(labels), np.stack(weights))


_EVEN_SHARE = 0.6  # of scattered squares are uniform over the region, the rest near the workload


def _labels(table: SummedArea, corners: NDArray, size: float) -> NDArray[np.float64]:
    return table.sums(_squares(table.grid, corners, size))


def _squares(grid: Grid, corners: NDArray, size: float) -> RangeQueries:
    side = np.full(len(corners), size)
    return RangeQueries(grid.region, corners[:, 0], corners[:, 1], side, side)


def _workload_weight(
    workload: RangeQueries | None, corners: NDArray, size: float, floor: float
) -> NDArray[np.float64]:
    """Overlap counts over their average in the region, plus the floor; shape (t,)."""
    if workload is None:
        return np.full(len(corners), 1 + floor)
    average = average_overlaps(workload, size)
    return overlaps(workload, corners, size) / average + floor
