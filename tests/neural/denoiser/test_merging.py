"""Cells of blocks with few records are counted together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry.grid import block_starts
from snhkit.neural.denoiser.levels import merged_groups


@given(st.data())
def test_groups_are_rectangles_within_blocks_and_numbered_without_a_gap(data):
    m = data.draw(st.integers(1, 40))
    count = data.draw(st.integers(1, m))
    first = block_starts(m, count)
    sums = np.random.default_rng(data.draw(st.integers(0, 9))).normal(5, 20, (count, count))
    found = merged_groups(m, first, sums, 1.0)
    numbers = np.unique(found)
    assert numbers.tolist() == list(range(len(numbers)))
    block = np.repeat(np.arange(count), np.diff(first, append=m))
    for number in numbers:
        i, j = np.nonzero(found == number)
        assert len(i) == (np.ptp(i) + 1) * (np.ptp(j) + 1)
        assert len(set(block[i])) == len(set(block[j])) == 1


@pytest.mark.parametrize(
    ("held", "groups"),
    [(-50, 1), (0, 1), (3.9, 1), (4, 4), (8.9, 4), (9, 9), (80.9, 64), (81, 144), (1e9, 144)],
)
def test_how_many_groups_a_block_of_12_by_12_cells_has(held, groups):
    """A group for each record; where groups would be below 1.5 cells wide, single cells."""
    found = merged_groups(12, np.zeros(1, int), np.array([[float(held)]]), 1.0)
    assert found.max() + 1 == groups
    sizes = np.bincount(found.ravel())
    assert sizes.min() >= 0.25 * sizes.max()


def test_groups_follow_what_blocks_hold():
    sums = np.array([[100.0, 0.0], [0.0, 0.0]])
    found = merged_groups(8, np.array([0, 4]), sums, 1.0)
    assert np.bincount(found.ravel()).tolist() == [1] * 16 + [16] * 3
    assert (found[4:, :4] == found[4, 0]).all()
