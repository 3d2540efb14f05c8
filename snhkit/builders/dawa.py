"""DAWA: buckets along a Hilbert curve, counted at the levels that the expected boxes need."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import Terms, positive, publish, sizes, whole
from snhkit.builders.inference.binary_tree import fitted_leaves
from snhkit.builders.inference.level_shares import box_energies, level_shares
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region
from snhkit.geometry.hilbert import hilbert_curve, runs_on_curve
from snhkit.models.partition_model import PartitionModel
from snhkit.privacy import BucketCosts, exact, noisy_buckets, noisy_histogram
from snhkit.release import Release

__all__ = ["DAWA"]

_FINEST = 11  # 4 million cells
_MOST_BOXES = 4_096
_MOST_COVERED = 2**22  # cells, by all boxes together


@dataclass(frozen=True)
class DAWA:
    """Buckets that are nearly uniform inside, in a binary tree weighted for the expected boxes.

    A Hilbert curve lines up the cells of a fine grid so that neighbours stay near. A quarter of
    epsilon cuts the line where counts change, so that cells much alike share one bucket and its
    noise. The rest buys counts of the buckets and, where the expected boxes are large, of the
    nodes of a binary tree over them; least squares makes all these counts agree.

    Parameters
    ----------
    ratio : float
        The share of epsilon that cuts the line.
    order : int
        The grid has 2^order cells a side.
    block : int
        Cells of the smallest stretch of the line that chooses a length for its buckets, a power of
        two. Smaller ones choose more freely, and more by chance; 1,024 suits squares of
        kilometres better.
    sizes_m : (float, float)
        Smallest and largest side in metres of the squares that are expected, near public points if
        given, anywhere in the region otherwise.

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
    Differential Privacy", PVLDB 7, 2014. Three things differ. The deviation of a bucket is twice
    that from its median, which lies between one and two times that from its mean and is whole.
    The cuts are chosen among blocks of equal buckets, with as much noise as their proof needs:
    choosing each bucket freely (Sec. 3.3), one picks those with the luckiest noise. And the
    levels' weights (Sec. 4) are the best, not those of a greedy search.
    """

    ratio: float = 0.25
    order: int = 10
    block: int = 128
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M

    def __post_init__(self) -> None:
        positive("ratio", self.ratio)
        if self.ratio >= 1:
            raise InputError(f"ratio must be below 1, a share of epsilon, not {self.ratio!r}.")
        whole("order", self.order, least=0)
        if self.order > _FINEST:
            raise InputError(f"order must be at most {_FINEST}, not {self.order}.")
        whole("block", self.block, least=1)
        for name in ("order", "block"):
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.block & (self.block - 1):
            raise InputError(f"block must be a power of two, not {self.block}.")
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))

    def _budget(self, terms: Terms) -> tuple[Fraction, Fraction, Fraction]:
        """Epsilon for the cuts and for the counts, and a bucket's price."""
        cuts = terms.epsilon * exact(self.ratio)
        return cuts, terms.epsilon - cuts, terms.unit.sensitivity / (terms.epsilon - cuts)

    def expected(self, region: Region, public: Points | None) -> RangeQueries:
        """The squares that the tree is made for: always the same for the same public input."""
        near = public if public is not None and len(public) else region
        covered = (np.mean(self.sizes_m) * 2**self.order / region.side_m + 1) ** 2
        count = int(np.clip(_MOST_COVERED / covered, 4, _MOST_BOXES))
        return RangeQueries.sample(near, count, self.sizes_m)

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse squares larger than the region, and epsilons too small for whole numbers."""
        if self.sizes_m[1] > region.side_m:
            raise InputError(
                f"DAWA: squares of {self.sizes_m[1]:g} m do not fit into a region of "
                f"{region.side_m:g} m; give smaller sizes_m."
            )
        cuts, _, price = self._budget(terms)
        BucketCosts.of(4**self.order, price, cuts, terms.unit.sensitivity)

    def build(self, records: Points, terms: Terms) -> Release:
        """Cut, weigh the levels, count them, and reconcile."""
        how = terms.unit.sensitivity, terms.entropy
        cuts, left, price = self._budget(terms)
        grid = Grid(records.region, 2**self.order)
        cells = grid.count(records)
        column, row = hilbert_curve(self.order)
        length, first = noisy_buckets(cells, column * grid.m + row, self.block, price, cuts, *how)
        bucket = np.empty((grid.m, grid.m), np.int64)
        bucket[column, row] = np.repeat(np.arange(len(length)), length)
        shares = level_shares(box_energies(self.expected(grid.region, terms.public), grid, bucket))
        counts: dict[int, NDArray] = {}
        spends = [first]
        for level, share in shares.items():
            counts[level], spend = noisy_histogram(
                cells.merged(bucket >> level), left * share, *how
            )
            spends.append(spend)
        values = fitted_leaves(counts, {level: float(s) ** -2 for level, s in shares.items()})
        return publish(self, terms, tuple(spends), PartitionModel(_runs(grid, length), values))


def _runs(grid: Grid, length: NDArray[np.int64]) -> Partition:
    """The buckets as rectangles."""
    start = np.cumsum(length) - length
    order = grid.m.bit_length() - 1
    level = np.rint(np.log2(length)).astype(np.int64)
    return Partition(grid.region, *grid.edges()[runs_on_curve(order, start, level)])
