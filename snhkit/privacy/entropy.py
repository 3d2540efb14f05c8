"""Sources of random 64-bit words: the operating system's entropy, and a seeded generator."""

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snhkit.checks import whole


class Entropy(Protocol):
    """The interface of a source of random 64-bit words."""

    @property
    def replayable(self) -> bool:
        """True if the words follow from a seed, so that they can be drawn again."""
        ...

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return independent words, uniform on 0 .. 2**64 - 1, shape (count,)."""
        ...


class SystemEntropy:
    """The operating system's entropy, which nobody can draw again; the default for releases.

    Examples
    --------
    >>> SystemEntropy().words(3).shape, SystemEntropy().replayable
    ((3,), False)
    """

    replayable = False

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return words from ``os.urandom``, shape (count,)."""
        return np.frombuffer(os.urandom(8 * count), np.uint64)


class ReplayableEntropy:
    """Random words that follow from a seed, for research only.

    Anyone who knows the seed can subtract the noise, so a release that used this source protects
    nobody. The release, its file and the ledger are marked "replayable".

    Parameters
    ----------
    seed : int
        The seed of the generator (PCG64), 0 or more.

    Raises
    ------
    InputError
        If the seed is not a whole number, or is negative.

    Examples
    --------
    >>> same = ReplayableEntropy(7).words(2) == ReplayableEntropy(7).words(2)
    >>> bool(same.all()), ReplayableEntropy(7).replayable
    (True, True)
    """

    replayable = True

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(whole("seed", seed, least=0)))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words of the sequence that the seed defines, shape (count,)."""
        return self._bits.random_raw(count)
