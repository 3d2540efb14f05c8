"""Two measures of how clustered points are, for sets of different numbers of points."""

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Points, RangeQueries, exact_counts
from snhkit.metrics import SIZE_BANDS_M, smoothing

__all__ = ["CROWDING_M", "crowding", "sparsity"]

CROWDING_M = (50.0, 200.0, 800.0)
"""The cell widths, in metres, for which ``crowding`` is computed."""

_LEAST = 100  # points
_SQUARES = 4_000  # for each size band
_FLOOR = 0.5  # the number of pairs that is assumed if no two points share a cell


def crowding(points: Points) -> NDArray[np.float64]:
    """Return log probabilities that two random points share a cell of ``CROWDING_M``, shape (3,).

    They are estimated without bias for any number of points from 100.
    """
    n = _enough(points)
    found = []
    for width in CROWDING_M:
        column, row = (points.xy // width).astype(np.int64).T
        across = int(points.region.side_m // width) + 1
        counts = np.unique(column * across + row, return_counts=True)[1].astype(float)
        pairs = max(float((counts * (counts - 1)).sum()), _FLOOR)
        found.append(np.log(pairs / (n * (n - 1))))
    return np.array(found)


def sparsity(points: Points) -> NDArray[np.float64]:
    """Return the log mean inverse share of points in squares around random points, shape (4,).

    The squares are those of each of ``SIZE_BANDS_M``, and a share is at least 0.001, as in relative
    errors. A large value means that many points lie where noise is large relative to counts.
    """
    n, side_m = _enough(points), points.region.side_m
    found = []
    for low, high in SIZE_BANDS_M:
        squares = RangeQueries.sample(points, _SQUARES, (min(low, side_m), min(high, side_m)))
        counts = np.maximum(exact_counts(points, squares), smoothing(n))
        found.append(np.log(np.mean(n / counts)))
    return np.array(found)


def _enough(points: Points) -> int:
    """Return the number of points, which must be at least 100."""
    if len(points) < _LEAST:
        raise InputError(
            f"public holds {len(points)} points in the region, but at least {_LEAST} are needed; "
            "give more, or leave public out."
        )
    return len(points)
