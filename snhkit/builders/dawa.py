"""DAWA: buckets of similar cells along a Hilbert curve, and a binary tree of noisy counts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import publish, refuse_wide, sizes
from snhkit.builders.cell_width import default_cell_width
from snhkit.checks import positive, share, whole
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region
from snhkit.geometry.dyadic import hilbert_curve, runs_on_curve
from snhkit.geometry.grid import numbered
from snhkit.geometry.histogram import Merged
from snhkit.models.partition_model import PartitionModel
from snhkit.privacy import Measurements, Terms, exact
from snhkit.privacy.splits import Lattice
from snhkit.release import Release

_MAX_ORDER = 11  # 4 million cells
# The constants of the default ``order`` and ``max_bucket_m``, chosen on public cities by
# benchmarks/dawa.py.
_DETAIL_M, _CELL, _BUCKET = 80.0, 0.5, 10.0
_BUCKET_WITHOUT_N = 4.0
_MAX_BOXES = 4_096
_MAX_COVERED_CELLS = 2**22  # by all boxes together

_PARTS = 1_000  # shares are multiples of a thousandth
_STEPS_PER_OCTAVE = 8  # precisions that are searched for each doubling
_CHUNK_CELLS = 2**20  # pairs of a box and a cell that are held in memory at a time


@dataclass(frozen=True)
class DAWA:
    """Noisy counts of nearly uniform buckets of cells, and of a binary tree over the buckets.

    A Hilbert curve puts the cells of a fine grid in a line, so that neighbours on the line are
    neighbours on the map. A share of epsilon, 0.4 by default, is spent on dividing the line into
    buckets, which are runs of cells with similar counts. The cells of a bucket share one noisy
    count. The rest of epsilon is spent on the counts of the buckets and, if the expected boxes are
    large, of the nodes of a binary tree over the buckets. Least squares makes all counts
    consistent.

    Parameters
    ----------
    ratio : float
        The share of epsilon that chooses the buckets, between 0 and 1.
    order : int, optional
        The grid has 2^order cells per side; from 0 to 11. By default, the cells are about as wide
        as the smallest squares of ``sizes_m``, but at most about 80 m. If n is public and the
        product of n and epsilon is small, the cells are wider.
    max_bucket_m : float, optional
        The side of the largest buckets, which are squares, in metres; it is rounded to a power of
        two times the width of a cell. The region is divided into these buckets first, a step that
        depends on no record. By default, the buckets are about as wide as the largest squares of
        ``sizes_m``. If n is public and the product of n and epsilon is small, or if n is private,
        they are wider.
    sizes_m : (float, float)
        The smallest and the largest side of the expected squares, in metres. The squares are
        expected near the public points, or anywhere in the region if there are none.

    Raises
    ------
    InputError
        If a parameter is out of its range.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("milwaukee", n=10_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.DAWA(order=7), epsilon=0.5)
    >>> [str(spend.epsilon) for spend in release.spends]
    ['1/5', '3/10']

    Notes
    -----
    Li, Hay, Miklau and Wang, "A Data- and Workload-Aware Algorithm for Range Queries Under
    Differential Privacy", PVLDB 7, 2014. This implementation differs in three ways:

    - The paper chooses the buckets with the lowest total cost, given a noisy cost of each. Its
      authors' program needs a cut-off of negative costs that our privacy proof does not allow.
      Here, a bucket is divided into quarters if its noisy deviation is large, as in PrivTree.
    - The deviation is the sum of the distances of the counts from their median, which is a whole
      number; the paper uses the mean.
    - The weights of the tree's levels (Sec. 4) are optimal; the paper searches for them greedily.
    """

    ratio: float = 0.4
    order: int | None = None
    max_bucket_m: float | None = None
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M

    def __post_init__(self) -> None:
        share("ratio", self.ratio)
        if self.order is not None:
            object.__setattr__(self, "order", whole("order", self.order, least=0, most=_MAX_ORDER))
        if self.max_bucket_m is not None:
            bucket_m = positive("max_bucket_m", self.max_bucket_m, "metres")
            object.__setattr__(self, "max_bucket_m", bucket_m)
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))

    def order_for(self, side_m: float, n_epsilon: float | None = None) -> int:
        """Return the order of the grid, which has 2^order cells per side, for a region's side.

        ``n_epsilon`` is n times epsilon divided by the sensitivity, if n is public.
        """
        if self.order is not None:
            return self.order
        cell_m = min(self.sizes_m[0], _DETAIL_M)
        if n_epsilon is not None:
            cell_m = max(cell_m, _CELL * default_cell_width(1, n_epsilon, self.sizes_m))
        return int(np.clip(round(math.log2(side_m / cell_m)), 0, _MAX_ORDER))

    def bucket_order_for(self, grid: Grid, n_epsilon: float | None = None) -> int:
        """Return the order of the largest buckets, which have 2^order cells of the grid per side.

        ``n_epsilon`` is n times epsilon divided by the sensitivity, if n is public.
        """
        if self.max_bucket_m is not None:
            bucket_m = self.max_bucket_m
        elif n_epsilon is None:
            bucket_m = _BUCKET_WITHOUT_N * self.sizes_m[1]
        else:
            width_m = default_cell_width(1, n_epsilon, self.sizes_m)
            bucket_m = max(self.sizes_m[1], _BUCKET * width_m)
        return int(np.clip(round(math.log2(bucket_m / grid.cell_m)), 0, math.log2(grid.m)))

    def expected(self, grid: Grid, public: Points | None) -> RangeQueries:
        """Return the 4 to 4,096 squares for which the tree is optimised, from public input alone.

        They lie near the public points, if there are any. Equal arguments give equal squares.
        """
        near = public if public is not None and len(public) else grid.region
        covered = (np.mean(self.sizes_m) / grid.cell_m + 1) ** 2
        count = int(np.clip(_MAX_COVERED_CELLS / covered, 4, _MAX_BOXES))
        return RangeQueries.sample(near, count, self.sizes_m)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``sizes_m`` does not fit the region, or epsilon is too small."""
        refuse_wide("DAWA", self.sizes_m[1], region)
        Lattice.of(terms.epsilon * exact(self.ratio), terms.unit.sensitivity)

    def build(self, private: Measurements) -> Release:
        """Return a release of consistent noisy counts of the buckets."""
        bucket_epsilon = private.epsilon * exact(self.ratio)
        # The widths depend on n only if n is public.
        known = None if private.n is None else max(private.n, 1) * private.record_epsilon
        grid = Grid(private.region, 2 ** self.order_for(private.region.side_m, known))
        column, row = hilbert_curve(grid.m.bit_length() - 1)
        longest = 4 ** self.bucket_order_for(grid, known)
        length = private.buckets(grid, column * grid.m + row, longest, bucket_epsilon)
        count_epsilon = private.epsilon
        bucket = np.empty((grid.m, grid.m), np.int64)
        bucket[column, row] = np.repeat(np.arange(len(length)), length)
        shares = level_shares(box_energies(self.expected(grid, private.public), grid, bucket))
        counts = {
            level: private.histogram(Merged(grid, bucket >> level), count_epsilon * share).values
            for level, share in shares.items()
        }
        values = fitted_leaves(counts, {level: float(s) ** -2 for level, s in shares.items()})
        model = PartitionModel(_bucket_rectangles(grid, length), values)
        return publish(self, private, model)


def _bucket_rectangles(grid: Grid, length: NDArray[np.int64]) -> Partition:
    """Return the buckets as rectangles, from their lengths along the Hilbert curve."""
    start = np.cumsum(length) - length
    order = grid.m.bit_length() - 1
    level = np.rint(np.log2(length)).astype(np.int64)
    return Partition(grid.region, *grid.edges()[runs_on_curve(order, start, level)])


def box_energies(boxes: RangeQueries, grid: Grid, leaf: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the energy of boxes in each level of a Haar decomposition over a tree's leaves.

    A level's is the squared length of differences between halves of 2, 4, ... leaves, the last the
    mean's, of the vector of each box's covered shares of the leaves, which are sets of cells.
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
    """Return box, leaf and covered share of each cell that a box reaches, in this order."""
    low = np.clip(np.stack([boxes.x, boxes.y]) / grid.cell_m, 0, grid.m)
    high = np.clip(np.stack([boxes.x1, boxes.y1]) / grid.cell_m, low, grid.m)
    first = np.minimum(low.astype(np.int64), grid.m - 1)
    (columns, rows) = np.ceil(high).astype(np.int64) - first
    box, nth = numbered(columns * rows)
    cell = first[:, box] + np.stack([nth // rows[box], nth % rows[box]])
    overlap = np.minimum(cell + 1, high[:, box]) - np.maximum(cell, low[:, box])
    order = np.argsort(box * grid.m**2 + leaf[*cell], kind="stable")
    return box[order], leaf[*cell][order], overlap.prod(axis=0)[order]


def expected_error(weights: NDArray[np.float64], energies: NDArray[np.float64]) -> float:
    """Return the expected sum of squared errors of the boxes whose energies are given.

    Nodes of 2^k leaves with k < j measure the differences between halves of 2^j leaves, whose
    precision is therefore the sum of w_k^2 2^k over these levels, with shares w_k; all nodes
    measure the mean.
    """
    precision = np.cumsum(weights**2 * 2.0 ** np.arange(len(weights)))
    nonzero = energies > 0
    return float((energies[nonzero] / precision[nonzero]).sum())


def level_weights(energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of epsilon of a binary tree's levels that minimise ``expected_error``.

    Dynamic programming finds a path of precisions, where the DAWA paper (Sec. 4) is greedy.
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
    """Return weights of sum 1 after 100 steps, each of which enlarges those that gain more."""
    for _ in range(100):
        weights = weights / weights.sum()
        twos = 2.0 ** np.arange(len(weights))
        precision = np.cumsum(weights**2 * twos)
        gain = weights * twos * np.cumsum((energies / precision**2)[::-1])[::-1]
        weights = weights * np.cbrt(gain)
    return weights / weights.sum()


def level_shares(energies: NDArray[np.float64]) -> dict[int, Fraction]:
    """Return the optimal shares of epsilon of a binary tree's levels, rounded to thousandths."""
    parts = np.rint(_PARTS * level_weights(energies)).astype(int)
    parts[0] = max(parts[0], 1)
    parts[parts.argmax()] += _PARTS - parts.sum()
    return {level: Fraction(int(parts[level]), _PARTS) for level in np.flatnonzero(parts).tolist()}


def fitted_leaves(
    counts: Mapping[int, NDArray], variances: Mapping[int, float]
) -> NDArray[np.float64]:
    """Return the leaves' counts that fit those of all nodes best, by weighted least squares."""
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
