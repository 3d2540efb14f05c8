"""Groups of neighbouring cells that get one noisy count together, where records are few."""

import numpy as np
from jaxtyping import Float, Int

__all__ = ["merged_groups"]

_LEAST_SIDE = 1.5  # the least mean number of cells per side of a group


def merged_groups(
    m: int, first: Int[np.ndarray, " b"], sums: Float[np.ndarray, "b b"], enough: float
) -> Int[np.ndarray, "{m} {m}"]:
    """Return the index, from 0, of the group of cells with which each cell is counted.

    Every block of cells is divided into r by r groups of about equal size. For each block, the
    number r is chosen so that a group holds about ``enough`` records or more, as in an adaptive
    grid. If groups would be less than 1.5 cells wide, each cell of the block is a group of its own.

    Parameters
    ----------
    m : int
        The number of cells along a side of the grid.
    first : ndarray of int, shape (b,)
        The index of the first cell of each block along an axis; the same for both axes.
    sums : ndarray, shape (b, b)
        The estimated number of records in each block, from noisy counts only.
    enough : float
        The number of records that a group should hold, in the unit of ``sums``.

    Examples
    --------
    >>> merged_groups(4, np.array([0, 2]), np.array([[9.0, 1.0], [0.0, 2.0]]), enough=2.0)
    array([[0, 1, 4, 4],
           [2, 3, 4, 4],
           [5, 5, 6, 6],
           [5, 5, 6, 6]])

    Notes
    -----
    The rule for the number of groups is that of the adaptive grid of Qardaji, Yang and Li,
    "Differentially private grids for geospatial data", ICDE 2013, Sec. 4.2.
    """
    size = np.diff(first, append=m)
    parts = np.maximum(np.sqrt(np.maximum(sums, 0) / enough), 1).astype(np.int64)
    whole = parts * _LEAST_SIDE > np.sqrt(np.outer(size, size))
    along_x = np.where(whole, size[:, None], np.minimum(parts, size[:, None]))
    along_y = np.where(whole, size, np.minimum(parts, size))
    ends = np.cumsum(along_x * along_y).reshape(parts.shape)
    block = np.repeat(np.arange(len(first)), size)
    place = np.arange(m) - first[block]
    each = np.ix_(block, block)
    i = place[:, None] * along_x[each] // size[block][:, None]
    j = place * along_y[each] // size[block]
    return (ends - along_x * along_y)[each] + i * along_y[each] + j
