"""A cell width from public numbers alone."""

import math

__all__ = ["published_cell_width"]


def published_cell_width(n: int, epsilon: float) -> float:
    """A cell width in metres that suits SNH for squares of 25 to 100 m.

    The least-squares line through the 45 widths that the paper's authors found best for nine
    cities of Gowalla check-ins and five epsilons, in logarithms of width, n and epsilon
    (``benchmarks/cell_width.py`` prints it). It stays between 5 and 500 m.

    Parameters
    ----------
    n : int
        The number of records, public or bought.
    epsilon : float
        Per record.

    Examples
    --------
    >>> round(published_cell_width(n=100_000, epsilon=0.2), 1)
    23.2
    """
    width = 69.99 * max(n, 1) ** -0.1499 * epsilon**-0.3869
    return math.exp(min(max(math.log(width), math.log(5)), math.log(500)))
