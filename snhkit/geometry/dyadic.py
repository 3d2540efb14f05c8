"""The squares of a quadtree in Morton order and in the order of the Hilbert curve."""

import numpy as np
from jaxtyping import Int

from snhkit.errors import InputError
from snhkit.geometry.partition import MAX_DEPTH
from snhkit.geometry.points import Points

# Shifts and masks that spread the bits of a number, leaving gaps for the bits of another number.
_SPREAD = (
    (16, 0x0000FFFF0000FFFF),
    (8, 0x00FF00FF00FF00FF),
    (4, 0x0F0F0F0F0F0F0F0F),
    (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)

MAX_ORDER = 13
"""The largest order of a curve, for the largest grid: 2^13 cells per side."""


def square_of(points: Points, depth: int) -> Int[np.ndarray, " n"]:
    """Return the number, in Morton order, of the square that each point lies in.

    There are 2^depth squares per side; square k has the quarters 4 k to 4 k + 3 of the next depth.
    """
    if not 0 <= depth <= MAX_DEPTH:
        raise InputError(f"square_of: depth must be from 0 to {MAX_DEPTH}, not {depth}.")
    cells, width = 1 << depth, points.region.side_m / (1 << depth)
    at = np.minimum((points.xy / width).astype(np.int64), cells - 1)
    # Rounding of the quotient may move a place across an edge, so places are compared with the
    # edges that Grid and Partition use.
    at -= points.xy < at * width
    at += points.xy >= np.where(at + 1 < cells, (at + 1) * width, np.inf)
    return numbers_at(at[:, 0], at[:, 1])


def numbers_at(column: Int[np.ndarray, " c"], row: Int[np.ndarray, " c"]) -> Int[np.ndarray, " c"]:
    """Return the Morton numbers of c squares, given their columns and rows."""
    at = np.stack([column, row])
    for shift, mask in _SPREAD:
        at = (at | at << shift) & mask
    return at[0] << 1 | at[1]


def squares_at(
    number: Int[np.ndarray, " c"],
) -> tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"]]:
    """Return the columns and the rows of c squares, given their Morton numbers."""
    at = np.stack([number >> 1, number]) & _SPREAD[-1][1]
    for (shift, _), (_, mask) in zip(
        _SPREAD[::-1], [*_SPREAD[-2::-1], (0, 0xFFFFFFFF)], strict=True
    ):
        at = (at | at >> shift) & mask
    return at[0], at[1]


def hilbert_curve(order: int) -> tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"]]:
    """Return the columns and rows of a grid of 2^order cells per side along the Hilbert curve.

    Each cell shares an edge with the one before; 4^k cells from a multiple of 4^k on fill a square
    (D. Hilbert, "Über die stetige Abbildung einer Linie auf ein Flächenstück", 1891).
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
    """Return the rectangles (x0, y0, x1, y1) that runs of 2^level cells along the curve fill."""
    curve = np.stack(hilbert_curve(order))
    # A run of an even level fills one square, a run of an odd level two squares side by side.
    bits = level >> 1
    halves = np.stack([start, start + (1 << level) // 2 * (level & 1)])
    low = curve[:, halves] >> bits << bits
    return np.concatenate([low.min(axis=1), low.max(axis=1) + (1 << bits)])
