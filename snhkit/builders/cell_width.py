"""A cell width from public numbers alone."""

import numpy as np

from snhkit.builders.base import MOST_CELLS, Terms, with_n
from snhkit.geometry import Grid, Points
from snhkit.privacy import Spend

__all__ = ["chosen_grid", "default_cell_width"]


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


def chosen_grid(
    records: Points, terms: Terms, cell_m: float | None, share: float = 1.0
) -> tuple[Grid, Terms, tuple[Spend, ...], int | None]:
    """The grid of a given width, or of the default one, for which n may have to be bought.

    The default is that for the given share of the epsilon that is left.

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
    if cell_m is not None:
        return Grid.of_width(records.region, cell_m), terms, (), terms.n
    n, left, bought = with_n(records, terms)
    width = default_cell_width(n, share * left.record_epsilon)
    # n is paid for: too large a region must get wider cells, not a refusal.
    width = max(width, records.region.side_m / MOST_CELLS)
    return Grid.of_width(records.region, width), left, bought, n
