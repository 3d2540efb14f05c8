"""Records in memory as a source of counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region, exact_counts
from snhkit.geometry.dyadic import square_of
from snhkit.privacy import PointSource

CITY = Region.around(lat=45, lon=7, side_m=400)


def source(n: int, seed: int = 0) -> tuple[Points, PointSource]:
    points = Points(CITY, np.random.default_rng(seed).uniform(0, 400, (n, 2)))
    return points, PointSource(points)


@given(st.integers(0, 60), st.integers(0, 9), st.integers(0, 9))
def test_occupied_squares_and_their_counts(n, depth, seed):
    points, counted = source(n, seed)
    number, count = counted.squares(depth)
    assert (np.diff(number) > 0).all()
    assert (count > 0).all()
    again = np.bincount(square_of(points, depth), minlength=4**depth)
    assert (again[number] == count).all()
    assert count.sum() == counted.n() == n


def test_cells_and_boxes():
    points, counted = source(50)
    grid = Grid(CITY, 7)
    assert counted.region == CITY
    assert counted.count(grid).partition is grid
    assert (counted.count(grid).counts == grid.count(points).counts).all()
    boxes = RangeQueries.sample(CITY, 20, (10, 200))
    assert (counted.boxes(boxes) == exact_counts(points, boxes)).all()
    halves = Partition(CITY, [0, 200], [0, 0], [200, 400], [400, 400])
    assert counted.count(halves).counts.sum() == 50


def test_only_proven_partitions_are_counted():
    with pytest.raises(InputError, match=r"proven not to overlap .* Grid, .* not a list"):
        source(3)[1].count([0, 1])  # pyright: ignore
