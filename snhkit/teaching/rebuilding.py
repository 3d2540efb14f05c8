"""The reconstruction of records from counts of boxes, by linear programming.

The attack is that of Dinur and Nissim, "Revealing information while preserving privacy", PODS 2003,
and of Dwork, McSherry and Talwar, "The price of privacy and the limits of LP decoding", STOC 2007.
"""

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries


def random_boxes(grid: Grid, count: int, seed: int = 0) -> RangeQueries:
    """Draw boxes of whole cells of a grid, at random positions and of random sizes.

    Parameters
    ----------
    grid : Grid
        The cells.
    count : int
        The number of boxes.
    seed : int
        The seed of the draws.

    Examples
    --------
    >>> from snhkit import Region
    >>> town = Grid(Region.around(lat=0, lon=0, side_m=100), 4)
    >>> cells_in(town, random_boxes(town, 5)).shape
    (5, 16)
    """
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, grid.m, (2, 2, count)), axis=0)
    low, sides = ends[0] * grid.cell_m, (ends[1] - ends[0] + 1) * grid.cell_m
    return RangeQueries(grid.region, low[0], low[1], sides[0], sides[1])


def cells_in(grid: Grid, boxes: RangeQueries) -> NDArray[np.float64]:
    """Return whether each box contains each cell, as 1 or 0, shape (q, m * m).

    The q boxes must consist of whole cells. Column i * m + j stands for cell (i, j), where i counts
    cells from west to east and j from south to north.
    """
    middles = (np.arange(grid.m) + 0.5) * grid.cell_m
    across, up = (
        ((low[:, None] <= middles) & (middles < (low + side)[:, None])).astype(float)
        for low, side in ((boxes.x, boxes.width), (boxes.y, boxes.height))
    )
    return np.einsum("qi,qj->qij", across, up).reshape(len(boxes), -1)


def rebuilt(inside: ArrayLike, answers: ArrayLike, most: float | None = 1) -> NDArray[np.float64]:
    """Return counts of cells that add up, in each box, as closely as possible to published counts.

    For each box, the sum over its cells is compared with its published count. The result minimises
    the total of the absolute differences over all boxes.

    Parameters
    ----------
    inside : array, shape (q, c)
        1 for each of the c cells that a box contains, else 0, as ``cells_in`` returns.
    answers : array, shape (q,)
        The published counts of the q boxes; they may be rounded or noisy.
    most : float or None
        The largest possible count of a cell; None if no bound is known.

    Returns
    -------
    ndarray, shape (c,)
        The counts of the cells, from 0 to ``most``, not rounded.

    Raises
    ------
    InputError
        If the number of answers is not the number of boxes.

    Examples
    --------
    >>> rebuilt([[1, 1], [0, 1]], [1, 0]).round(6).tolist()
    [1.0, 0.0]
    """
    boxes, wanted = csr_array(np.asarray(inside, float)), np.asarray(answers, float)
    rows, cells = np.shape(inside)
    if wanted.shape != (rows,):
        raise InputError(
            f"rebuilt: answers must have one value for each of the {rows} boxes of inside, not "
            f"the shape {wanted.shape}."
        )
    # The unknowns are the counts of cells, and the absolute error of each answer.
    slack = eye_array(rows)
    limits: Any = vstack([hstack([boxes, -slack]), hstack([-boxes, -slack])])
    cost = np.concatenate([np.zeros(cells), np.ones(rows)])
    ranges = [(0, most)] * cells + [(0, None)] * rows
    solved = cast(Any, linprog(cost, limits, np.concatenate([wanted, -wanted]), bounds=ranges))
    return solved.x[:cells]


def bounds_of_cells(
    inside: ArrayLike, answers: ArrayLike, least: float, most: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and the largest count of each cell that exact published sums allow.

    If both are equal, the sums reveal the cell's count, even if the count was not published.

    Parameters
    ----------
    inside : array, shape (q, c)
        1 for each of the c cells that a published sum contains, else 0.
    answers : array, shape (q,)
        The published sums, without noise.
    least, most : float
        The smallest and the largest possible count of a cell.

    Returns
    -------
    smallest, largest : ndarray, shape (c,)
        The bounds of each cell's count.

    Raises
    ------
    InputError
        If no counts from ``least`` to ``most`` have the published sums.

    Examples
    --------
    >>> smallest, largest = bounds_of_cells([[1, 1, 0], [0, 1, 1]], [0, 4], least=0, most=4)
    >>> smallest.tolist(), largest.tolist()
    ([0.0, 0.0, 4.0], [0.0, 0.0, 4.0])
    """
    sums, wanted = csr_array(np.asarray(inside, float)), np.asarray(answers, float)
    cells = np.shape(inside)[1]
    ends = np.zeros((2, cells))
    for cell in range(cells):
        for row, sign in enumerate((1, -1)):
            cost = np.zeros(cells)
            cost[cell] = sign
            solved = cast(Any, linprog(cost, A_eq=sums, b_eq=wanted, bounds=(least, most)))
            if solved.x is None:
                raise InputError(
                    f"bounds_of_cells: no counts from {least:g} to {most:g} have these sums; give "
                    "sums without noise, or wider bounds."
                )
            ends[row, cell] = solved.x[cell]
    return ends[0].round(9) + 0.0, ends[1].round(9) + 0.0
