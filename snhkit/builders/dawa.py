"""DAWA: buckets of similar cells along a Hilbert curve, and a binary tree of noisy counts."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import publish, sizes
from snhkit.builders.inference.binary_tree import fitted_leaves
from snhkit.builders.inference.level_shares import box_energies, level_shares
from snhkit.checks import positive, whole
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region
from snhkit.geometry.hilbert import hilbert_curve, runs_on_curve
from snhkit.geometry.histogram import Merged
from snhkit.models.partition_model import PartitionModel
from snhkit.privacy import BucketCosts, Measurements, Terms, exact
from snhkit.release import Release

__all__ = ["DAWA"]

_MAX_ORDER = 11  # 4 million cells
_MAX_BOXES = 4_096
_MAX_COVERED_CELLS = 2**22  # by all boxes together


@dataclass(frozen=True)
class DAWA:
    """Noisy counts of nearly uniform buckets of cells, and of a binary tree over the buckets.

    A Hilbert curve puts the cells of a fine grid in a line on which neighbours are close. A share
    of epsilon, a quarter by default, divides the line into buckets of cells with similar counts, so
    that the cells of a bucket share one noisy count. The rest of epsilon buys the counts of the
    buckets and, if the expected boxes are large, of the nodes of a binary tree over the buckets.
    Least squares makes all counts consistent.

    Parameters
    ----------
    ratio : float
        The share of epsilon that chooses the buckets, between 0 and 1.
    order : int
        The grid has 2^order cells per side; from 0 to 11.
    block : int
        The number of cells of the shortest part of the line with a bucket length of its own, a
        power of two. A small block adapts better but follows more of the noise; 1,024 is better for
        boxes of kilometres.
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
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n="public")
    >>> release = data.release(snh.DAWA(order=7), epsilon=0.5)
    >>> [str(spend.epsilon) for spend in release.spends]
    ['1/8', '3/8']

    Notes
    -----
    Li, Hay, Miklau and Wang, "A Data- and Workload-Aware Algorithm for Range Queries Under
    Differential Privacy", PVLDB 7, 2014. This implementation differs in three ways:

    - The deviation of a bucket is taken twice from its median, an integer between one and two times
      the deviation from the mean.
    - The buckets of a block have equal lengths, and the noise is what the proof requires. The free
      choice of each bucket (Sec. 3.3) selects buckets whose noise happens to be low.
    - The weights of the tree's levels (Sec. 4) are optimal, instead of found by a greedy search.
    """

    ratio: float = 0.25
    order: int = 10
    block: int = 128
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M

    def __post_init__(self) -> None:
        positive("ratio", self.ratio)
        if self.ratio >= 1:
            raise InputError(f"ratio must be below 1, a share of epsilon, not {self.ratio!r}.")
        object.__setattr__(self, "order", whole("order", self.order, least=0, most=_MAX_ORDER))
        object.__setattr__(self, "block", whole("block", self.block, least=1))
        if self.block & (self.block - 1):
            raise InputError(f"block must be a power of two, not {self.block}.")
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))

    def _budget(self, terms: Terms | Measurements) -> tuple[Fraction, Fraction, Fraction]:
        """Return epsilon for the buckets, epsilon for the counts, and the price of a bucket."""
        bucket_epsilon = terms.epsilon * exact(self.ratio)
        count_epsilon = terms.epsilon - bucket_epsilon
        return bucket_epsilon, count_epsilon, terms.unit.sensitivity / count_epsilon

    def expected(self, region: Region, public: Points | None) -> RangeQueries:
        """Return the squares for which the tree is optimised, from public input alone.

        Parameters
        ----------
        region : Region
            The region of the records.
        public : Points, optional
            The public points near which squares are expected.

        Returns
        -------
        RangeQueries
            From 4 to 4,096 squares, the same for the same input.
        """
        near = public if public is not None and len(public) else region
        covered = (np.mean(self.sizes_m) * 2**self.order / region.side_m + 1) ** 2
        count = int(np.clip(_MAX_COVERED_CELLS / covered, 4, _MAX_BOXES))
        return RangeQueries.sample(near, count, self.sizes_m)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``sizes_m`` does not fit the region, or epsilon is too small."""
        if self.sizes_m[1] > region.side_m:
            raise InputError(
                f"DAWA: squares of {self.sizes_m[1]:g} m do not fit into a region of "
                f"{region.side_m:g} m; give smaller sizes_m."
            )
        bucket_epsilon, _, price = self._budget(terms)
        BucketCosts.of(4**self.order, price, bucket_epsilon, terms.unit.sensitivity)

    def build(self, private: Measurements) -> Release:
        """Return a release of consistent noisy counts of the buckets."""
        bucket_epsilon, count_epsilon, price = self._budget(private)
        grid = Grid(private.region, 2**self.order)
        column, row = hilbert_curve(self.order)
        along = column * grid.m + row
        length = private.buckets(grid, along, self.block, price, bucket_epsilon)
        bucket = np.empty((grid.m, grid.m), np.int64)
        bucket[column, row] = np.repeat(np.arange(len(length)), length)
        shares = level_shares(
            box_energies(self.expected(grid.region, private.public), grid, bucket)
        )
        counts = {
            level: private.histogram(Merged(grid, bucket >> level), count_epsilon * share).values
            for level, share in shares.items()
        }
        values = fitted_leaves(counts, {level: float(s) ** -2 for level, s in shares.items()})
        model = PartitionModel(_bucket_rectangles(grid, length), values)
        return publish(self, private, model)


def _bucket_rectangles(grid: Grid, length: NDArray[np.int64]) -> Partition:
    """Return the buckets as a partition of the region into rectangles."""
    start = np.cumsum(length) - length
    order = grid.m.bit_length() - 1
    level = np.rint(np.log2(length)).astype(np.int64)
    return Partition(grid.region, *grid.edges()[runs_on_curve(order, start, level)])
