from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from snhkit import PrivateDataset
from snhkit.builders import QuadTree
from snhkit.errors import InputError
from snhkit.geometry import Grid
from snhkit.privacy import total


def test_shares_grow_by_the_cube_root_of_two_and_add_up():
    shares = QuadTree.shares(10)
    assert sum(shares) == 1
    for above, below in pairwise(shares):
        assert float(below / above) == pytest.approx(2 ** (1 / 3), abs=0.02)


def test_each_level_costs_its_share(released, records):
    spends = released(records, QuadTree(2), "0.5").spends
    assert [s.epsilon for s in spends] == [Fraction(share) / 2 for share in QuadTree.shares(2)]
    bought = ["count of one cell", "counts of 4 cells", "counts of 16 cells"]
    assert [s.what for s in spends] == bought
    assert total(spends).epsilon == Fraction(1, 2)


def test_counts_without_noise_are_exact(released, records):
    release = released(records, QuadTree(4), 10_000)
    counts = Grid(records.region, 16).count(records).counts
    np.testing.assert_allclose(release.model.arrays()["values"], counts, atol=1e-9)
    assert len(release.cells()) == 256


def test_a_given_height_needs_no_n(records):
    data = PrivateDataset(records, budget=2, unit="record")
    assert data.release(QuadTree(3), epsilon=1).n is None
    assert data.release(QuadTree(), epsilon=1).n is not None


def test_height_grows_with_n_and_epsilon_within_limits():
    heights = [QuadTree().height_for(13_200, n, e) for n, e in ((10**4, 0.1), (10**6, 1), (0, 1))]
    assert heights[0] < heights[1]
    assert heights[2] >= 0
    assert QuadTree().height_for(200_000, 10**9, 1_000) == 13
    assert QuadTree().height_for(1, 1, 0.001) == 0


@pytest.mark.parametrize("height", [-1, 14, 10**6, 2.5, True])
def test_invalid_heights_are_refused(height):
    with pytest.raises(InputError, match="height must be"):
        QuadTree(height)
