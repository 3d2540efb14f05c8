"""A test of whether public points were taken from records; apart, since it looks without noise."""

import math

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Points
from snhkit.geometry.dyadic import square_of
from snhkit.privacy.count_source import CountSource

_CHANCE = math.exp(-1)  # the largest probability that a Poisson count is 1, for any mean
_DEVIATIONS = 5  # standard deviations above the mean; exceeded by chance in 1 of 3 million tests


def shares_records(source: CountSource, public: Points) -> bool:
    """Return whether public points seem to be copies of private records; for the owner only.

    Of the finest squares with one public point, those with one record are counted. By chance a
    square has one with a probability k e^-k, at most 1/e at any density; many more are copies.
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
