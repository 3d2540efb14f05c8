"""The squares of a quadtree in Morton order, in which a square's quarters are consecutive."""

import numpy as np
from jaxtyping import Int

from snhkit.errors import InputError
from snhkit.geometry.partition import MAX_DEPTH
from snhkit.geometry.points import Points

__all__ = ["MAX_ORDER", "hilbert_curve", "numbers_at", "runs_on_curve", "square_of", "squares_at"]

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
    """Return the number of the quadtree square that each point lies in, shape (n,).

    The region is divided into 2^depth squares per side. The squares are numbered from 0 in Morton
    order: square k of one depth has the quarters 4 k to 4 k + 3 of the next depth.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=4)
    >>> points = Points(city, [[0, 0], [0, 3], [3, 0], [3, 3]])
    >>> square_of(points, 1), square_of(points, 2)
    (array([0, 1, 2, 3]), array([ 0,  5, 10, 15]))
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
    """Return the Morton numbers of c squares, shape (c,), given their columns and rows.

    Examples
    --------
    >>> numbers_at(np.array([0, 1, 3]), np.array([1, 0, 3]))
    array([ 1,  2, 15])
    """
    at = np.stack([column, row])
    for shift, mask in _SPREAD:
        at = (at | at << shift) & mask
    return at[0] << 1 | at[1]


def squares_at(
    number: Int[np.ndarray, " c"],
) -> tuple[Int[np.ndarray, " c"], Int[np.ndarray, " c"]]:
    """Return the columns and the rows of c squares, given their Morton numbers.

    Examples
    --------
    >>> squares_at(np.array([0, 1, 2, 15]))
    (array([0, 0, 1, 3]), array([0, 1, 0, 3]))
    """
    at = np.stack([number >> 1, number]) & _SPREAD[-1][1]
    for (shift, _), (_, mask) in zip(
        _SPREAD[::-1], [*_SPREAD[-2::-1], (0, 0xFFFFFFFF)], strict=True
    ):
        at = (at | at >> shift) & mask
    return at[0], at[1]


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
