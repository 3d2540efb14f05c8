"""DAWA: buckets of similar cells along a Hilbert curve, and a binary tree of noisy counts."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import publish, sizes
from snhkit.builders.inference.binary_tree import fitted_leaves
from snhkit.builders.inference.level_shares import box_energies, level_shares
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.checks import positive, whole
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region
from snhkit.geometry.hilbert import hilbert_curve, runs_on_curve
from snhkit.geometry.histogram import Merged
from snhkit.models.partition_model import PartitionModel
from snhkit.privacy import BucketCosts, Measurements, Terms, exact
from snhkit.privacy.scale import noise_scale
from snhkit.release import Release

__all__ = ["DAWA"]

_MAX_ORDER = 11  # 4 million cells
# The constants of the default ``order`` and ``caution``, chosen on public cities by
# benchmarks/dawa.py.
_DETAIL_M, _POWER, _OF_DEFAULT = 80.0, 0.4, 0.75
_CAUTION_FOR_1, _CAUTION = 2.4, 0.54
_MAX_BOXES = 4_096
_MAX_COVERED_CELLS = 2**22  # by all boxes together


@dataclass(frozen=True)
class DAWA:
    """Noisy counts of nearly uniform buckets of cells, and of a binary tree over the buckets.

    A Hilbert curve puts the cells of a fine grid in a line, so that neighbours on the line are
    neighbours on the map. A share of epsilon, a quarter by default, is spent on dividing the line
    into buckets, which are runs of cells with similar counts. The cells of a bucket share one noisy
    count. The rest of epsilon is spent on the counts of the buckets and, if the expected boxes are
    large, of the nodes of a binary tree over the buckets. Least squares makes all counts
    consistent.

    Parameters
    ----------
    ratio : float
        The share of epsilon that chooses the buckets, between 0 and 1.
    order : int, optional
        The grid has 2^order cells per side; from 0 to 11. By default, the cells are about as wide
        as the smallest squares of ``sizes_m``. If these squares are wider than about 70 m, the
        cells are narrower. If n is public and the product of n and epsilon is small, the cells are
        wider.
    block : int
        The number of cells in the smallest block, a power of four. The line is first divided into
        blocks, and each block into buckets of equal length. Small blocks adapt better to the
        records, but also to the noise.
    sizes_m : (float, float)
        The smallest and the largest side of the expected squares, in metres. The squares are
        expected near the public points, or anywhere in the region if there are none.
    caution : float, optional
        The fixed cost of a block. The unit is the scale of the noise with which buckets are chosen.
        The line is divided into one more block only if this reduces the costs of buckets by more
        than the cost of a block. A low cost adapts the blocks better to the records, but also to
        the noise. By default, the cost grows with the number of cells in the expected squares,
        because the noise of these cells adds up.

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

    - The cost of a bucket contains twice the deviation from the median. This number is an integer,
      and lies between one and two times the deviation from the mean.
    - The buckets of a block have equal lengths, and the noise is as large as the privacy proof
      requires. The paper chooses each bucket freely (Sec. 3.3), which favours buckets whose noise
      happens to be low.
    - The weights of the tree's levels (Sec. 4) are optimal; the paper searches for them greedily.
    """

    ratio: float = 0.25
    order: int | None = None
    block: int = 16
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M
    caution: float | None = None

    def __post_init__(self) -> None:
        positive("ratio", self.ratio)
        if self.ratio >= 1:
            raise InputError(
                f"ratio is a share of epsilon and must be below 1, not {self.ratio!r}."
            )
        if self.order is not None:
            object.__setattr__(self, "order", whole("order", self.order, least=0, most=_MAX_ORDER))
        if self.caution is not None and not 0 <= self.caution < math.inf:
            raise InputError(f"caution must be a number, at least 0, not {self.caution!r}.")
        object.__setattr__(self, "block", whole("block", self.block, least=1))
        if self.block & (self.block - 1) or self.block.bit_length() % 2 == 0:
            raise InputError(f"block must be a power of four, not {self.block}.")
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))

    def _budget(self, terms: Terms | Measurements) -> tuple[Fraction, Fraction, Fraction]:
        """Return the epsilon of buckets, the epsilon of counts, and the fixed cost of a bucket.

        The epsilon of buckets is spent on choosing the buckets. The fixed cost, in records, is the
        scale of the noise in a bucket's count.
        """
        bucket_epsilon = terms.epsilon * exact(self.ratio)
        count_epsilon = terms.epsilon - bucket_epsilon
        return bucket_epsilon, count_epsilon, terms.unit.sensitivity / count_epsilon

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
        least_m = self.sizes_m[0]
        cell_m = min(least_m, _DETAIL_M * (least_m / 100) ** _POWER)
        if n_epsilon is not None:
            cell_m = max(cell_m, _OF_DEFAULT * default_cell_width(1, n_epsilon, self.sizes_m))
        return int(np.clip(round(math.log2(side_m / cell_m)), 0, _MAX_ORDER))

    def caution_for(self, cell_m: float) -> float:
        """Return the fixed cost of a block (see ``caution``) for cells of ``cell_m`` metres."""
        if self.caution is not None:
            return self.caution
        covered = max(sum(self.sizes_m) / 2 / cell_m, 1) ** 2
        return _CAUTION_FOR_1 + _CAUTION * math.log(covered)

    def _grid(self, region: Region, terms: Terms | Measurements) -> Grid:
        """Return the fine grid whose cells the Hilbert curve puts in a line.

        The cell width depends on n only if n is public.
        """
        n_epsilon = None if terms.n is None else max(terms.n, 1) * terms.record_epsilon
        return Grid(region, 2 ** self.order_for(region.side_m, n_epsilon))

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
        grid = self._grid(region, terms)
        bucket_epsilon, _, price = self._budget(terms)
        block_price = self._block_price(grid, terms)
        sensitivity = terms.unit.sensitivity
        BucketCosts.of(grid.m**2, price, bucket_epsilon, sensitivity, block_price)

    def _block_price(self, grid: Grid, terms: Terms | Measurements) -> Fraction:
        """Return the fixed cost of a block in records."""
        bucket_epsilon, _, _ = self._budget(terms)
        caution = Fraction(str(round(self.caution_for(grid.cell_m), 3)))
        return caution * noise_scale(bucket_epsilon, 2 * terms.unit.sensitivity)

    def build(self, private: Measurements) -> Release:
        """Return a release of consistent noisy counts of the buckets."""
        bucket_epsilon, count_epsilon, price = self._budget(private)
        grid = self._grid(private.region, private)
        column, row = hilbert_curve(grid.m.bit_length() - 1)
        along = column * grid.m + row
        block_price = self._block_price(grid, private)
        length = private.buckets(grid, along, self.block, price, bucket_epsilon, block_price)
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
