"""The evenness of records: one noisy number, for the choice of a cell width."""

import math
from dataclasses import replace
from fractions import Fraction

from snhkit.builders.base import Terms
from snhkit.geometry import Grid, Points
from snhkit.privacy import Spend, noisy_count

__all__ = ["bought_evenness"]

_MIN_SHARE, _MAX_SHARE = Fraction(3, 1000), Fraction(3, 100)  # of epsilon
_TARGET_N_EPSILON = 50  # enough: the noise is then about 2 % of n
_PARTS = 10**6  # prices are multiples of a millionth
_CAP_FACTOR = 3  # times the mean count of all cells
_PRIOR_STD = 0.2  # standard deviation of evenness among cities, roughly


def bought_evenness(records: Points, grid: Grid, terms: Terms) -> tuple[float, Terms, Spend]:
    """Return a noisy evenness: the share of records left after large counts are capped.

    The cap is the larger of the noise scale and three times the mean count, so evenness is near 1
    where records are everywhere, and near 0 where most are at a few spots. One record changes the
    sum of the capped counts by at most 1. The result is shrunk towards 1, the more the noisier it
    is.

    Parameters
    ----------
    records : Points
        The private records.
    grid : Grid
        Public cells in the records' region.
    terms : Terms
        The terms, with n, public or bought.

    Returns
    -------
    evenness : float
        Evenness, from 0 to 1.
    left : Terms
        The terms without the epsilon that was spent.
    spend : Spend
        The cost, from 0.3 to 3 % of epsilon; it is lower for larger n.

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
    most = math.ceil(max(1 / terms.record_epsilon, _CAP_FACTOR * n / grid.m**2))
    kept = int(grid.count(records).counts.clip(max=most).sum())
    what = f"records, at most {most:,} a cell, in cells of {grid.cell_m:.3g} m"
    sensitivity = terms.unit.sensitivity
    enough = Fraction(math.ceil(_TARGET_N_EPSILON * sensitivity * _PARTS / n), _PARTS)
    price = min(max(enough, terms.epsilon * _MIN_SHARE), terms.epsilon * _MAX_SHARE)
    noisy, spend = noisy_count(kept, price, sensitivity, terms.entropy, what)
    noise = math.sqrt(2) * sensitivity / (float(spend.epsilon) * n)
    trust = 1 / (1 + (noise / _PRIOR_STD) ** 2)
    evenness = 1 - trust * (1 - min(max(noisy / n, 0.0), 1.0))
    return evenness, replace(terms, epsilon=terms.epsilon - spend.epsilon), spend
