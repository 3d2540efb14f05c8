"""The Hilbert curve, a path through all cells of a grid from each cell to a neighbour."""

import numpy as np
from jaxtyping import Int

from snhkit.errors import InputError

__all__ = ["MAX_ORDER", "hilbert_curve", "runs_on_curve"]

MAX_ORDER = 13
"""The largest order of a curve, for the largest grid: 2^13 cells per side."""


def hilbert_curve(order: int) -> tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"]]:
    """Return the columns and rows of the cells of a grid in the order of the Hilbert curve.

    The grid has 2^order cells per side. Each cell shares an edge with the cell before. On the
    curve, 4^k consecutive cells fill a square if their first position is a multiple of 4^k.

    Examples
    --------
    >>> hilbert_curve(1)
    (array([0, 0, 1, 1]), array([0, 1, 1, 0]))

    Notes
    -----
    D. Hilbert, "Über die stetige Abbildung einer Linie auf ein Flächenstück", 1891.
    """
    if not 0 <= order <= MAX_ORDER:
        raise InputError(f"hilbert_curve: order must be from 0 to {MAX_ORDER}, not {order}.")
    x = y = np.zeros(1, np.int64)
    for k in range(order):
        side = 1 << k
        # Four copies of the curve; the first and the last are turned, so that each copy begins next
        # to the end of the copy before.
        x, y = (
            np.concatenate([y, x, x + side, 2 * side - 1 - y]),
            np.concatenate([x, y + side, y + side, side - 1 - x]),
        )
    return x, y


def runs_on_curve(
    order: int, start: Int[np.ndarray, " c"], level: Int[np.ndarray, " c"]
) -> Int[np.ndarray, "4 c"]:
    """Return the rectangles that runs of 2^level consecutive cells along the Hilbert curve fill.

    Examples
    --------
    >>> runs_on_curve(1, np.array([0, 2]), np.array([1, 1])).T
    array([[0, 0, 1, 2],
           [1, 0, 2, 2]])
    """
    curve = np.stack(hilbert_curve(order))
    # A run of an even level fills one square, a run of an odd level two squares side by side.
    bits = level >> 1
    halves = np.stack([start, start + (1 << level) // 2 * (level & 1)])
    low = curve[:, halves] >> bits << bits
    return np.concatenate([low.min(axis=1), low.max(axis=1) + (1 << bits)])
