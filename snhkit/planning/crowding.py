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
    """Return the logarithm of the probability that two random points are in one square grid cell.

    The probability is estimated without bias for any number of points.

    Parameters
    ----------
    points : Points
        At least 100 public points.

    Returns
    -------
    ndarray, shape (3,)
        Natural logarithms for cells 50, 200 and 800 m wide.

    Raises
    ------
    InputError
        If there are fewer than 100 points.

    Examples
    --------
    >>> import snhkit as snh
    >>> crowding(snh.synthetic_points("fargo", 1_000)).round().tolist()
    [-3.0, -2.0, -1.0]
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
    """Return the logarithm of the mean inverse share of points in squares around random points.

    A large value means that many points lie where there are few others. There, the noise of a count
    is large relative to the count.

    Parameters
    ----------
    points : Points
        At least 100 public points.

    Returns
    -------
    ndarray, shape (4,)
        Natural logarithms for the squares of each of ``SIZE_BANDS_M``. A share is at least 0.001,
        as in relative errors.

    Raises
    ------
    InputError
        If there are fewer than 100 points.

    Examples
    --------
    >>> import snhkit as snh
    >>> sparsity(snh.synthetic_points("fargo", 1_000)).round(1).tolist()
    [4.7, 4.3, 3.7, 2.6]
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
