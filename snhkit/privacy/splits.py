"""Which squares of a quadtree are split, at one price for all depths."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.geometry.dyadic import square_of
from snhkit.privacy.budget import Epsilon
from snhkit.privacy.noise import Entropy, discrete_laplace, share_of
from snhkit.privacy.spend import Spend

__all__ = ["Lattice", "noisy_splits"]

_FINEST = 20
_MAX_SCALE = 2**49
_LN_4 = Fraction(13863, 10000)  # rounded up


@dataclass(frozen=True)
class Lattice:
    """Biased counts as whole numbers, and the noise they get.

    Parameters
    ----------
    step : int
        What one record counts.
    scale : int
        Of the noise: the paper's lambda, in steps' parts.
    decay : int
        What is taken off at each depth: the paper's delta, likewise.
    """

    step: int
    scale: int
    decay: int

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: int) -> "Lattice":
        """The finest, up to 2^20 parts a record, whose noise can be drawn.

        Examples
        --------
        >>> Lattice.of(Fraction(7, 3), sensitivity=1)
        Lattice(step=1048576, scale=1048578, decay=1453644)
        """
        if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
            raise InputError(
                f"sensitivity must be a whole number, at least 1, not {sensitivity!r}."
            )
        for bits in range(_FINEST, -1, -1):
            # Two more than the paper's lambda make up for the lattice: docs/privacy.md.
            scale = math.ceil(Fraction(7, 3) * sensitivity * 2**bits / epsilon) + 2
            if scale <= _MAX_SCALE:
                return cls(2**bits, scale, math.ceil(_LN_4 * scale))
        raise InputError(
            "noisy_splits: sensitivity / epsilon must be below 2**47. "
            "Give a larger epsilon, or a smaller max_per_user."
        )

    def biased(self, counts: NDArray[np.int64], depth: int) -> NDArray[np.int64]:
        """The paper's b(v) for squares of one depth, below those that are asked first."""
        return np.maximum(counts * self.step - depth * self.decay, -self.decay)


def noisy_splits(
    points: Points,
    max_depth: int,
    most: int,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Spend]:
    """The undivided squares of a private quadtree, and what they cost however deep they lie.

    A square is split if its biased, noisy count is above 0. The bias grows with depth, so that the
    deeper squares around a record hardly depend on it, and the cost of a whole path stays bounded.
    The root is split unasked, which tells nothing, and the bias begins at its quarters.

    Parameters
    ----------
    points : Points
        The records; each is in one square of each depth.
    max_depth : int
        Squares of this depth are not split.
    most : int
        No further depth is begun that could lead to more squares than this.
    epsilon : Fraction
        The cost of the whole tree.
    sensitivity : int
        Records of one unit of privacy.
    entropy : Entropy
        Where the randomness comes from.

    Returns
    -------
    depth, number : ndarray of int, shape (c,)
        Of the undivided squares, numbered as ``square_of`` does.
    spend : Spend
        Of epsilon.

    Notes
    -----
    Zhang, Xiao and Xie, "PrivTree", SIGMOD 2016, Algorithm 2 and Theorem 3.1.
    """
    epsilon = share_of(epsilon)
    lattice = Lattice.of(epsilon, sensitivity)
    finest = np.sort(square_of(points, max_depth))
    unasked = 1 if max_depth and most >= 4 else 0
    nodes, kept = np.arange(4**unasked), 0
    depths, numbers = [], []
    for depth in range(unasked, max_depth + 1):
        split = np.zeros(nodes.size, bool)
        if depth < max_depth and kept + 4 * nodes.size <= most:
            bits = 2 * (max_depth - depth)
            counts = np.subtract(*np.searchsorted(finest, [nodes + 1 << bits, nodes << bits]))
            noise = discrete_laplace(nodes.shape, Fraction(lattice.scale), entropy)
            split = lattice.biased(counts, depth - unasked) + noise > 0
        numbers.append(nodes[~split])
        depths.append(np.full(numbers[-1].size, depth))
        kept += numbers[-1].size
        nodes = (4 * nodes[split][:, None] + np.arange(4)).ravel()
        if not nodes.size:
            break
    return np.concatenate(depths), np.concatenate(numbers), Spend(epsilon, "where to split")
