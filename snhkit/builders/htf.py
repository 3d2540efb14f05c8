"""HTF: a binary tree whose cuts separate cells of unlike counts."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import publish
from snhkit.builders.quadtree import QuadTree
from snhkit.checks import positive, share, whole
from snhkit.geometry import Grid, Partition, Region
from snhkit.models.partition_model import PartitionModel
from snhkit.privacy import Measurements, Terms, exact
from snhkit.privacy.homogeneity import Level
from snhkit.release import Release

_MAX_SIDE = 2_048


@dataclass(frozen=True)
class HTF:
    """Noisy counts of a binary tree of rectangles, cut where counts on both sides are alike.

    A rectangle of grid cells is cut in two, along x and y in turn, where the counts of cells differ
    least from the mean of their half, as far as noise lets this be seen. Every rectangle is
    counted, smaller ones for larger shares of epsilon. One with few records is cut no further;
    what its branch saves is spent on counting it again. Least squares makes all counts consistent.

    Parameters
    ----------
    cuts : float
        The share of epsilon that chooses the cuts, between 0 and 1. All levels get as much.
    turns : int
        The number of steps of the search for a cut. It looks at 2 ``turns`` + 1 places, among which
        the price of the cut is divided.
    least : float
        A rectangle is cut if its noisy count is at least ``least`` divided by epsilon.
    mean : float
        The tree has the height at which, if it were complete, its smallest rectangles would hold
        ``mean`` / epsilon records on average.
    side : int
        The number of cells along a side of the grid, from 1 to 2,048.

    Raises
    ------
    InputError
        If a parameter is out of its range.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("milwaukee", n=10_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.HTF(side=64), epsilon=0.5)
    >>> [str(spend) for spend in release.spends]
    ['0.5 for cuts and counts of a binary tree']

    Notes
    -----
    Shaham, Ghinita, Ahuja, Krumm and Shahabi, "HTF: Homogeneous Tree Framework for
    Differentially-Private Release of Location Data", SIGSPATIAL 2021 (arXiv:2107.13749), and, with
    a height that follows from the data, TSAS 2023. As there, cuts are searched for by noisy sums of
    absolute deviations, of sensitivity 2, and shares of epsilon grow geometrically with depth. The
    constants were chosen on public cities by ``benchmarks/htf.py``. Rectangles are counted
    before they are cut, so that branches which end early save the price of cuts, too.
    """

    cuts: float = 0.05
    turns: int = 3
    least: float = 6.0
    mean: float = 0.1
    side: int = 512

    def __post_init__(self) -> None:
        share("cuts", self.cuts)
        positive("least", self.least)
        positive("mean", self.mean)
        object.__setattr__(self, "turns", whole("turns", self.turns, least=1, most=16))
        object.__setattr__(self, "side", whole("side", self.side, least=1, most=_MAX_SIDE))

    def height_for(self, n: int, epsilon: float) -> int:
        """Return the height of the tree, the largest number of cuts above a rectangle.

        ``epsilon`` is divided by the sensitivity, as ``Measurements.record_epsilon``.
        """
        most = 2 * math.log2(self.side)
        return int(np.clip(math.log2(max(n * epsilon / self.mean, 1)), 0, most))

    def check(self, region: Region, terms: Terms) -> None:
        """Do nothing, because the method works in every region and with all terms."""

    def build(self, private: Measurements) -> Release:
        """Return a release of consistent noisy counts of the rectangles that were not cut."""
        n, epsilon = private.number(), private.record_epsilon
        grid = Grid(private.region, self.side)
        shares = QuadTree.shares(self.height_for(n, epsilon))
        least = math.ceil(self.least / epsilon)
        levels = private.halves(grid, shares, exact(self.cuts), self.turns, least, private.epsilon)
        ends, counts = consistent(levels)
        edges = grid.edges()[ends.T]
        cells = Partition(grid.region, edges[0], edges[2], edges[1], edges[3])
        return publish(self, private, PartitionModel(cells, counts))


def consistent(levels: list[Level]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the leaves' ends, shape (c, 4), and the counts that fit those of all nodes best."""
    value = [level.counts.copy() for level in levels]
    variance = [level.variance.copy() for level in levels]
    sums = []
    for k in reversed(range(len(levels) - 1)):
        cut = ~levels[k].leaf
        below, theirs = (a[k + 1].reshape(-1, 2).sum(axis=1) for a in (value, variance))
        sums.append((below, theirs))
        weight = variance[k][cut] / (variance[k][cut] + theirs)
        value[k][cut] += weight * (below - value[k][cut])
        variance[k][cut] = weight * theirs
    for k, (below, theirs) in enumerate(reversed(sums)):
        off = (value[k][~levels[k].leaf] - below) / theirs
        value[k + 1] += variance[k + 1] * off.repeat(2)
    leaves = [level.leaf for level in levels]
    ends = [level.ends[leaf] for level, leaf in zip(levels, leaves, strict=True)]
    return np.concatenate(ends), np.concatenate(value)[np.concatenate(leaves)]
