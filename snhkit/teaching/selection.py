"""Mechanisms that choose a place: noisy max, and the sparse vector technique.

The functions are demonstrations on invented records. They write no entry in a ledger, and their
results must not be published.
"""

import numpy as np
from numpy.typing import ArrayLike

from snhkit.privacy import Entropy, SystemEntropy, discrete_laplace, exact


def noisy_max(counts: ArrayLike, epsilon: float, entropy: Entropy | None = None) -> int:
    """Return the position of the largest of counts with Laplace noise of scale 1 / epsilon.

    Only the position is released, which costs epsilon for any number of counts, overlapping or not,
    if one more record changes each count by 0 or 1.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
        The exact counts.
    epsilon : float
        The epsilon of the choice.
    entropy : Entropy, optional
        The source of the noise; by default, the operating system's entropy.

    Examples
    --------
    >>> noisy_max([0, 1_000, 3], epsilon=1)
    1

    Notes
    -----
    Dwork and Roth, "The Algorithmic Foundations of Differential Privacy", 2014, Claim 3.9.
    """
    given = np.asarray(counts)
    noise = discrete_laplace(given.size, 1 / exact(epsilon), entropy or SystemEntropy())
    return int(np.argmax(given + noise))


def first_quiet(
    counts: ArrayLike, threshold: int, epsilon: float, entropy: Entropy | None = None
) -> int:
    """Return the position of the first count below a threshold, by the sparse vector technique.

    The threshold gets Laplace noise of scale 2 / epsilon once, and each count noise of scale
    4 / epsilon. All comparisons together cost epsilon.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
        The exact counts, in the order in which they are compared. A record changes each by at most
        1.
    threshold : int
        The public threshold.
    epsilon : float
        The epsilon of all comparisons together.
    entropy : Entropy, optional
        The source of the noise; by default, the operating system's entropy.

    Returns
    -------
    int
        The position, or k if no noisy count is below the noisy threshold.

    Examples
    --------
    >>> first_quiet([900, 1_000, 3, 800], threshold=500, epsilon=1)
    2

    Notes
    -----
    Dwork and Roth, "The Algorithmic Foundations of Differential Privacy", 2014, Algorithm 1, for
    counts below a threshold.
    """
    given, source = np.asarray(counts), entropy or SystemEntropy()
    line = threshold + discrete_laplace(1, 2 / exact(epsilon), source)
    noisy = given + discrete_laplace(given.size, 4 / exact(epsilon), source)
    below = np.flatnonzero(noisy < line)
    return int(below[0]) if below.size else given.size
