"""Binary trees of counts: shares of epsilon among their levels, and consistent estimates."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Grid, RangeQueries

__all__ = ["box_energies", "expected_error", "fitted_leaves", "level_shares", "level_weights"]

_PARTS = 1_000  # shares are multiples of a thousandth
_STEPS_PER_OCTAVE = 8  # precisions that are searched for each doubling
_CHUNK_CELLS = 2**20  # pairs of a box and a cell that are held in memory at a time


def box_energies(boxes: RangeQueries, grid: Grid, leaf: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the energy of boxes in each level of a Haar decomposition over a tree's leaves.

    The leaves of a binary tree are sets of cells. A box is a vector with an entry for each leaf:
    the share of the leaf's area that the box covers. This vector is a sum of orthogonal components,
    one for each level: the differences between the two leaves of a pair, between the two halves of
    four leaves, of eight leaves and so on, and finally the mean. The energy of a level is the sum
    of the squares of its component over all boxes.

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
    chunk = _CHUNK_CELLS / (min(widest / grid.cell_m, grid.m) + 2) ** 2
    for part in boxes.chunks(max(1, int(chunk))):
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
    """Return three arrays with an entry for each cell that a box covers at least in part.

    The arrays hold the index of the box, the index of the cell's leaf, and the covered share of the
    cell. The entries are sorted by box, then by leaf.
    """
    low = np.clip(np.stack([boxes.x, boxes.y]) / grid.cell_m, 0, grid.m)
    high = np.clip(np.stack([boxes.x1, boxes.y1]) / grid.cell_m, low, grid.m)
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
    """Return the expected sum of squared errors of the boxes whose energies are given.

    Notes
    -----
    Let w_k be the share of level k, whose nodes have 2^k leaves. The component of the differences
    between the halves of 2^j leaves is measured only by nodes of at most 2^(j - 1) leaves. The
    precision of the component, 1 divided by its noise variance, is therefore the sum of w_k^2 2^k
    over k < j. The mean is measured by all nodes.
    """
    precision = np.cumsum(weights**2 * 2.0 ** np.arange(len(weights)))
    nonzero = energies > 0
    return float((energies[nonzero] / precision[nonzero]).sum())


def level_weights(energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of epsilon of a binary tree's levels that minimise ``expected_error``.

    Examples
    --------
    >>> level_weights(np.array([1.0, 0.0]))
    array([1., 0.])

    Notes
    -----
    Li et al. (the DAWA paper, PVLDB 2014, Sec. 4) search greedily, from the leaves up. Here, the
    error plus the sum of the weights is minimised, over weights of any sum. Divided by their sum,
    these weights are the optimal shares, because multiplying all weights by s divides the error by
    s^2.

    The weights follow from the precision of each level's component (see ``expected_error``). These
    precisions form a path of least cost: the precision p of a level with energy e costs e / p, and
    the step from the precision of the level below costs the weight that causes the increase.
    Dynamic programming finds the best path among a finite set of precisions. Further steps then
    improve the weights (see ``_polished``).
    """
    if not energies.any():
        return np.eye(len(energies))[0]
    energies = np.maximum(energies / energies.sum(), 2.0**-30)
    height = len(energies) - 1
    precision = np.exp2(np.arange(np.log2(energies[0]), height + 2, 1 / _STEPS_PER_OCTAVE))
    rise = np.sqrt(np.maximum(precision[:, None] - precision, 0))
    rise[np.triu_indices_from(rise, 1)] = np.inf
    cost, previous = energies[0] / precision + np.sqrt(precision), []
    for level in range(1, height + 1):
        costs = cost + rise / 2 ** (level / 2)
        previous.append(costs.argmin(axis=1))
        cost = energies[level] / precision + costs.min(axis=1)
    path = [int(cost.argmin())]
    for step in previous[::-1]:
        path.append(int(step[path[-1]]))
    growth = np.diff(precision[path[::-1]], prepend=0)
    return _polished(np.sqrt(growth / 2.0 ** np.arange(height + 1)), energies)


def _polished(weights: NDArray[np.float64], energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights with the sum 1, after 100 steps that reduce their ``expected_error``.

    At the optimum, a small increase of any level's weight reduces the error by the same amount. A
    step enlarges the weights whose increase reduces the error more, and reduces the others.
    """
    for _ in range(100):
        weights = weights / weights.sum()
        twos = 2.0 ** np.arange(len(weights))
        precision = np.cumsum(weights**2 * twos)
        gain = weights * twos * np.cumsum((energies / precision**2)[::-1])[::-1]
        weights = weights * np.cbrt(gain)
    return weights / weights.sum()


def level_shares(energies: NDArray[np.float64]) -> dict[int, Fraction]:
    """Return the optimal shares of epsilon of a binary tree's levels, rounded to thousandths.

    Examples
    --------
    >>> level_shares(np.array([0.1, 0.1, 9.0]))
    {0: Fraction(163, 500), 2: Fraction(337, 500)}
    """
    parts = np.rint(_PARTS * level_weights(energies)).astype(int)
    parts[0] = max(parts[0], 1)
    parts[parts.argmax()] += _PARTS - parts.sum()
    return {level: Fraction(int(parts[level]), _PARTS) for level in np.flatnonzero(parts).tolist()}


def fitted_leaves(
    counts: Mapping[int, NDArray], variances: Mapping[int, float]
) -> NDArray[np.float64]:
    """Return the counts of a binary tree's c leaves that fit noisy counts of its nodes best.

    Examples
    --------
    >>> fitted_leaves({0: np.array([1, 2, 3]), 2: np.array([12])}, {0: 1, 2: 1})
    array([2.5, 3.5, 4.5])

    Notes
    -----
    Weighted least squares in two passes. Upwards, a node's count is averaged with its children's
    sum, weighted by precision. Downwards, the difference between a node's estimate and its
    children's sum is divided among the children in proportion to their variances.
    """
    value = np.asarray(counts[0], float)
    variance = np.full(len(value), float(variances[0]))
    below = []
    for level in range(1, (len(value) - 1).bit_length() + 1):
        below.append((value, variance))
        value, variance = _pairs(value), _pairs(variance)
        if level in counts:
            weight = variance / (variance + variances[level])
            value = value + weight * (counts[level] - value)
            variance = weight * variances[level]
    for children, child_variance in below[::-1]:
        difference = (value - _pairs(children)) / _pairs(child_variance)
        value = children + child_variance * difference.repeat(2)[: len(children)]
    return value


def _pairs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of consecutive pairs; a last value without a partner stays as it is."""
    return np.add.reduceat(values, np.arange(0, len(values), 2))
