"""How evenly records are spread: one noisy number that tells a venue from a street."""

import math
from dataclasses import replace
from fractions import Fraction

from snhkit.builders.base import Terms
from snhkit.geometry import Grid, Points
from snhkit.privacy import Spend, noisy_count

__all__ = ["bought_evenness"]

_LEAST, _MOST = Fraction(3, 1000), Fraction(3, 100)  # of epsilon
_ENOUGH = 50  # n times epsilon per record: noise of 2 % of n tells what there is to tell
_PARTS = 10**6  # prices are round numbers
_STANDS_OUT = 3  # times the mean of all cells: a small region that is full everywhere is even
_PRIOR_STD = 0.2  # of evenness among cities, roughly


def bought_evenness(records: Points, grid: Grid, terms: Terms) -> tuple[float, Terms, Spend]:
    """The share of records that would be left if no cell kept more than noise may hide.

    Near 1 where people are everywhere, near 0 where most are at a few spots. A record changes
    the sum of min(count, most) by at most 1, as it changes a count, whatever the cells. What is
    measured is drawn towards 1, the more the noisier it is.

    Parameters
    ----------
    records : Points
        Private.
    grid : Grid
        Public cells in their region.
    terms : Terms
        With n, public or bought.

    Returns
    -------
    evenness : float
        From 0 to 1.
    left : Terms
        What may still be spent.
    spend : Spend
        From 0.3 to 3 % of epsilon: the less, the larger n is.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> from snhkit.privacy import PrivacyUnit, SystemEntropy
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> crowd = Points(city, [[1, 1]] * 99 + [[99, 99]])
    >>> terms = Terms(Fraction(10_000), PrivacyUnit.of("record"), SystemEntropy(), n=100)
    >>> evenness, left, spend = bought_evenness(crowd, Grid(city, 20), terms)
    >>> round(evenness, 2), str(spend)
    (0.02, '30 for records, at most 1 a cell, in cells of 5 m')
    """
    n = max(terms.n or 0, 1)
    most = math.ceil(max(1 / terms.record_epsilon, _STANDS_OUT * n / grid.m**2))
    kept = int(grid.count(records).counts.clip(max=most).sum())
    what = f"records, at most {most:,} a cell, in cells of {grid.cell_m:.3g} m"
    sensitivity = terms.unit.sensitivity
    enough = Fraction(math.ceil(_ENOUGH * sensitivity * _PARTS / n), _PARTS)
    price = min(max(enough, terms.epsilon * _LEAST), terms.epsilon * _MOST)
    noisy, spend = noisy_count(kept, price, sensitivity, terms.entropy, what)
    noise = math.sqrt(2) * sensitivity / (float(spend.epsilon) * n)
    trust = 1 / (1 + (noise / _PRIOR_STD) ** 2)
    evenness = 1 - trust * (1 - min(max(noisy / n, 0.0), 1.0))
    return evenness, replace(terms, epsilon=terms.epsilon - spend.epsilon), spend
