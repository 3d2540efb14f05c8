"""The evenness of records: one noisy number, for the choice of a cell width."""

import math
from fractions import Fraction

import numpy as np

from snhkit.geometry import Grid, Points
from snhkit.privacy import Measurements

__all__ = ["bought_evenness", "evenness_of"]

_MIN_SHARE, _MAX_SHARE = Fraction(3, 1000), Fraction(3, 100)  # of the epsilon or rho that is left
_TARGET_N_EPSILON = 50  # wanted n times epsilon per record; the noise scale is then 2 % of n
_PARTS = 10**6  # prices are multiples of a millionth
_CAP_FACTOR = 3  # the cap on a cell's count, in units of the mean count of a cell
_PRIOR_STD = 0.2  # standard deviation of evenness among cities, roughly


def bought_evenness(private: Measurements, grid: Grid) -> float:
    """Return a noisy evenness: the share of records that remain if each cell's count is capped.

    The cap is three times the mean count of a cell, or the noise scale of a count on which all of
    epsilon is spent, if this scale is larger. Evenness is near 1 if records are everywhere, and
    near 0 if most of them are at a few spots. The result is shrunk towards 1; the more noise it
    has, the more it is shrunk. The cost is from 0.3 to 3 % of the remaining epsilon, and is lower
    if there are more records.

    Examples
    --------
    >>> from snhkit.geometry import Points, Region
    >>> from snhkit.privacy import PointSource, PrivacyUnit, SystemEntropy, Terms
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> crowd = PointSource(Points(city, [[1, 1]] * 99 + [[99, 99]]))
    >>> terms = Terms(Fraction(10_000), PrivacyUnit.of("record"), n=100)
    >>> private = Measurements(crowd, terms, SystemEntropy())
    >>> evenness = bought_evenness(private, Grid(city, 20))
    >>> round(evenness, 2), str(private.spends[0])
    (0.02, '30 for records, at most 1 a cell, in cells of 5 m')
    """
    n = max(private.n or 0, 1)
    most = _cap(grid, n, private.record_epsilon)
    sensitivity = private.unit.sensitivity
    enough = Fraction(math.ceil(_TARGET_N_EPSILON * sensitivity * _PARTS / n), _PARTS)
    if private.exponent == 1:
        enough = (enough / 2) ** 2  # the rho of Gaussian noise with the same variance
    price = min(max(enough, private.left * _MIN_SHARE), private.left * _MAX_SHARE)
    noisy = private.capped_sum(grid, most, price)
    noise = math.sqrt(2) / (private.inverse_scale(price) * n)
    trust = 1 / (1 + (noise / _PRIOR_STD) ** 2)
    return 1 - trust * (1 - min(max(noisy / n, 0.0), 1.0))


def evenness_of(public: Points, grid: Grid, n: int, epsilon: float) -> float:
    """Return the evenness, without noise, that n records spread like the public points would have.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> evenness_of(Points(city, [[1, 1]] * 9 + [[99, 99]]), Grid(city, 2), n=40, epsilon=1)
    0.85
    """
    counts = grid.count(public).counts * (n / max(len(public), 1))
    return float(np.minimum(counts, _cap(grid, n, epsilon)).sum() / max(n, 1))


def _cap(grid: Grid, n: int, epsilon: float) -> int:
    """Return the most records of a cell that count towards evenness."""
    return math.ceil(max(1 / epsilon, _CAP_FACTOR * max(n, 1) / grid.m**2))
