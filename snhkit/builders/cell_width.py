"""A cell width from public numbers alone."""

from typing import Literal

import numpy as np

from snhkit.builders.base import MOST_CELLS, Terms, positive, with_n
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import Spend

__all__ = ["Width", "check_width", "chosen_grid", "default_cell_width", "given_grid"]

Width = float | Literal["auto"] | None
"""Metres; or None for ``default_cell_width``, "auto" for what ``ParamSelect`` says."""


def default_cell_width(n: int, epsilon: float) -> float:
    """A cell width in metres that suits squares of 25 to 100 m.

    The shape is the least-squares plane, in logarithms, through the 45 widths that the paper's
    authors found best for their networks on nine cities and five epsilons; ours like cells wider
    by a constant factor (``benchmarks/cell_width.py`` prints both). From 5 to 500 m.

    Parameters
    ----------
    n : int
        The number of records, public or bought.
    epsilon : float
        Per record.

    Examples
    --------
    >>> round(default_cell_width(n=100_000, epsilon=0.2), 1)
    29.0
    """
    return float(np.clip(1.25 * 69.99 * max(n, 1) ** -0.1499 * epsilon**-0.3869, 5, 500))


def check_width(cell_m: Width) -> None:
    """Raise InputError if ``cell_m`` is none of these."""
    if isinstance(cell_m, str):
        if cell_m != "auto":
            raise InputError(f"cell_m must be a positive number or 'auto', not {cell_m!r}.")
    elif cell_m is not None:
        positive("cell_m", cell_m)


def given_grid(region: Region, cell_m: Width) -> Grid | None:
    """The grid, if its width is given; InputError if it has more cells than a grid can have."""
    return None if cell_m is None or isinstance(cell_m, str) else Grid.of_width(region, cell_m)


def chosen_grid(
    records: Points, terms: Terms, cell_m: Width, share: float = 1.0
) -> tuple[Grid, Terms, tuple[Spend, ...], int | None]:
    """The grid of a given width, or of a chosen one, for which n may have to be bought.

    It is chosen for the given share of the epsilon that is left, from n and public points only.

    Returns
    -------
    grid : Grid
        In the records' region.
    left : Terms
        What may still be spent.
    bought : tuple of Spend
        What n cost, if anything.
    n : int or None
        None if it was neither public nor needed.
    """
    given = given_grid(records.region, cell_m)
    if given is not None:
        return given, terms, (), terms.n
    n, left, bought = with_n(records, terms)
    epsilon = share * left.record_epsilon
    if cell_m == "auto":
        from snhkit.select import ParamSelect

        width = ParamSelect.pretrained().cell_width(n, epsilon, terms.public)
    else:
        width = default_cell_width(n, epsilon)
    # n is paid for: too large a region must get wider cells, not a refusal.
    width = max(width, records.region.side_m / MOST_CELLS)
    return Grid.of_width(records.region, width), left, bought, n
