"""Guarantees other than pure epsilon-DP: Gaussian noise, and noise added by each person.

The functions are demonstrations on invented records. They write no entry in a ledger, and their
results must not be published.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from snhkit.checks import positive, whole
from snhkit.geometry import Grid, Points
from snhkit.privacy import Entropy, SystemEntropy, discrete_laplace, exact
from snhkit.privacy.noise import uniform_below

_PARTS = 2**53


def gaussian_delta(epsilon: float, std: float, times: int = 1) -> float:
    """Return the delta of counts with Gaussian noise, if one record changes each count by 1.

    Parameters
    ----------
    epsilon : float
        The epsilon of all counts together.
    std : float
        The standard deviation of the noise of each count, in records.
    times : int
        The number of counts.

    Returns
    -------
    float
        The smallest delta with which the counts are (epsilon, delta)-differentially private.

    Examples
    --------
    >>> round(gaussian_delta(epsilon=1.0, std=1.0), 3)
    0.127

    Notes
    -----
    Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy", ICML 2018,
    Theorem 8. For ``times`` counts with equal noise, delta is that of one count whose noise has the
    variance ``std**2 / times``.
    """
    mu = np.sqrt(whole("times", times, 1)) / positive("std", std)
    below, above = ndtr(mu / 2 - epsilon / mu), ndtr(-mu / 2 - epsilon / mu)
    return float(max(below - np.exp(epsilon) * above, 0.0))


def gaussian_std(epsilon: float, delta: float, times: int = 1) -> float:
    """Return the smallest standard deviation of Gaussian noise for an epsilon and a delta.

    Parameters
    ----------
    epsilon, delta : float
        The epsilon and the delta of all counts together.
    times : int
        The number of counts.

    Examples
    --------
    >>> round(gaussian_std(epsilon=1.0, delta=1e-6), 2)
    4.22

    Notes
    -----
    The equation of ``gaussian_delta``, solved by Brent's method.
    """
    positive("delta", delta)

    def excess(log: float) -> float:
        return gaussian_delta(epsilon, float(np.exp(log)), times) - delta

    log: Any = brentq(excess, np.log(1e-3), np.log(1e7))
    return float(np.exp(log))


def randomised_cells(
    points: Points, grid: Grid, epsilon: float, entropy: Entropy | None = None
) -> NDArray[np.int64]:
    """Return the cell that each person reports: the true cell, or by chance another cell.

    Parameters
    ----------
    points : Points
        The true positions, one for each person.
    grid : Grid
        The m by m public cells.
    epsilon : float
        The epsilon of each person's report. The report protects the person even from those who
        collect the reports (local differential privacy).
    entropy : Entropy, optional
        The source of randomness; by default, the operating system's entropy.

    Returns
    -------
    ndarray of int64, shape (n,)
        The number of each reported cell; cell (i, j) has the number i * m + j.

    Examples
    --------
    >>> from snhkit import synthetic_points
    >>> points = synthetic_points("fargo", n=100)
    >>> randomised_cells(points, Grid(points.region, 4), 2.0).shape
    (100,)

    Notes
    -----
    Randomised response (Warner 1965) with c = m * m possible reports. The true cell is reported
    with probability e^epsilon / (e^epsilon + c - 1), and each other cell with probability
    1 / (e^epsilon + c - 1).
    """
    source = entropy or SystemEntropy()
    truth = _cells(points, grid)
    cells = grid.m**2
    stays = _stays(epsilon, cells)
    keeps = uniform_below(_PARTS, len(truth), source) < int(stays * _PARTS)
    other = uniform_below(cells - 1, len(truth), source)
    return np.where(keeps, truth, other + (other >= truth))


def counts_of_answers(
    answers: NDArray[np.int64], grid: Grid, epsilon: float
) -> NDArray[np.float64]:
    """Estimate the counts of a grid's cells from reports of ``randomised_cells``, shape (m, m).

    The estimates are unbiased.

    Parameters
    ----------
    answers : ndarray of int64, shape (n,)
        The number of each reported cell.
    grid : Grid
        The m by m public cells.
    epsilon : float
        The epsilon of each report.

    Examples
    --------
    >>> from snhkit import Region
    >>> grid = Grid(Region.around(lat=0, lon=0, side_m=100), 2)
    >>> counts_of_answers(np.array([0, 0, 3, 1]), grid, 2.0).round(2).tolist()
    [[2.63, 1.0], [-0.63, 1.0]]
    """
    cells = grid.m**2
    stays = _stays(epsilon, cells)
    lies = (1 - stays) / (cells - 1)
    said = np.bincount(answers, minlength=cells).astype(float)
    return ((said - len(answers) * lies) / (stays - lies)).reshape(grid.m, grid.m)


def moved(
    points: Points, epsilon_per_km: float, entropy: Entropy | None = None
) -> NDArray[np.float64]:
    """Return the positions that people report, moved by noise, shape (n, 2), in metres.

    Reported positions may lie outside the region.

    Parameters
    ----------
    points : Points
        The true positions, one for each person.
    epsilon_per_km : float
        The epsilon per kilometre. From two positions at a distance of d km, measured north-south
        plus east-west, the probabilities of the same report differ at most by the factor
        exp(d * epsilon_per_km).
    entropy : Entropy, optional
        The source of the noise; by default, the operating system's entropy.

    Examples
    --------
    >>> from snhkit import synthetic_points
    >>> moved(synthetic_points("fargo", n=100), epsilon_per_km=2.0).shape
    (100, 2)

    Notes
    -----
    Geo-indistinguishability (Andrés et al., CCS 2013), for the north-south plus east-west distance.
    Both coordinates are rounded to metres and get discrete Laplace noise, so nothing depends on
    rounding in floating point.
    """
    scale = Fraction(1_000) / exact(epsilon_per_km)
    noise = discrete_laplace((len(points), 2), scale, entropy or SystemEntropy())
    return np.floor(points.xy) + 0.5 + noise


def _cells(points: Points, grid: Grid) -> NDArray[np.int64]:
    cell = np.minimum((points.xy // grid.cell_m).astype(np.int64), grid.m - 1)
    return cell[:, 0] * grid.m + cell[:, 1]


def _stays(epsilon: float, cells: int) -> float:
    return float(np.exp(epsilon) / (np.exp(epsilon) + cells - 1))
