"""DAWA: buckets of similar cells along a Hilbert curve, and a binary tree of noisy counts."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import publish, sizes
from snhkit.builders.inference.binary_tree import box_energies, fitted_leaves, level_shares
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.checks import positive, whole
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region
from snhkit.geometry.hilbert import hilbert_curve, runs_on_curve
from snhkit.geometry.histogram import Merged
from snhkit.models.partition_model import PartitionModel
from snhkit.privacy import Measurements, Terms, exact
from snhkit.privacy.splits import Lattice
from snhkit.release import Release

__all__ = ["DAWA"]

_MAX_ORDER = 11  # 4 million cells
# The constants of the default ``order`` and ``max_bucket_m``, chosen on public cities by
# benchmarks/dawa.py.
_DETAIL_M, _CELL, _BUCKET = 80.0, 0.5, 10.0
_BUCKET_WITHOUT_N = 4.0
_MAX_BOXES = 4_096
_MAX_COVERED_CELLS = 2**22  # by all boxes together


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
        positive("ratio", self.ratio)
        if self.ratio >= 1:
            raise InputError(
                f"ratio is a share of epsilon and must be below 1, not {self.ratio!r}."
            )
        if self.order is not None:
            object.__setattr__(self, "order", whole("order", self.order, least=0, most=_MAX_ORDER))
        if self.max_bucket_m is not None:
            bucket_m = positive("max_bucket_m", self.max_bucket_m, "metres")
            object.__setattr__(self, "max_bucket_m", bucket_m)
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))

    def order_for(self, side_m: float, n_epsilon: float | None = None) -> int:
        """Return the order of the grid, which has 2^order cells per side.

        Parameters
        ----------
        side_m : float
            The side of the region in metres.
        n_epsilon : float, optional
            The number n of records times epsilon divided by the sensitivity, if n is public.
        """
        if self.order is not None:
            return self.order
        cell_m = min(self.sizes_m[0], _DETAIL_M)
        if n_epsilon is not None:
            cell_m = max(cell_m, _CELL * default_cell_width(1, n_epsilon, self.sizes_m))
        return int(np.clip(round(math.log2(side_m / cell_m)), 0, _MAX_ORDER))

    def bucket_order_for(self, grid: Grid, n_epsilon: float | None = None) -> int:
        """Return the order of the largest buckets, which have 2^order cells per side.

        Parameters
        ----------
        grid : Grid
            The grid whose cells the Hilbert curve puts in a line.
        n_epsilon : float, optional
            The number n of records times epsilon divided by the sensitivity, if n is public.
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
        """Return the squares for which the tree is optimised, from public input alone.

        Parameters
        ----------
        grid : Grid
            The grid whose cells the Hilbert curve puts in a line.
        public : Points, optional
            The public points near which squares are expected.

        Returns
        -------
        RangeQueries
            From 4 to 4,096 squares. Equal arguments give equal squares.
        """
        near = public if public is not None and len(public) else grid.region
        covered = (np.mean(self.sizes_m) / grid.cell_m + 1) ** 2
        count = int(np.clip(_MAX_COVERED_CELLS / covered, 4, _MAX_BOXES))
        return RangeQueries.sample(near, count, self.sizes_m)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``sizes_m`` does not fit the region, or epsilon is too small."""
        if self.sizes_m[1] > region.side_m:
            raise InputError(
                f"DAWA: squares of {self.sizes_m[1]:g} m do not fit into a region of "
                f"{region.side_m:g} m; give smaller sizes_m."
            )
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
    """Return the buckets as a partition of the region into rectangles.

    ``length`` holds the number of cells of each bucket, in the order of the Hilbert curve.
    """
    start = np.cumsum(length) - length
    order = grid.m.bit_length() - 1
    level = np.rint(np.log2(length)).astype(np.int64)
    return Partition(grid.region, *grid.edges()[runs_on_curve(order, start, level)])
