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

__all__ = ["Lattice", "noisy_splits"]

_MAX_BITS = 20  # a record has at most 2^20 units
_MAX_SCALE = 2**49
_LN_4 = Fraction(13863, 10000)  # rounded up


@dataclass(frozen=True)
class Lattice:
    """The constants of PrivTree as integers, in a unit that is a small fraction of one record.

    Parameters
    ----------
    step : int
        The number of units in one record.
    scale : int
        The scale of the noise, in units (lambda in the PrivTree paper).
    decay : int
        The amount by which counts are lowered at each depth, in units (delta in the paper).
    """

    step: int
    scale: int
    decay: int

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: int) -> "Lattice":
        """Return the constants in the smallest unit for which the noise can be drawn.

        The unit is at least 2^-20 records.

        Parameters
        ----------
        epsilon : Fraction
            The cost of the whole tree.
        sensitivity : int
            The largest number of records of one unit of privacy.

        Raises
        ------
        InputError
            If ``sensitivity`` is not a positive integer, or ``sensitivity / epsilon`` is 2**47 or
            more.

        Examples
        --------
        >>> Lattice.of(Fraction(7, 3), sensitivity=1)
        Lattice(step=1048576, scale=1048578, decay=1453644)
        """
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
        """Return the biased counts of squares at one depth of the tree (the paper's b(v)).

        A count is lowered by ``decay`` times the depth, but not below -``decay``.
        """
        return np.maximum(counts * self.step - depth * self.decay, -self.decay)


def noisy_splits(
    source: CountSource,
    max_depth: int,
    max_squares: int,
    epsilon: Epsilon,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Spend]:
    """Return the leaf squares of a private quadtree, whose cost does not depend on its depth.

    The count of each square is lowered by a bias, noise is added, and the square is split if the
    result is above 0. The bias grows with depth, so the privacy loss of a record along its path
    from the root stays bounded. The root, which is the whole region, is always split, so the bias
    starts at the root's quarters.

    Parameters
    ----------
    source : CountSource
        The records; each lies in one square of each depth.
    max_depth : int
        The depth at which squares are no longer split, at most ``source.max_depth``.
    max_squares : int
        The largest number of leaf squares. If splitting all squares of a depth would exceed this
        number, none of them is split.
    epsilon : int, float, str, Decimal or Fraction
        The cost of the whole tree.
    sensitivity : int
        The largest number of records of one unit of privacy.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    depth, number : ndarray of int, shape (c,)
        The depth of each leaf square, and its number as in ``geometry.dyadic.square_of``.
    spend : Spend
        The cost.

    Raises
    ------
    InputError
        If epsilon or sensitivity is not positive, or ``sensitivity / epsilon`` is 2**47 or more.

    Examples
    --------
    >>> from snhkit.geometry import Points, Region
    >>> from snhkit.privacy import PointSource, SystemEntropy
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> crowd = PointSource(Points(city, [[1, 1]] * 9))
    >>> depth, number, spend = noisy_splits(
    ...     crowd, 1, 100, Fraction(10_000), 1, SystemEntropy()
    ... )
    >>> depth, number, str(spend)
    (array([1, 1, 1, 1]), array([0, 1, 2, 3]), '10000 for splits of a quadtree')

    Notes
    -----
    Zhang, Xiao and Xie, "PrivTree", SIGMOD 2016, Algorithm 2 and Theorem 3.1; docs/privacy.md has
    the proof for integer noise.
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
