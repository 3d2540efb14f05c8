from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders import HierarchicalGrid
from snhkit.builders.cell_width import default_cell_width
from snhkit.builders.hierarchical import average_variance, consistent, measured
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.variance import BlockNoise
from snhkit.privacy import (
    Measurements,
    PointSource,
    PrivacyUnit,
    ReplayableEntropy,
    SystemEntropy,
    Terms,
)
from snhkit.privacy.noise import noisy_histogram

SIDES = [(1,), (7,), (2, 4), (1, 2, 4, 8), (3, 12), (2, 6)]


@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_average_variance_is_the_mean_over_all_boxes(sides):
    m = sides[-1]
    city = Region.around(lat=45, lon=7, side_m=m)
    low, high = np.triu_indices(m + 1, 1)
    x, y = (a.ravel() for a in np.meshgrid(np.arange(low.size), np.arange(low.size)))
    boxes = RangeQueries(city, low[x], low[y], (high - low)[x], (high - low)[y])
    noise = BlockNoise.consistent(sides, [1] * len(sides), [len(sides) ** 2] * len(sides))
    mean = noise.variance(Grid(city, m), boxes).mean()
    assert average_variance(sides) == pytest.approx(mean, rel=1e-9)


@given(st.integers(1, 700), st.none() | st.integers(2, 9))
def test_grids_are_nested_and_have_the_least_average_variance(m, b):
    sides = HierarchicalGrid(b=b).sides(m)
    cut = sides[1] // sides[0] if len(sides) > 1 else 1
    assert all(below == cut * above for above, below in pairwise(sides))
    assert m <= sides[-1] < m + cut ** (len(sides) - 1)
    assert b is None or cut in (1, b)
    assert average_variance(sides) <= average_variance((m,))
    for other in (2, 3, 5, 8) if b is None else [b]:
        for height in (1, 2, 3):
            top = -(-m // other**height)
            tree = tuple(top * other**level for level in range(height + 1))
            assert average_variance(sides) <= average_variance(tree) * (1 + 1e-9)


def test_a_few_cells_need_no_hierarchy():
    assert HierarchicalGrid().sides(1) == (1,)
    assert HierarchicalGrid().sides(10) == (10,)


def test_hierarchies_gain_more_with_more_cells():
    gains = [average_variance((m,)) / average_variance(HierarchicalGrid().sides(m)) for m in
             (30, 100, 300, 1_000)]  # fmt: skip
    assert gains == sorted(gains)
    assert gains[0] > 1.05
    assert gains[-1] > 8


def test_the_number_of_cells_is_limited():
    for b in (None, 2, 3, 90):
        assert HierarchicalGrid(b=b).sides(8_191)[-1] <= 8_192


def test_grids_share_epsilon_equally(released, records):
    spends = released(records, HierarchicalGrid(6.5, b=4), "0.5").spends
    assert [s.what for s in spends] == ["counts of 256 cells", "counts of 4,096 cells"]
    assert [s.epsilon for s in spends] == [Fraction(1, 4), Fraction(1, 4)]


def test_the_default_width_is_that_of_a_quarter_of_epsilon(released, records):
    cell_m = released(records, HierarchicalGrid(), 8).model.cells().cell_m
    width = default_cell_width(300, 2)
    assert width * 0.8 < cell_m <= width


@pytest.mark.parametrize("b", [1, 0, -2, 2.5, True, "4"])
def test_invalid_branching_factors_are_refused(b):
    with pytest.raises(InputError, match="b must be a whole number, at least 2"):
        HierarchicalGrid(b=b)


NESTED = st.sampled_from([(1,), (1, 2, 4, 8), (2, 6), (1, 3, 9), (5, 10), (1, 2, 6), (3, 3)])


@given(NESTED, st.integers(0, 2**32))
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
