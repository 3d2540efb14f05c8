"""The fraction of each of m equal cells along one axis that an interval covers."""

import numpy as np
from jaxtyping import Float

from snhkit.geometry.queries import RangeQueries

__all__ = ["fractions", "spans", "squared_fractions"]


def spans(queries: RangeQueries) -> tuple[Float[np.ndarray, "2 q"], Float[np.ndarray, "2 q"]]:
    """Return the lower and upper ends of q boxes along x and along y, each of shape (2, q).

    The unit is the side of the region. Parts of boxes outside the region are cut off, so the ends
    are from 0 to 1.
    """
    side = queries.region.side_m
    x, y = np.stack([queries.x, queries.x1]), np.stack([queries.y, queries.y1])
    return np.clip(x / side, 0, 1), np.clip(y / side, 0, 1)


def fractions(span: Float[np.ndarray, "2 q"], m: int) -> Float[np.ndarray, "q {m}"]:
    """Return the fraction of each of ``m`` equal cells that each interval covers, shape (q, m).

    The cells divide the range from 0 to 1. ``span`` holds the lower and upper ends of q intervals.

    Examples
    --------
    >>> fractions(np.array([[0.125], [0.75]]), 4)
    array([[0.5, 1. , 1. , 0. ]])
    """
    low, high = (np.clip(end[:, None] * m - np.arange(m), 0, 1) for end in span)
    return high - low


def squared_fractions(span: Float[np.ndarray, "2 q"], m: int) -> Float[np.ndarray, " q"]:
    """Return the sum of the squared ``fractions`` of the m cells for each interval, shape (q,).

    The computing time does not depend on m.

    Examples
    --------
    >>> squared_fractions(np.array([[0.125, 0.3], [0.75, 0.4]]), 4)
    array([2.25, 0.16])
    """
    low, high = span * m
    first, last = np.floor(low), np.floor(high)
    several = (first + 1 - low) ** 2 + (last - first - 1) + (high - last) ** 2
    return np.where(first == last, (high - low) ** 2, several)
