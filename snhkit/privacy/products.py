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
    """Return the sums A X A^T of a grid's counts X with noise, shape (r, r), and their cost.

    A record in cell (i, j) adds A[a, i] A[b, j] to the sum (a, b), so it changes all together by at
    most ``column_norm(A)**2``. The integer weights A, shape (r, m), are public, at most 2**15.
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
    """Return the largest column sum of absolute values of an integer matrix, shape (r, m)."""
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
