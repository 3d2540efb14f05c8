from fractions import Fraction
from itertools import pairwise

import pytest

from snhkit.builders import QuadTree
from snhkit.errors import InputError
from snhkit.privacy.spend import total


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
