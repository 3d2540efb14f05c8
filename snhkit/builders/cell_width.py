"""A cell width from public numbers alone."""

import math
from typing import Literal

import numpy as np

from snhkit.builders.base import MOST_CELLS, Terms, positive, with_n
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import Spend

__all__ = ["Width", "check_width", "chosen_grid", "default_cell_width", "given_grid"]

Width = float | Literal["auto"] | None
"""Metres; or None for ``default_cell_width``, "auto" for what ``ParamSelect`` says."""


def default_cell_width(
    n: int, epsilon: float, sizes_m: tuple[float, float] = (25.0, 100.0)
) -> float:
    """A cell width in metres that suits squares of the given sizes.

    The noise of a count, and psi of the relative error, shrink with epsilon and grow with n alike,
    so the width depends on their product only. The exponent is that of epsilon in the 45 widths
    that the paper's authors found best on nine cities; the constant was chosen on public and
    synthetic cities (``benchmarks/cell_width.py`` prints both). Wider boxes bear wider cells, by
    the square root: there is more noise in a large box, and less at its border. From 5 to 2,000 m.

    Parameters
    ----------
    n : int
        The number of records, public or bought.
    epsilon : float
        Per record.
    sizes_m : (float, float)
        Sides of the squares in metres.

    Examples
    --------
    >>> round(default_cell_width(n=100_000, epsilon=0.2), 1)
    34.7
    """
    width = _CONSTANT_M * (max(n, 1) * epsilon) ** _EXPONENT
    return float(np.clip(width * math.sqrt(sum(sizes_m) / sum(_USUAL_M)), 5, 2000))


_CONSTANT_M, _EXPONENT = 1_600.0, -0.3869
_USUAL_M = (25.0, 100.0)


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
    records: Points,
    terms: Terms,
    cell_m: Width,
    share: float = 1.0,
    sizes_m: tuple[float, float] = (25.0, 100.0),
) -> tuple[Grid, Terms, tuple[Spend, ...], int | None]:
    """The grid of a given width, or of a chosen one, for which n may have to be bought.

    It is chosen for the given share of the epsilon that is left, from n and public points only,
    to suit squares of the given sizes.

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
        width = default_cell_width(n, epsilon, sizes_m)
    # n is paid for: too large a region must get wider cells, not a refusal.
    width = max(width, records.region.side_m / MOST_CELLS)
    return Grid.of_width(records.region, width), left, bought, n
