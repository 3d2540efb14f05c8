import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from snhkit.neural.denoiser import reconcile

COUNTS = st.integers(1, 9).flatmap(lambda m: arrays(np.int64, (m, m), elements=st.integers(-9, 50)))


def reconciled(clean, noisy, variance):
    """From the whole down to the cells."""
    m = len(noisy)
    levels = [2**i for i in range(9) if 2**i < m] + [m]
    return reconcile.reconciled(clean, noisy, variance, levels)


@st.composite
def cases(draw):
    """A noisy grid, and a clean one with one part or four a cell."""
    noisy = draw(COUNTS)
    split = draw(st.sampled_from([1, 2]))
    sizes = st.one_of(st.just(0.0), st.floats(0, 1e-300), st.floats(0, 100), st.floats(0, 1e30))
    return draw(arrays(np.float64, (split * len(noisy),) * 2, elements=sizes)), noisy


def in_cells(clean, m):
    split = len(clean) // m
    return clean.reshape(m, split, m, split).sum(axis=(1, 3))


def by_loops(clean, noisy, variance):
    """Block by block."""
    clean, m = clean.copy(), len(noisy)
    split = len(clean) // m
    for blocks in [2**i for i in range(9) if 2**i < m] + [m]:
        edges = [i * m // blocks for i in range(blocks + 1)]
        spans = [slice(*edges[i : i + 2]) for i in range(blocks)]
        places = [(x, y) for x in spans for y in spans]
        fine = [tuple(slice(split * s.start, split * s.stop) for s in p) for p in places]
        noise = [variance * noisy[p].size for p in places]
        gap = [noisy[p].sum() - clean[f].sum() for p, f in zip(places, fine, strict=True)]
        excess = np.mean([g**2 - v for g, v in zip(gap, noise, strict=True)])
        if excess <= 0:
            continue
        for f, g, v in zip(fine, gap, noise, strict=True):
            have = clean[f].sum()
            want = max(have + g * excess / (excess + v), 0)
            if have > want:
                clean[f] = taken_off(clean[f], want)
            else:
                clean[f] = clean[f] * want / have if have else want / clean[f].size
    return clean


def taken_off(values, want):
    """As much from each as brings the sum down to ``want``, by bisection."""
    rest = lambda off: np.maximum(values - off, 0)  # noqa: E731
    return rest(brentq(lambda off: rest(off).sum() - want, 0, values.max(), xtol=1e-14))


class TestByHand:
    def test_two_by_two(self):
        """Whole: 4 should be 8, by 16 - 4 of 16 parts, so 7. Cells: 17 parts, of which 1 is sure.

        Their squared differences 1.25**2 and 0.75**2 are 1.0625 on average, noise makes 1 of it.
        """
        found = reconciled(np.ones((2, 2)), np.array([[3, 1], [1, 3]]), 1.0)
        more, less = 1.75 + 1.25 / 17, 1.75 - 0.75 / 17
        np.testing.assert_allclose(found, [[more, less], [less, more]], rtol=1e-14)

    def test_four_by_four_where_only_the_whole_is_sure(self):
        """16 should be 48: 32**2 - 64 of 32**2 parts of 32 more is 46. Shares stay as they were."""
        clean = np.ones((4, 4))
        clean[0, :2] = 0, 2
        np.testing.assert_allclose(
            reconciled(clean, np.full((4, 4), 3), 4.0), clean * 46 / 16, rtol=1e-14
        )

    def test_a_spike_keeps_its_height(self):
        """28 should be 21: one from each of the seven little ones, who have no more."""
        clean = np.ones((2, 4))
        clean[0, 0] = 21
        settled = reconcile.settled(
            np.vstack([clean, clean]), np.array([0]), *map(np.array, ([[56.0]], [[40.0]]))
        )
        np.testing.assert_allclose(settled, np.vstack([clean - 1] * 2), atol=1e-4)

    def test_where_nothing_was_all_parts_are_even(self):
        clean = np.zeros((4, 4))
        clean[2:, 2:] = 7
        found = reconciled(clean, np.array([[8, 0], [0, 28]]), 0.0)
        assert found.tolist() == [[2, 2, 0, 0], [2, 2, 0, 0], [0, 0, 7, 7], [0, 0, 7, 7]]

    def test_noise_explains_small_differences(self):
        clean = np.full((6, 6), 0.3)
        assert (reconciled(clean, np.ones((3, 3), int), 2.0) == clean).all()

    @pytest.mark.parametrize("noisy", [-5, 0, 5])
    def test_one_cell(self, noisy):
        found = reconciled(np.full((2, 2), 1.0), np.array([[noisy]]), 0.0)
        assert found.tolist() == [[max(noisy, 0) / 4] * 2] * 2

    def test_a_small_count_beside_an_enormous_guess(self):
        assert reconciled(np.array([[1e17]]), np.array([[3]]), 0.0).tolist() == [[3]]

    def test_from_next_to_nothing(self):
        clean = np.full((2, 2), 5e-324)
        assert reconciled(clean, np.array([[2**60]]), 0.0).tolist() == [[2.0**58] * 2] * 2


@given(cases(), st.sampled_from([0.0, 1e-12, 1.0, 1e12]))
def test_never_negative_and_finite(case, variance):
    clean, noisy = case
    before = clean.copy(), noisy.copy()
    found = reconciled(clean, noisy, variance)
    assert found.shape == clean.shape
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (clean == before[0]).all()
    assert (noisy == before[1]).all()


@given(cases())
def test_without_noise_the_noisy_counts_come_out(case):
    """To the last bit where a cell has one part; but for numbers whose squares are 0."""
    clean, noisy = case
    found = in_cells(reconciled(clean, noisy, 0.0), len(noisy))
    rounding = 0 if len(clean) == len(noisy) else 1e-14
    np.testing.assert_allclose(found, np.maximum(noisy, 0), rtol=rounding, atol=1e-100)


@given(COUNTS, st.sampled_from([1, 2]), st.floats(0, 100))
def test_what_agrees_stays_to_the_last_bit(noisy, split, variance):
    noisy = np.abs(noisy)
    clean = np.kron(noisy, np.ones((split, split))) / split**2
    assert (reconciled(clean, noisy, variance) == clean).all()


@pytest.mark.parametrize("m", [1, 2, 3, 5, 7, 8, 12, 13])
@pytest.mark.parametrize("split", [1, 2])
def test_against_loops(m, split):
    rng = np.random.default_rng(m)
    noisy = rng.poisson(rng.gamma(0.3, 30, (m, m))) + rng.integers(-3, 4, (m, m))
    clean = rng.gamma(0.5, 10 / split**2, (split * m,) * 2)
    clean[: split * (m // 2), :split] = 0
    for variance in (0.0, 2.0, 50.0):
        found = reconciled(clean, noisy, variance)
        np.testing.assert_allclose(found, by_loops(clean, noisy, variance), rtol=1e-5, atol=1e-5)
        assert variance or (found != clean).any()
