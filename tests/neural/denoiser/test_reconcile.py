"""Settling on sums over blocks, against loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from snhkit.geometry import Grid, Region
from snhkit.geometry.grid import block_sums
from snhkit.neural.denoiser.levels import blocks, estimates
from snhkit.neural.denoiser.reconcile import (
    LEAST,
    _towards_counts,
    projected,
    reconciled,
    settled,
)

SIZES = st.one_of(st.just(0.0), st.floats(0, 1e-300), st.floats(0, 100), st.floats(0, 1e30))


def taken_off(values, want):
    """As much from each as brings the sum down to ``want``, by bisection."""
    rest = lambda off: np.maximum(values - off, 0)  # noqa: E731
    return rest(brentq(lambda off: rest(off).sum() - want, 0, values.max(), xtol=1e-14))


def by_loops(values, first, target, evenness):
    """Block by block."""
    values = values.copy()
    spans = [slice(a, b) for a, b in zip(first, [*first[1:], len(values)], strict=True)]
    for i, rows in enumerate(spans):
        for j, columns in enumerate(spans):
            part = values[rows, columns]
            have, want = part.sum(), target[i, j]
            if have > want and evenness[i, j]:
                part = taken_off(part, want + (1 - evenness[i, j]) * (have - want))
            part = part + LEAST
            values[rows, columns] = part * want / part.sum()
    return values


class TestSettled:
    def test_a_spike_keeps_its_height(self):
        """28 should be 21: one from each of the seven little ones, who have no more."""
        clean = np.ones((2, 4))
        clean[0, 0] = 21
        both = np.vstack([clean, clean])
        found = settled(both, np.array([0]), np.array([[40.0]]), np.ones((1, 1)))
        np.testing.assert_allclose(found, np.vstack([clean - 1] * 2), atol=0.01)

    def test_or_shrinks_with_the_others(self):
        found = settled(np.full((2, 2), 3.0), np.array([0]), np.array([[6.0]]), np.zeros((1, 1)))
        np.testing.assert_allclose(found, 1.5)

    def test_half_of_it_evenly(self):
        """8 should be 4: to 6 by one each, where there is one; then by a third."""
        clean = np.array([[7.0, 1.0], [0.0, 0.0]])
        found = settled(clean, np.array([0]), np.array([[4.0]]), np.full((1, 1), 0.5))
        np.testing.assert_allclose(found, [[4, 0], [0, 0]], atol=0.01)

    def test_what_is_missing_is_added_in_proportion(self):
        clean = np.array([[1.0, 3.0], [0.0, 0.0]])
        found = settled(clean, np.array([0]), np.array([[8.0]]), np.ones((1, 1)))
        np.testing.assert_allclose(found, [[2, 6], [0, 0]], atol=0.01)

    def test_where_nothing_was_all_parts_are_even(self):
        target = np.array([[8.0, 0], [0, 28]])
        found = settled(np.zeros((4, 4)), np.array([0, 2]), target, np.ones((2, 2)))
        np.testing.assert_allclose(found[:2, :2], 2)
        np.testing.assert_allclose(found[2:, 2:], 7)
        assert (found[:2, 2:] == 0).all()

    @pytest.mark.parametrize("m", [1, 2, 3, 5, 8, 13])
    def test_against_loops(self, m):
        rng = np.random.default_rng(m)
        values = rng.gamma(0.5, 10, (m, m))
        values[: m // 2, :1] = 0
        for count in {1, max(m // 2, 1), m}:
            first = np.arange(count) * m // count
            target = block_sums(values, first) * rng.uniform(0, 2, (count, count))
            evenness = rng.choice([0.0, 0.5, 1.0], (count, count))
            found = settled(values, first, target, evenness)
            expected = by_loops(values, first, target, evenness)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)

    @given(arrays(np.float64, (6, 6), elements=SIZES), arrays(np.float64, (2, 2), elements=SIZES))
    def test_sums_are_the_target_and_nothing_is_negative(self, values, target):
        first = np.array([0, 2])
        found = settled(values, first, target, np.full((2, 2), 0.9))
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        np.testing.assert_allclose(block_sums(found, first), target, rtol=1e-9, atol=1e-300)


class TestProjected:
    def test_by_hand(self):
        """7 and -1 with variances 1 and 3 should be 4: 3 is taken off the one, none is left."""
        sums, variance = np.array([[7.0, -1], [0, 0]]), np.array([[1.0, 3], [1, 1]])
        found = projected(sums, variance, np.zeros(1, int), np.array([[4.0]]))
        np.testing.assert_allclose(found, [[4, 0], [0, 0]], atol=0.005)

    @given(st.data())
    def test_they_are_the_nearest_that_add_up(self, data):
        """What is taken off, over variances, is one number, and at least as large where 0 is."""
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
        sums, variance = rng.normal(3, 20, (5, 5)), rng.uniform(0.1, 9, (5, 5))
        first, target = np.array([0, 2]), rng.uniform(5, 300, (2, 2))
        found = projected(sums, variance, first, target)
        np.testing.assert_allclose(block_sums(found, first), target, rtol=1e-9)
        assert (found >= 0).all()
        off = (sums - found) / variance
        for i, rows in enumerate((slice(0, 2), slice(2, 5))):
            for j, columns in enumerate((slice(0, 2), slice(2, 5))):
                part, left = off[rows, columns], found[rows, columns]
                assert np.ptp(part[left > 0.05]) < 0.1, (i, j)
                assert (sums[rows, columns] / variance[rows, columns])[left < 1e-4].max(
                    initial=-np.inf
                ) < part[left > 0.05].mean() + 0.1


def levels(cells, side_m=2_600.0, coarse=True, noise=1.0):
    """Of noisy cells and blocks that hold what these say."""
    grid = Grid(Region.around(lat=0, lon=0, side_m=side_m), len(cells))
    small, large = ((block_sums(cells, first), 5.0) for first in blocks(grid))
    return estimates(grid, noise, cells, *((large, small) if coarse else (None, None)))


OPINION = np.zeros((26, 26, 3))


class TestReconciled:
    @pytest.mark.parametrize("split", [1, 2])
    def test_all_add_up_to_the_total(self, split):
        rng = np.random.default_rng(1)
        cells = rng.poisson(3, (26, 26)) + rng.laplace(0, 1, (26, 26))
        clean = rng.gamma(1, 1, (split * 26,) * 2)
        found = reconciled(clean, OPINION, levels(cells), 777.0)
        assert found.sum() == pytest.approx(777)
        assert (found >= 0).all()

    def test_nobody(self):
        found = reconciled(np.ones((52, 52)), OPINION, levels(np.zeros((26, 26))), 0.0)
        assert (found == 0).all()

    def test_without_noise_the_noisy_counts_come_out(self):
        """A unit of noise is a billionth of a record."""
        cells = 1e9 * np.random.default_rng(2).poisson(3, (26, 26))
        clean = np.random.default_rng(3).gamma(1, 1e9, (52, 52))
        found = reconciled(clean, OPINION, levels(cells), cells.sum())
        np.testing.assert_allclose(block_sums(found, np.arange(26) * 2), cells, rtol=1e-6, atol=10)

    @pytest.mark.parametrize(("lean", "sure"), [(-8.0, False), (8.0, True)])
    def test_small_blocks_move_as_far_as_the_network_is_unsure_of_them(self, lean, sure):
        """Within large blocks of 13 columns the first 4 are half as full as the clean ones."""
        cells = np.full((26, 26), 1.0)
        for first in (0, 13):
            cells[first : first + 4] = 0.5
            cells[first + 8 : first + 13] = 1.4
        opinion = OPINION + np.array([lean, 0, 0])
        found = reconciled(np.ones((26, 26)), opinion, levels(cells), 676.0)
        part = found[:4].sum() / found[:13].sum()
        assert part == pytest.approx(2 / 13 if sure else 4 / 13, abs=0.005)

    def test_groups_move_towards_their_counts(self):
        """In groups of 4 by 4 of 16 each, told 160 with a noise of variance 2, 160 come out."""
        group = np.arange(36).reshape(6, 6).repeat(4, 0).repeat(4, 1)
        cells = np.ones((24, 24))
        cells[:12, :12] = np.where(np.add.outer(np.arange(12) // 4, np.arange(12) // 4) % 2, 10, 1)
        grid = Grid(Region.around(lat=0, lon=0, side_m=2_400), 24)
        known = estimates(grid, 1.0, cells, None, None, group)
        found = reconciled(np.ones((24, 24)), OPINION[:24, :24], known, float(cells.sum()))
        np.testing.assert_allclose(found, cells, rtol=0.03)

    def test_cells_move_as_far_as_noise_does_not_explain(self):
        """Told 4 more than 10 with a noise of variance 2: by 14 / 16 of it."""
        ours = np.full((24, 24), 10.0)
        found = _towards_counts(ours, levels(ours + 4, 2_400.0, coarse=False))
        np.testing.assert_allclose(found, 10 + 4 * 14 / 16, rtol=1e-3)

    def test_turned_it_comes_out_turned(self):
        rng = np.random.default_rng(4)
        cells, clean = rng.gamma(0.3, 9, (24, 24)), rng.gamma(0.3, 3, (48, 48))
        opinion = rng.normal(size=(24, 24, 3))
        one = reconciled(clean, opinion, levels(cells, 2_400.0), 900.0)
        other = reconciled(clean.T, opinion.swapaxes(0, 1), levels(cells.T, 2_400.0), 900.0)
        np.testing.assert_allclose(other.T, one, rtol=1e-9)

    def test_by_hand_where_nothing_is_bought(self):
        """One block of 3 by 3 cells of 1 each: 9 are told to be 18 with a variance of 18.

        Of the network's doubts there are 0.3 + 4.5 + 4.05. The total has the last word, so only
        proportions are left; cells that all differ by 1 from the told have no excess.
        """
        cells = np.full((3, 3), 2.0)
        clean = np.ones((3, 3))
        found = reconciled(clean, np.zeros((3, 3, 3)), levels(cells, 3.0, coarse=False), 12.0)
        np.testing.assert_allclose(found, 12 / 9)
