"""Noisy weighted sums of the counts of a grid's cells."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, sparray

from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry import Grid, Histogram
from snhkit.privacy.budget import Epsilon, epsilon_share
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.noise import discrete_laplace
from snhkit.privacy.scale import noise_scale
from snhkit.privacy.spend import Spend

__all__ = ["column_norm", "noisy_products"]

# With these weights no sum over fewer than 2**32 records overflows, noise included. Sums over more
# records wrap around; raising an error would reveal something about the number of records.
_MAX_WEIGHT = 2**15


def noisy_products(
    histogram: Histogram,
    weights: NDArray[np.int64] | sparray,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[NDArray[np.int64], Spend]:
    """Return the weighted sums A X A^T of a grid's counts X with noise, and their cost.

    A record in cell (i, j) adds ``A[a, i] * A[b, j]`` to the sum in row a and column b. One record
    therefore changes all sums in total by at most ``column_norm(A)**2``.

    Parameters
    ----------
    histogram : Histogram
        The true counts X, shape (m, m), made by ``Grid.count``.
    weights : array of int, or sparse array of int, shape (r, m)
        The public matrix A, with entries of at most 2**15 in absolute value. The caller rounds real
        weights to integers, and must use the rounded weights in all further computations.
    epsilon : int, float, str, Decimal or Fraction
        The cost of all sums together.
    sensitivity : int
        The largest total change of the counts when one unit of privacy is added or removed.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    sums : ndarray of int64, shape (r, r)
        The sums A X A^T, each with noise of scale ``sensitivity * column_norm(A)**2 / epsilon``.
    spend : Spend
        The cost of all sums.

    Raises
    ------
    InputError
        If ``histogram`` is not a grid's Histogram, if the weights are not integers, are all 0, are
        above 2**15 in absolute value or have another number of columns than the grid, or if the
        scale of the noise is above 2**50. Errors never depend on the counts.

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
        raise InputError(
            "noisy_products: histogram must be a Histogram that Grid.count made; "
            f"this {type(histogram).__name__} was not."
        )
    matrix, counts = _integers(weights), histogram.counts
    rows, columns = matrix.shape  # pyright: ignore[reportGeneralTypeIssues]
    if columns != len(counts):
        raise InputError(
            f"noisy_products: weights must have {len(counts):,} columns, one for each column of "
            f"the grid, not {columns:,}."
        )
    epsilon = epsilon_share(epsilon)
    change = whole("sensitivity", sensitivity, least=1) * column_norm(matrix) ** 2
    # The noise is drawn first, so that no sum is computed if the noise cannot be drawn.
    noise = discrete_laplace((rows, rows), noise_scale(epsilon, change), entropy)
    half = matrix @ counts
    sums = np.ascontiguousarray((matrix @ np.ascontiguousarray(half.T)).T)
    bought = f"{sums.size:,} weighted sums of counts of {counts.size:,} cells"
    return sums + noise, Spend(epsilon, bought)


def column_norm(weights: NDArray[np.int64] | sparray) -> int:
    """Return the largest column sum of absolute values of an integer matrix.

    Parameters
    ----------
    weights : array of int, or sparse array of int, shape (r, m)
        The matrix, with entries of at most 2**15 in absolute value.

    Returns
    -------
    int
        The largest total change of the sums ``weights @ x`` when one element of an integer vector
        x changes by 1.

    Raises
    ------
    InputError
        If the weights are not integers, are all 0, or are above 2**15 in absolute value.

    Examples
    --------
    >>> column_norm(np.array([[1, 1, 1], [2, -3, 0]]))
    4
    """
    return int(abs(_integers(weights)).sum(axis=0).max())


def _integers(weights: NDArray[np.int64] | sparray) -> csr_array:
    """Return weights as a sparse matrix of 64-bit integers without duplicate entries."""
    matrix = csr_array(weights, copy=True)
    if matrix.dtype.kind not in "iu" or matrix.ndim != 2 or not matrix.count_nonzero():
        raise InputError("weights must be a matrix of whole numbers that are not all 0.")
    matrix.sum_duplicates()
    largest = max(-int(matrix.min()), int(matrix.max()))
    if largest > _MAX_WEIGHT:
        raise InputError(f"weights must be at most 2**15 in absolute value, not {largest:,}.")
    return csr_array(matrix, dtype=np.int64)
