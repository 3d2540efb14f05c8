"""Weighted sums of a grid's counts with noise: for methods that measure more than cells."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, sparray

from snhkit.errors import InputError
from snhkit.geometry import Grid, Histogram
from snhkit.privacy.budget import Epsilon
from snhkit.privacy.noise import Entropy, discrete_laplace, noise_scale, share_of, whole_number
from snhkit.privacy.spend import Spend

__all__ = ["column_norm", "noisy_products"]

# No sum over fewer than 2**32 records can overflow with them, noise included. More records wrap
# around, which gives nothing away: a refusal would tell something of their number.
_MOST_WEIGHT = 2**15


def noisy_products(
    histogram: Histogram,
    weights: NDArray[np.int64] | sparray,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[NDArray[np.int64], Spend]:
    """The weighted sums A X A^T of a grid's counts X with noise, and what they cost together.

    A record in cell (i, j) counts ``A[a, i] * A[b, j]`` in the sum (a, b), so in all of them
    together at most the square of the largest column sum of abs(A). That, exactly, is what the
    noise hides.

    Parameters
    ----------
    histogram : Histogram
        True counts X, shape (m, m), made by ``Grid.count``.
    weights : array of int, or sparse array of int, shape (r, m)
        A; public. Real numbers must be rounded to a lattice by the caller, who then computes with
        what was really measured.
    epsilon : Fraction
        The cost of all the sums.
    sensitivity : int
        By how much one unit of privacy can change all the counts in total.
    entropy : Entropy
        Where the randomness comes from.

    Returns
    -------
    sums : ndarray of int64, shape (r, r)
        A X A^T and noise of scale ``sensitivity * column_norm(A)**2 / epsilon`` in each.
    spend : Spend
        Of epsilon.

    Raises
    ------
    InputError
        If this is not a grid's Histogram, the weights are no integers, larger than 2**15 or do not
        fit it, or the noise would be too large to be drawn. Never because of the counts.

    Examples
    --------
    >>> from snhkit.geometry import Points, Region
    >>> from snhkit.privacy import SystemEntropy
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> counts = Grid(city, 2).count(Points(city, [[1, 1], [99, 99]]))
    >>> haar = np.array([[1, 1], [1, -1]])
    >>> sums, spend = noisy_products(counts, haar, 10_000, 1, SystemEntropy())
    >>> sums
    array([[2, 0], [0, 2]])
    >>> str(spend)
    '10000 for 4 weighted sums of counts of 4 cells'
    """
    if not isinstance(histogram, Histogram) or not isinstance(histogram.partition, Grid):
        raise InputError("noisy_products: give the Histogram that Grid.count makes.")
    matrix, counts = _integers(weights), histogram.counts
    rows, columns = matrix.shape  # pyright: ignore[reportGeneralTypeIssues]
    if columns != len(counts):
        raise InputError(
            f"noisy_products: weights of {columns:,} columns for {len(counts):,} cells a side."
        )
    epsilon = share_of(epsilon)
    change = whole_number(sensitivity, "sensitivity", least=1) * column_norm(matrix) ** 2
    # Drawn first: what cannot be hidden is not computed.
    noise = discrete_laplace((rows, rows), noise_scale(epsilon, change), entropy)
    half = matrix @ counts
    sums = np.ascontiguousarray((matrix @ np.ascontiguousarray(half.T)).T)
    bought = f"{sums.size:,} weighted sums of counts of {counts.size:,} cells"
    return sums + noise, Spend(epsilon, bought)


def column_norm(weights: NDArray[np.int64] | sparray) -> int:
    """The largest column sum of absolute values of an integer matrix.

    Examples
    --------
    >>> column_norm(np.array([[1, 1, 1], [2, -3, 0]]))
    4
    """
    return int(abs(_integers(weights)).sum(axis=0).max())


def _integers(weights: NDArray[np.int64] | sparray) -> csr_array:
    """The weights as 64-bit integers, one entry a place, small enough to be added."""
    matrix = csr_array(weights, copy=True)
    if matrix.dtype.kind not in "iu" or matrix.ndim != 2 or not matrix.count_nonzero():
        raise InputError("weights must be a matrix of whole numbers, not all of them 0.")
    matrix.sum_duplicates()
    if max(-int(matrix.min()), int(matrix.max())) > _MOST_WEIGHT:
        raise InputError("weights must be at most 2**15.")
    return csr_array(matrix, dtype=np.int64)
