"""Private counts of a binary tree whose cuts separate cells of unlike counts (HTF)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry import Grid, Histogram
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.noise import discrete_laplace
from snhkit.privacy.scale import noise_scale
from snhkit.privacy.spend import Spend

_SENSITIVITY = 2  # of a sum of distances from the mean, to the addition of one record


class Level(NamedTuple):
    """The k nodes of one level of a binary tree of rectangles, and their noisy counts.

    ``ends`` has the first cell and the one after the last along x, then along y; ``parent`` the
    index of the parent in the level above; ``leaf`` whether a node was not cut.
    """

    ends: NDArray[np.int64]  # shape (k, 4)
    parent: NDArray[np.int64]
    counts: NDArray[np.float64]
    variance: NDArray[np.float64]
    leaf: NDArray[np.bool_]


def noisy_halves(
    histogram: Histogram,
    prices: Sequence[Fraction],
    cut_price: Fraction,
    turns: int,
    least: int,
    sensitivity: int,
    entropy: Entropy,
) -> tuple[list[Level], Spend]:
    """Return the levels of a private tree of rectangles of grid cells, and the cost of all.

    A node at depth i is counted for ``prices[i]``. It is cut, for ``cut_price``, if its noisy count
    is at least ``least``; else it is counted again for all that its branch has left. Nodes are cut
    along x and y in turn, where of 2 ``turns`` + 1 places, searched as in the paper, the noisy sum
    of distances of counts from their half's mean is smallest. docs/privacy.md has the proof.
    """
    if not (isinstance(histogram, Histogram) and isinstance(histogram.partition, Grid)):
        raise InputError("noisy_halves: give the Histogram that Grid.count makes.")
    turns, sensitivity = whole("turns", turns, least=1), whole("sensitivity", sensitivity, least=1)
    total = sum(prices, Fraction(0)) + (len(prices) - 1) * cut_price
    m = histogram.partition.m
    x, y = (a.ravel() for a in np.indices((m, m)))
    counts, node = histogram.counts.ravel(), np.zeros(m * m, np.int64)
    ends, parent, spent, levels = np.array([[0, m, 0, m]]), np.zeros(1, np.int64), Fraction(0), []
    for depth, price in enumerate(prices):
        true = np.zeros(len(ends), np.int64)
        np.add.at(true, node, counts)
        spent += price
        noisy = (true + _laplace(len(ends), price, sensitivity, entropy)).astype(float)
        variance = np.full(len(ends), _variance(price, sensitivity))
        wide = np.diff(ends.reshape(-1, 2, 2), axis=2)[..., 0] > 1  # along x and along y
        leaf = (noisy < least) | ~wide.any(axis=1) | (depth == len(prices) - 1)
        if left := total - spent:
            again = true[leaf] + _laplace(int(leaf.sum()), left, sensitivity, entropy)
            other = _variance(left, sensitivity)
            noisy[leaf] = (noisy[leaf] * other + again * variance[leaf]) / (variance[leaf] + other)
            variance[leaf] *= other / (variance[leaf] + other)
        levels.append(Level(ends, parent, noisy, variance, leaf))
        if leaf.all():
            break
        kept = np.flatnonzero(~leaf)
        alive = ~leaf[node]
        x, y, counts = x[alive], y[alive], counts[alive]
        node = np.searchsorted(kept, node[alive])
        ends, spent = ends[kept], spent + cut_price
        along_y = np.where(wide[kept].all(axis=1), depth % 2, wide[kept, 1])
        place = np.where(along_y[node], y, x)
        scale = noise_scale(cut_price, _SENSITIVITY * sensitivity * (2 * turns + 1))

        def score(cut: NDArray[np.int64], node=node, place=place, counts=counts, scale=scale):
            noise = discrete_laplace(len(cut), scale, entropy)
            return homogeneity(counts, 2 * node + (place >= cut[node]), len(cut)) + noise

        low = np.where(along_y, ends[:, 2], ends[:, 0])
        high = np.where(along_y, ends[:, 3], ends[:, 1])
        cut = _searched(score, low + 1, high - 1, turns)
        halves = np.repeat(ends, 2, axis=0)
        rows = np.arange(len(cut))
        halves[2 * rows, 2 * along_y + 1] = cut
        halves[2 * rows + 1, 2 * along_y] = cut
        node = 2 * node + (place >= cut[node])
        ends, parent = halves, np.repeat(kept, 2)
    return levels, Spend(total, "cuts and counts of a binary tree")


def homogeneity(
    counts: NDArray[np.int64], half: NDArray[np.int64], nodes: int
) -> NDArray[np.int64]:
    """Return, for each node, the sums of abs(count - mean) of its halves, each rounded down.

    Cells of ``half`` 2 k and 2 k + 1 are node k. Rounding keeps the whole sensitivity.
    """
    size = np.bincount(half, minlength=2 * nodes)
    held, apart = np.zeros((2, 2 * nodes), np.int64)
    np.add.at(held, half, counts)
    np.add.at(apart, half, np.abs(size[half] * counts - held[half]))
    return (apart // np.maximum(size, 1)).reshape(nodes, 2).sum(axis=1)


def _searched(score, low: NDArray, high: NDArray, turns: int) -> NDArray[np.int64]:
    """Return where noisy scores are small: the best of three places, in halves of intervals."""
    middle = (low + high) // 2
    best = score(middle)
    for _ in range(turns):
        places = np.stack([(low + middle) // 2, middle, (middle + high + 1) // 2])
        scores = np.stack([score(places[0]), best, score(places[2])])
        chosen, rows = scores.argmin(axis=0), np.arange(len(best))
        low = np.where(chosen == 2, middle, np.where(chosen == 1, places[0], low))
        high = np.where(chosen == 0, middle, np.where(chosen == 1, places[2], high))
        middle, best = places[chosen, rows], scores[chosen, rows]
    return middle


def _laplace(count: int, price: Fraction, sensitivity: int, entropy: Entropy) -> NDArray[np.int64]:
    return discrete_laplace(count, noise_scale(price, sensitivity), entropy)


def _variance(price: Fraction, sensitivity: int) -> float:
    """Return the variance of noise but for rounding, which is above 0 however large the price."""
    return 2 * float(sensitivity / price) ** 2
