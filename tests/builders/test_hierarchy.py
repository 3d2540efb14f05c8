from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders.hierarchical import consistent, measured
from snhkit.geometry import Grid
from snhkit.privacy import (
    Measurements,
    PointSource,
    PrivacyUnit,
    ReplayableEntropy,
    SystemEntropy,
    Terms,
)
from snhkit.privacy.noise import noisy_histogram

SIDES = st.sampled_from([(1,), (1, 2, 4, 8), (2, 6), (1, 3, 9), (5, 10), (1, 2, 6), (3, 3)])


@given(SIDES, st.integers(0, 2**32))
def test_consistency_is_weighted_least_squares(sides, seed):
    rng = np.random.default_rng(seed)
    m = sides[-1]
    levels = [rng.normal(0, 10, (side, side)) for side in sides]
    variances = rng.uniform(0.1, 9, len(sides)).tolist()
    rows, seen = [], []
    for level, variance in zip(levels, variances, strict=True):
        cut = m // len(level)
        for i, j in np.ndindex(level.shape):
            covered = np.zeros((m, m))
            covered[i * cut : (i + 1) * cut, j * cut : (j + 1) * cut] = 1
            rows.append(covered.ravel() / variance**0.5)
            seen.append(level[i, j] / variance**0.5)
    best, *_ = np.linalg.lstsq(np.array(rows), np.array(seen), rcond=None)
    np.testing.assert_allclose(consistent(levels, variances).ravel(), best, atol=1e-8)


@pytest.mark.parametrize("sides", [(1, 2, 4, 8), (4, 12), (1, 3, 9)])
def test_consistent_counts_are_unchanged(sides):
    m = sides[-1]
    leaves = np.arange(float(m * m)).reshape(m, m)
    levels = [leaves.reshape(s, m // s, s, m // s).sum(axis=(1, 3)) for s in sides]
    variances = [float(len(sides) - nth) for nth in range(len(sides))]
    np.testing.assert_allclose(consistent(levels, variances), leaves)


def test_two_levels_worked_out_by_hand():
    """A cell of variance 3 has nine parts of variance 1: the weight is 9/12, the difference 16."""
    levels = [np.array([[25]]), np.ones((3, 3))]
    np.testing.assert_allclose(consistent(levels, [3, 1]), 1 + 0.75 * 16 / 9)


def test_counts_without_noise_are_exact_and_each_grid_costs_its_share(records):
    terms = Terms(Fraction(10**6), PrivacyUnit("record"))
    private = Measurements(PointSource(records), terms, SystemEntropy())
    model = measured(private, [4, 12], [Fraction(1, 3), Fraction(2, 3)])
    assert (model.values == Grid(records.region, 12).count(records).counts).all()
    assert [s.epsilon for s in private.spends] == [Fraction(10**6, 3), Fraction(2 * 10**6, 3)]
    assert [s.what for s in private.spends] == ["counts of 16 cells", "counts of 144 cells"]
    assert private.epsilon == 0


def test_grids_are_weighted_by_precision(records):
    """With the same seed, a count with half the noise scale has a quarter of the variance."""
    terms = Terms(Fraction(3), PrivacyUnit("record"))
    private = Measurements(PointSource(records), terms, ReplayableEntropy(7))
    model = measured(private, [2, 6], [Fraction(1, 3), Fraction(2, 3)])
    again = ReplayableEntropy(7)
    coarse, fine = (
        noisy_histogram(Grid(records.region, side).count(records), epsilon, 1, again)[0]
        for side, epsilon in ((2, 1), (6, 2))
    )
    np.testing.assert_allclose(model.values, consistent([coarse, fine], [4, 1]))
