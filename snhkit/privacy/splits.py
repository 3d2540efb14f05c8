"""The private quadtree of PrivTree, whose cost does not depend on its depth."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.privacy.budget import Epsilon, epsilon_share
from snhkit.privacy.count_source import CountSource
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.noise import discrete_laplace
from snhkit.privacy.spend import Spend

_MAX_BITS = 20  # a record has at most 2^20 units
_MAX_SCALE = 2**49
_LN_4 = Fraction(13863, 10000)  # rounded up


@dataclass(frozen=True)
class Lattice:
    """PrivTree's constants as integers, in units of 1 / ``step`` records.

    ``scale`` is the paper's lambda, the scale of the noise; ``decay`` is its delta.
    """

    step: int
    scale: int
    decay: int

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: int) -> "Lattice":
        """Return the constants in the smallest unit, from 2**-20 records, with 64-bit noise."""
        sensitivity = whole("sensitivity", sensitivity, least=1)
        for bits in range(_MAX_BITS, -1, -1):
            # The 2 units added to the paper's lambda make up for rounding: see docs/privacy.md.
            scale = math.ceil(Fraction(7, 3) * sensitivity * 2**bits / epsilon) + 2
            if scale <= _MAX_SCALE:
                return cls(2**bits, scale, math.ceil(_LN_4 * scale))
        raise InputError(
            "sensitivity / epsilon must be below 2**47, since noise is drawn with 64-bit integers. "
            "Give a larger epsilon, or a smaller max_per_user."
        )

    def biased(self, counts: NDArray[np.int64], depth: int) -> NDArray[np.int64]:
        """Return counts less ``decay`` times the depth, at least -``decay`` (the paper's b)."""
        return np.maximum(counts * self.step - depth * self.decay, -self.decay)


def noisy_splits(
    source: CountSource,
    max_depth: int,
    max_squares: int,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Spend]:
    """Return the depths and numbers, shape (c,), of the leaves of a private quadtree, and its cost.

    A square is split if its count, less a bias that grows with depth, plus noise is above 0; the
    root always is, a depth that would exceed ``max_squares`` never. PrivTree (Zhang, Xiao and Xie,
    SIGMOD 2016), Algorithm 2; docs/privacy.md has the proof for integer noise.
    """
    epsilon = epsilon_share(epsilon)
    lattice = Lattice.of(epsilon, sensitivity)
    occupied, counted = source.squares(max_depth)
    below = np.concatenate([[0], np.cumsum(counted)])  # records before each occupied square
    first_depth = 1 if max_depth and max_squares >= 4 else 0
    nodes, kept = np.arange(4**first_depth), 0
    depths, numbers = [], []
    for depth in range(first_depth, max_depth + 1):
        split = np.zeros(nodes.size, bool)
        if depth < max_depth and kept + 4 * nodes.size <= max_squares:
            bits = 2 * (max_depth - depth)
            ends = np.searchsorted(occupied, [nodes + 1 << bits, nodes << bits])
            counts = np.subtract(*below[ends])
            noise = discrete_laplace(nodes.shape, Fraction(lattice.scale), entropy)
            split = lattice.biased(counts, depth - first_depth) + noise > 0
        numbers.append(nodes[~split])
        depths.append(np.full(numbers[-1].size, depth))
        kept += numbers[-1].size
        nodes = (4 * nodes[split][:, None] + np.arange(4)).ravel()
        if not nodes.size:
            break
    spend = Spend(epsilon, "splits of a quadtree")
    return np.concatenate(depths), np.concatenate(numbers), spend
