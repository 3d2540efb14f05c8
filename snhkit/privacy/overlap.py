"""A test of whether public points were taken from the private records."""

import math

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Points
from snhkit.geometry.dyadic import square_of
from snhkit.privacy.count_source import CountSource

__all__ = ["shares_records"]

_CHANCE = math.exp(-1)  # the largest probability that a Poisson count is 1, for any mean
_DEVIATIONS = 5  # standard deviations above the mean; exceeded by chance in 1 of 3 million tests


def shares_records(source: CountSource, public: Points) -> bool:
    """Return whether public points seem to contain copies of private records.

    The test compares coordinates. The result depends on private records, so only the owner of the
    records may see the result.

    Parameters
    ----------
    source : CountSource
        The private records.
    public : Points
        The points that are said to be public, in the same region.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> from snhkit.privacy import PointSource
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> one, other = (np.random.default_rng(k).uniform(0, 100, (99, 2)) for k in (0, 1))
    >>> records = PointSource(Points(city, one))
    >>> [shares_records(records, Points(city, xy)) for xy in (one[:40], other)]
    [True, False]

    Notes
    -----
    The test compares the smallest squares of a quadtree, which has 2^24 squares along a side for
    records in memory. Among the squares with exactly one public point, the test counts those that
    also have exactly one private record. If the two datasets are independent and the number of
    private records in a square has a Poisson distribution of mean k, a square has exactly one with
    probability k e^-k, which is at most 1/e. This bound holds for coordinates of any density and
    any rounding. The result is True if the test counts many more squares than the bound allows. The
    test may miss copied records in a public dataset of fewer than 15 points, or if less than half
    of the public points are copies.
    """
    depth = source.max_depth
    held, counts = source.squares(depth)
    places, times = np.unique(square_of(public, depth), return_counts=True)
    single = _once(places, times)
    both = np.intersect1d(single, _once(held, counts), assume_unique=True).size
    spread = math.sqrt(_CHANCE * (1 - _CHANCE) * single.size)
    return both > _CHANCE * single.size + _DEVIATIONS * spread


def _once(places: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return places[counts == 1]
