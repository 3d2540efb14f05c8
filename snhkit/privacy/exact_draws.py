"""Exact random integers and events for the ``noise`` module, drawn in integer arithmetic only."""

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import SnhkitError
from snhkit.privacy.entropy import Entropy

__all__ = ["MAX_ROUNDS", "bernoulli_exp", "broken_entropy", "uniform_below"]

MAX_ROUNDS = 1_000
"""The largest number of rounds of a sampling loop.

With random words, more rounds have a probability below exp(-490), whatever the data. A loop that
needs more rounds therefore reports that the source of entropy is broken."""


def bernoulli_exp(entropy: Entropy, *factors: tuple[NDArray[np.int64], int]) -> NDArray[np.bool_]:
    """Return draws, shape (count,), True with probability exp(-p), p the product of all u / t.

    A factor (u, t) has 0 <= u <= t. Algorithm 1 of Canonne, Kamath and Steinke (2020).
    """
    size = factors[0][0].size
    accepted, alive = np.empty(size, np.bool_), np.arange(size)
    for k in range(1, MAX_ROUNDS):
        if not alive.size:
            return accepted
        # An event of probability u / (t k) is drawn as two events, of probabilities 1 / k and
        # u / t, because the product t k might overflow.
        goes_on = uniform_below(k, alive.size, entropy) == 0
        for u, t in factors:
            trying = alive[goes_on]
            goes_on[goes_on] = uniform_below(t, trying.size, entropy) < u[trying]
        accepted[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
    raise broken_entropy()


def uniform_below(n: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return integers, shape (count,), exactly uniform on 0 .. n - 1, for n up to 2**62."""
    if n == 1:
        return np.zeros(count, np.int64)
    words = entropy.words(count)
    last = np.uint64(2**64 - 2**64 % n - 1)  # on 0 .. last, all remainders are equally frequent
    for _ in range(MAX_ROUNDS):
        uneven = np.flatnonzero(words > last)
        if not uneven.size:
            return (words % np.uint64(n)).astype(np.int64)
        words = words.copy()
        words[uneven] = entropy.words(uneven.size)
    raise broken_entropy()


def broken_entropy() -> SnhkitError:
    """Return the error for a source of entropy that repeats itself."""
    return SnhkitError("The source of entropy is broken: it repeats itself. Nothing was released.")
