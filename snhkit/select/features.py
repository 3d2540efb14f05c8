"""The features from which ParamSelect predicts a parameter; none is private."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points

ENTROPY_CELLS = 512
"""The number of cells along a side of the region in which public points are counted."""

MOST_ENTROPY = 2 * np.log(ENTROPY_CELLS)
"""The largest possible entropy, that of points spread evenly over all cells, in nats."""


def entropy(public: Points) -> float:
    """Return the entropy, in nats, of the distribution of public points over 512 by 512 cells.

    Never call this function on private records. The Shannon entropy is computed without noise, so
    neither the result nor any setting chosen with the result is protected.

    Parameters
    ----------
    public : Points
        Published positions in the same region as the private records: the paper's D*.

    Returns
    -------
    float
        The entropy, from 0 (all points in one cell) to ln(512^2) = 12.48 (evenly spread). The
        entropy of n points is at most ln(n).

    Raises
    ------
    InputError
        If there are no points.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=512)
    >>> round(entropy(Points(city, [[0, 0], [0, 0], [9, 9], [5, 9]])), 4)  # 1.5 ln 2
    1.0397

    Notes
    -----
    The paper's h (Sec. 5.1).
    """
    if not len(public):
        raise InputError("entropy: there are no points; give at least one point.")
    counts = Grid(public.region, ENTROPY_CELLS).count(public).counts
    share = counts[counts > 0] / len(public)
    return abs(float(share @ np.log(share)))


def features(n: ArrayLike, epsilon: ArrayLike, h: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return the features of the regression of ``ParamSelect``: the paper's phi.

    The features are n, epsilon, 1/(n epsilon), 1/sqrt(n epsilon) and, if given, the entropy h.

    Parameters
    ----------
    n : array, shape (q,)
        Numbers of records; values below 1 count as 1.
    epsilon : array, shape (q,)
        Epsilon per record.
    h : array, shape (q,), optional
        Entropy of public points, in nats, as ``entropy`` returns.

    Returns
    -------
    ndarray, shape (q, 5), or (q, 4) without h
        The features, with one row for each n and epsilon.

    Examples
    --------
    >>> features(400, 0.25, 7)
    array([[4.0e+02, 2.5e-01, 1.0e-02, 1.0e-01, 7.0e+00]])

    Notes
    -----
    Sec. 5.1 of the paper, where all but h are called data-independent.
    """
    n, epsilon = np.maximum(np.asarray(n, float), 1), np.asarray(epsilon, float)
    columns = [n, epsilon, 1 / (n * epsilon), 1 / np.sqrt(n * epsilon)]
    if h is not None:
        columns.append(np.asarray(h, float))
    return np.stack(np.broadcast_arrays(*map(np.atleast_1d, columns)), axis=1)
