"""How much of epsilon each level of a binary tree deserves, for the boxes that will be asked."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Grid, RangeQueries

__all__ = ["box_energies", "expected_error", "level_shares", "level_weights"]

_PARTS = 1_000
_STEPS = 8  # of the search, to an octave
_CHUNK = 2**20  # cells under boxes at a time


def box_energies(boxes: RangeQueries, grid: Grid, leaf: NDArray[np.int64]) -> NDArray[np.float64]:
    """How much of what boxes ask is told apart at each level of a binary tree, shape (levels,).

    Over a line of leaves a box is a row of numbers, the covered shares of their areas. Such a row
    is a sum of parts at right angles: what differs between the two leaves of a pair, between the
    two halves of four leaves, of eight, and so on, and its mean. These are the sums of squares of
    each part, over all boxes.

    Parameters
    ----------
    boxes : RangeQueries
        What will be asked.
    grid : Grid
        Its cells make up the leaves.
    leaf : ndarray of int, shape (m, m)
        Each cell's leaf, numbered along the line from 0.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=2)
    >>> box = RangeQueries(city, [0], [0], [1], [1])
    >>> box_energies(box, Grid(city, 2), np.array([[0, 1], [2, 3]]))
    array([0.5 , 0.25, 0.25])
    """
    size = np.bincount(leaf.ravel())
    of_means = np.zeros((len(size) - 1).bit_length() + 1)
    widest = np.max([boxes.width, boxes.height], initial=0)
    at_a_time = _CHUNK / (min(widest / grid.cell_m, grid.m) + 2) ** 2
    for part in boxes.chunks(max(1, int(at_a_time))):
        box, node, share = _covered(part, grid, leaf)
        share = share / size[node]
        for level in range(len(of_means)):
            at = box * len(size) + (node >> level)
            first = np.flatnonzero(np.diff(at, prepend=-1))
            share = np.add.reduceat(share, first) if first.size else share
            box, node = box[first], node[first]
            of_means[level] += (share**2).sum() / 2**level
    return np.maximum(of_means - np.append(of_means[1:], 0), 0)


def _covered(
    boxes: RangeQueries, grid: Grid, leaf: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Box, leaf and how much of a cell's area it covers there, in order of both."""
    low = np.clip(np.stack([boxes.x, boxes.y]) / grid.cell_m, 0, grid.m)
    far = np.stack([boxes.x + boxes.width, boxes.y + boxes.height]) / grid.cell_m
    high = np.clip(far, low, grid.m)
    first = np.minimum(low.astype(np.int64), grid.m - 1)
    (columns, rows) = np.ceil(high).astype(np.int64) - first
    box = np.repeat(np.arange(len(boxes)), columns * rows)
    before = np.cumsum(columns * rows) - columns * rows
    nth = np.arange(box.size) - before[box]
    cell = first[:, box] + np.stack([nth // rows[box], nth % rows[box]])
    overlap = np.minimum(cell + 1, high[:, box]) - np.maximum(cell, low[:, box])
    order = np.argsort(box * grid.m**2 + leaf[*cell], kind="stable")
    return box[order], leaf[*cell][order], overlap.prod(axis=0)[order]


def expected_error(weights: NDArray[np.float64], energies: NDArray[np.float64]) -> float:
    """The sum of squared errors of the boxes, in units of one count's at all of epsilon.

    Parameters
    ----------
    weights : ndarray, shape (levels,)
        Each level's share of epsilon, from the leaves.
    energies : ndarray, shape (levels,)
        As ``box_energies`` gives them.

    Notes
    -----
    Counts of all nodes with weights w_k are, seen along the part that differs between halves of
    2^j leaves, known with precision sum over k < j of w_k^2 2^k: larger nodes cannot tell.
    """
    precision = np.cumsum(weights**2 * 2.0 ** np.arange(len(weights)))
    some = energies > 0
    return float((energies[some] / precision[some]).sum())


def level_weights(energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights that sum to 1 and make ``expected_error`` least, shape (levels,).

    Examples
    --------
    >>> level_weights(np.array([1.0, 0.0]))
    array([1., 0.])

    Notes
    -----
    Li et al. search greedily, from the leaves up (Sec. 4). But the error times the square of the
    sum of weights does not depend on their scale, so to make it least is to make least the error
    plus that sum: the shortest path through the precisions of the levels.
    """
    if not energies.any():
        return np.eye(len(energies))[0]
    energies = np.maximum(energies / energies.sum(), 2.0**-30)
    height = len(energies) - 1
    precision = np.exp2(np.arange(np.log2(energies[0]), height + 2, 1 / _STEPS))
    rise = np.sqrt(np.maximum(precision[:, None] - precision, 0))
    rise[np.triu_indices_from(rise, 1)] = np.inf
    cost, came = energies[0] / precision + np.sqrt(precision), []
    for level in range(1, height + 1):
        ways = cost + rise / 2 ** (level / 2)
        came.append(ways.argmin(axis=1))
        cost = energies[level] / precision + ways.min(axis=1)
    path = [int(cost.argmin())]
    for step in came[::-1]:
        path.append(int(step[path[-1]]))
    growth = np.diff(precision[path[::-1]], prepend=0)
    return _polished(np.sqrt(growth / 2.0 ** np.arange(height + 1)), energies)


def _polished(weights: NDArray[np.float64], energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between the steps of the search: where the gain of a little more is alike for all levels."""
    for _ in range(100):
        weights = weights / weights.sum()
        twos = 2.0 ** np.arange(len(weights))
        precision = np.cumsum(weights**2 * twos)
        gain = weights * twos * np.cumsum((energies / precision**2)[::-1])[::-1]
        weights = weights * np.cbrt(gain)
    return weights / weights.sum()


def level_shares(energies: NDArray[np.float64]) -> dict[int, Fraction]:
    """``level_weights`` in thousandths, by level: some for the leaves, and 1 all together.

    Examples
    --------
    >>> level_shares(np.array([0.1, 0.1, 9.0]))
    {0: Fraction(163, 500), 2: Fraction(337, 500)}
    """
    parts = np.rint(_PARTS * level_weights(energies)).astype(int)
    parts[0] = max(parts[0], 1)
    parts[parts.argmax()] += _PARTS - parts.sum()
    return {level: Fraction(int(parts[level]), _PARTS) for level in np.flatnonzero(parts).tolist()}
