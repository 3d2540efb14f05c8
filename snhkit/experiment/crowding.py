"""A measure of how crowded points are, for comparing sets of different numbers of points."""

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Points

__all__ = ["CROWDING_M", "crowding"]

CROWDING_M = (50.0, 200.0, 800.0)
"""The cell widths, in metres, for which ``crowding`` is computed."""

_LEAST = 100  # points
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
    n = len(points)
    if n < _LEAST:
        raise InputError(
            f"public holds {n} points in the region, but at least {_LEAST} are needed; "
            "give more, or leave public out."
        )
    found = []
    for width in CROWDING_M:
        column, row = (points.xy // width).astype(np.int64).T
        across = int(points.region.side_m // width) + 1
        counts = np.unique(column * across + row, return_counts=True)[1].astype(float)
        pairs = max(float((counts * (counts - 1)).sum()), _FLOOR)
        found.append(np.log(pairs / (n * (n - 1))))
    return np.array(found)
