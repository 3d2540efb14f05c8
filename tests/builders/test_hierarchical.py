from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit import PrivateDataset
from snhkit.builders import HierarchicalGrid
from snhkit.builders.cell_width import default_cell_width
from snhkit.builders.hierarchical import average_variance
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region, exact_counts
from snhkit.models.variance import BlockNoise

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


def test_grids_share_epsilon_equally(records):
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    spends = data.release(HierarchicalGrid(6.5, b=4), epsilon="0.5").spends
    assert [s.what for s in spends] == ["counts of 256 cells", "counts of 4,096 cells"]
    assert [s.epsilon for s in spends] == [Fraction(1, 4), Fraction(1, 4)]


def test_counts_without_noise_are_exact(records):
    data = PrivateDataset(records, budget="1e6", unit="record", n_public=True)
    release = data.release(HierarchicalGrid(7), epsilon=10_000)
    grid = release.model.cells()
    assert len(release.spends) > 1
    np.testing.assert_allclose(
        release.model.arrays()["values"], grid.count(records).counts, atol=1e-9
    )
    everything = RangeQueries(records.region, [0], [0], [400], [400])
    np.testing.assert_allclose(release.answer(everything), exact_counts(records, everything))


def test_the_default_width_is_that_of_a_quarter_of_epsilon(records):
    data = PrivateDataset(records, budget=9, unit="record", n_public=True)
    cell_m = data.release(HierarchicalGrid(), epsilon=8).model.cells().cell_m
    width = default_cell_width(300, 2)
    assert width * 0.8 < cell_m <= width


def test_a_given_width_needs_no_n(records):
    data = PrivateDataset(records, budget=2, unit="record")
    assert data.release(HierarchicalGrid(30), epsilon=1).n is None
    assert data.release(HierarchicalGrid(), epsilon=1).n is not None


@pytest.mark.parametrize("b", [1, 0, -2, 2.5, True, "4"])
def test_invalid_branching_factors_are_refused(b):
    with pytest.raises(InputError, match="b must be a whole number, at least 2"):
        HierarchicalGrid(b=b)


@pytest.mark.parametrize("cell_m", [0, -1, np.nan, np.inf, True, "30"])
def test_invalid_widths_are_refused(cell_m):
    with pytest.raises(InputError, match="cell_m must be a positive number"):
        HierarchicalGrid(cell_m)
