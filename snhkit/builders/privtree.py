"""PrivTree: a quadtree whose depth adapts to the records."""

from dataclasses import dataclass

from snhkit.builders.base import publish
from snhkit.checks import whole
from snhkit.geometry import Partition, Region
from snhkit.geometry.dyadic import squares_at
from snhkit.geometry.partition import MAX_DEPTH
from snhkit.models.partition_model import PartitionModel
from snhkit.models.variance import CellNoise
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

_MAX_CELLS = 2**20


@dataclass(frozen=True)
class PrivTree:
    """Noisy counts of a quadtree that splits squares with large noisy counts.

    Half of epsilon is spent on deciding which squares to split into quarters. The count of a square
    is lowered by an amount that grows with the square's depth, and the square is split if the
    lowered count plus noise is positive. Because of the lowering, the cost of the tree does not
    depend on its depth. The other half of epsilon is spent on noisy counts of the leaf squares. The
    count of a larger square is the sum of the counts of its leaf squares.

    The region itself is always split, a step that depends on no record. Therefore, the count of a
    square of depth d is lowered by the amount that the SIGMOD 2016 paper uses for depth d - 1.

    Parameters
    ----------
    max_depth : int
        The largest number of times that the region is halved, from 0 to 24. With the default of 14,
        the smallest squares of a city are narrower than a metre.

    Raises
    ------
    InputError
        If ``max_depth`` is not a whole number in its range.

    Examples
    --------
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=0, lon=0, side_m=100)
    >>> records = snh.Points(city, [[1, 1]] * 100)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.PrivTree(max_depth=1), epsilon=0.5)
    >>> [str(spend) for spend in release.spends]
    ['0.25 for splits of a quadtree', '0.25 for counts of 4 cells, in parallel']

    Notes
    -----
    Zhang, Xiao and Xie, "PrivTree: A Differentially Private Algorithm for Hierarchical
    Decompositions", SIGMOD 2016, with fanout 4 and theta = 0.
    """

    max_depth: int = 14

    def __post_init__(self) -> None:
        whole("max_depth", self.max_depth, least=0, most=MAX_DEPTH)

    def check(self, region: Region, terms: Terms) -> None:
        """Do nothing, because the method works in every region and with all terms."""

    def build(self, private: Measurements) -> Release:
        """Return a release of noisy counts of the leaf squares."""
        depth, number = private.splits(self.max_depth, _MAX_CELLS, private.epsilon / 2)
        cells = Partition.dyadic(private.region, depth, *squares_at(number))
        counts, variance = private.histogram(cells, private.epsilon)
        return publish(self, private, PartitionModel(cells, counts, CellNoise(variance)))
