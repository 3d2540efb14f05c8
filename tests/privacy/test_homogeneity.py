"""The cuts and counts of HTF: the sensitivity, the price of a branch, and the noise."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, dlaplace

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import Spend, SystemEntropy
from snhkit.privacy.homogeneity import homogeneity, noisy_halves

CITY = Region.around(lat=0, lon=0, side_m=4)
FALSE_ALARM = 1e-7
cells = arrays(np.int64, 12, elements=st.integers(0, 9))


def counted(counts):
    """Return the histogram of a grid whose cells, shape (m, m), hold the given counts."""
    counts = np.asarray(counts)
    m = len(counts)
    cell = np.repeat(np.arange(m * m), counts.ravel())
    xy = np.stack([cell // m, cell % m], axis=1) * 4 / m
    return Grid(CITY, m).count(Points(CITY, xy))


def halves(counts, prices=(1, 1), cut=1, turns=1, least=1, sensitivity=1):
    given = [Fraction(price) for price in prices], Fraction(cut), turns, least, sensitivity
    return noisy_halves(counted(counts), *given, SystemEntropy())


class TestHomogeneity:
    def test_by_hand(self):
        """2, 4 and 0 are 2, 2 and 4 / 3... from their means: 2 + 2 2/3, rounded down to 2 + 2."""
        found = homogeneity(np.array([2, 4, 0, 2, 2]), np.array([0, 0, 1, 1, 1]), 1)
        assert found.tolist() == [2 + 2]

    @given(cells, arrays(np.int64, 12, elements=st.integers(0, 5)))
    def test_they_are_sums_of_distances_from_means(self, counts, half):
        wanted = [
            sum(
                int(np.floor(np.abs(part - part.mean()).sum() + 1e-9)) if part.size else 0
                for part in (counts[half == 2 * k], counts[half == 2 * k + 1])
            )
            for k in range(3)
        ]
        assert homogeneity(counts, half, 3).tolist() == wanted

    @given(cells, arrays(np.int64, 12, elements=st.integers(0, 5)), st.lists(st.integers(0, 11)))
    def test_records_change_a_node_by_two_each(self, counts, half, added):
        """Also of several records, in several nodes, of one person."""
        more = counts + np.bincount(added, minlength=12)
        change = np.abs(homogeneity(more, half, 3) - homogeneity(counts, half, 3))
        here = np.bincount(half[added] // 2, minlength=3) if added else np.zeros(3)
        assert (change <= 2 * here).all()

    def test_the_bound_is_nearly_reached(self):
        counts, half = np.zeros(1_000, int), np.zeros(1_000, int)
        more = counts + 500 * (np.arange(1_000) == 3)
        assert homogeneity(more, half, 1)[0] > 1.99 * 500


@given(arrays(np.int64, (6, 6), elements=st.integers(0, 9)), st.integers(0, 6), st.integers(1, 3))
def test_the_leaves_are_always_a_partition(counts, height, turns):
    levels, spend = halves(counts, [1] * (height + 1), turns=turns)
    covered = np.zeros((6, 6), int)
    for level, below in zip(levels, [*levels[1:], None], strict=True):
        for (x0, x1, y0, y1), leaf in zip(level.ends, level.leaf, strict=True):
            assert x0 < x1
            assert y0 < y1
            covered[x0:x1, y0:y1] += leaf
        if below is not None:
            assert below.parent.tolist() == np.repeat(np.flatnonzero(~level.leaf), 2).tolist()
    assert (covered == 1).all()
    assert spend == Spend(Fraction(2 * height + 1), "cuts and counts of a binary tree")


def prices_of_branches(monkeypatch, counts, *given, **more):
    """Return the price of each draw of noise, as (scale, number of draws), in order."""
    drawn = []

    def nothing(count, scale, entropy):
        drawn.extend([(scale, count)] * (count > 0))
        return np.zeros(count, np.int64)

    monkeypatch.setattr("snhkit.privacy.homogeneity.discrete_laplace", nothing)
    levels, _ = halves(counts, *given, **more)
    return levels, drawn


def test_every_branch_costs_epsilon(monkeypatch):
    """By hand: a crowd in the last column. Counts cost 1, 2 and 4, cuts 1 for 3 places."""
    counts = np.zeros((4, 4), int)
    counts[3] = [0, 0, 0, 90]
    levels, drawn = prices_of_branches(monkeypatch, counts, (1, 2, 4), sensitivity=5)
    # The root is counted, then cut at 3 of 4, where both halves are most alike.
    assert levels[0].ends.tolist() == [[0, 4, 0, 4]]
    assert levels[1].ends.tolist() == [[0, 3, 0, 4], [3, 4, 0, 4]]
    # The empty half is counted again, for the cut and the count that its branch does not need.
    assert levels[1].leaf.tolist() == [True, False]
    scale = [Fraction(5), *[Fraction(2 * 5 * 3)] * 3, Fraction(5, 2), Fraction(5, 1 + 4)]
    assert [s for s, _ in drawn[:6]] == scale
    assert [count for _, count in drawn] == [1, 1, 1, 1, 2, 1, 1, 1, 1, 2]
    assert drawn[-1][0] == Fraction(5, 4)
    # The two noisy counts of the empty half are averaged by inverse variances.
    two = [2 * (5 / price) ** 2 for price in (2, 5)]
    assert levels[1].variance[0] == pytest.approx(1 / (1 / two[0] + 1 / two[1]))
    assert levels[2].variance == pytest.approx([2 * (5 / 4) ** 2] * 2)


def test_noisy_counts_decide_on_cuts(monkeypatch):
    """Nobody is there; noise of 5 says otherwise, and noise of -5 that a crowd is not there."""
    for noise, counts in ((5, np.zeros((4, 4), int)), (-5, np.ones((4, 4), int))):
        made = lambda count, scale, entropy, noise=noise: np.full(count, noise)  # noqa: E731
        monkeypatch.setattr("snhkit.privacy.homogeneity.discrete_laplace", made)
        levels, _ = halves(counts, (1, 1), least=1 if noise > 0 else 12)
        assert len(levels) == (2 if noise > 0 else 1)


def test_without_noise_cuts_are_where_counts_change(monkeypatch):
    counts = np.ones((8, 8), int)
    counts[6:] = 7
    levels, _ = prices_of_branches(monkeypatch, counts, (1, 1), turns=3)
    assert levels[1].ends.tolist() == [[0, 6, 0, 8], [6, 8, 0, 8]]
    assert levels[1].counts.tolist() == [48, 112]
    along_y, _ = prices_of_branches(monkeypatch, np.ascontiguousarray(counts.T), (1, 1, 1), turns=3)
    assert [6, 8] in along_y[2].ends[:, 2:].tolist()


@pytest.mark.chance(FALSE_ALARM)
def test_counts_have_noise_of_their_price():
    counts = np.zeros((2, 2), int)
    law = dlaplace(float(Fraction(1, 3) / 2))
    seen = [halves(counts, (Fraction(1, 3),), sensitivity=2)[0][0].counts[0] for _ in range(2_000)]
    zeros = sum(value == 0 for value in seen)
    assert binomtest(zeros, len(seen), law.pmf(0)).pvalue > FALSE_ALARM
    assert binomtest(zeros, len(seen), dlaplace(1 / 3).pmf(0)).pvalue < FALSE_ALARM


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"turns": 0}, "turns must be"),
        ({"sensitivity": 0}, "sensitivity must be"),
        ({"prices": (Fraction(1, 10**17),), "cut": 1}, "larger epsilon"),
    ],
)
def test_invalid_arguments_are_refused(change, match):
    with pytest.raises(InputError, match=match):
        halves(np.ones((2, 2), int), **change)


def test_cells_that_may_overlap_are_refused():
    with pytest.raises(InputError, match="give the Histogram that Grid"):
        noisy_halves(np.ones((2, 2)), [Fraction(1)], Fraction(1), 1, 1, 1, SystemEntropy())


def test_prices_of_any_number_of_digits_are_possible():
    """Their noise is rounded up, as all noise, since an error would come after the charge."""
    price = Fraction(12345678901234567, 10**17)
    levels, spend = halves(np.full((2, 2), 50), [price / 97, 96 * price / 97], price / 89)
    assert len(levels) == 2
    assert spend.epsilon == price + price / 89
