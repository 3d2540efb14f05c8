"""Mechanisms for exercises in auditing, which claim to be epsilon-private; some are not."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points
from snhkit.privacy import Entropy, ReplayableEntropy, SystemEntropy, discrete_laplace, exact

FAULTS = {
    "A": "",
    "B": "Its noise has half of the scale that is needed, so its ε is twice the claimed ε.",
    "C": "It adds noise to counts above 0 only: a count of 0 is always released as 0.",
    "D": "",
    "E": "It draws all of its noise from one seed, so its noise is no secret.",
}
"""The fault of each mechanism; an empty text for a mechanism that is epsilon-private."""


def suspects(epsilon: float, entropy: Entropy | None = None) -> dict[str, Callable[[int], int]]:
    """Return five mechanisms that add noise to a count and claim to be epsilon-private.

    Parameters
    ----------
    epsilon : float
        The epsilon that the mechanisms claim.
    entropy : Entropy, optional
        The source of the mechanisms' noise; by default, the operating system's entropy.

    Returns
    -------
    dict of str to callable
        The mechanisms "A" to "E". Each takes a true count and returns a released count. Some are
        faulty, as ``FAULTS`` says.

    Examples
    --------
    >>> sorted(suspects(1.0))
    ['A', 'B', 'C', 'D', 'E']
    """
    source, scale = entropy or SystemEntropy(), 1 / exact(epsilon)

    def noise(times: Fraction, words: Entropy = source) -> int:
        return int(discrete_laplace(1, times * scale, words)[0])

    def rounded_up_to_zero(count: int) -> int:
        return max(count + noise(Fraction(1)), 0)  # post-processing keeps the privacy

    return {
        "A": lambda count: count + noise(Fraction(1)),
        "B": lambda count: count + noise(Fraction(1, 2)),
        "C": lambda count: count + noise(Fraction(1)) if count > 0 else 0,
        "D": rounded_up_to_zero,
        "E": lambda count: count + noise(Fraction(1), ReplayableEntropy(7)),
    }


def faulty_map(
    records: Points, grid: Grid, epsilon: float, entropy: Entropy | None = None
) -> NDArray[np.int64]:
    """Return counts of a grid's cells from a deliberately faulty mechanism, shape (m, m).

    The fault is that only cells with records get noise, which reveals empty cells. No ledger entry
    is written, and the result must never be published.

    Raises
    ------
    InputError
        If the records are not in the grid's region.

    Examples
    --------
    >>> from snhkit import synthetic_points
    >>> records = synthetic_points("fargo", n=1_000)
    >>> faulty_map(records, Grid(records.region, 8), 1.0).shape
    (8, 8)
    """
    if records.region != grid.region:
        raise InputError("faulty_map: the records and the grid must have the same region.")
    counts = grid.count(records).counts
    noise = discrete_laplace(counts.shape, 1 / exact(epsilon), entropy or SystemEntropy())
    return np.where(counts > 0, counts + noise, 0)
