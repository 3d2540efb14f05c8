"""Sums against fractions of whole numbers, which round nothing."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.neural.denoiser.whole_sums import MOST, WholeSums

CITY = Region.around(lat=45, lon=7, side_m=400)
PLACES = st.floats(-50, 450) | st.sampled_from([0.0, 57.142857142857146, 100.0, 200.0, 400.0])


@st.composite
def tables(draw):
    """Numbers that add up to ``MOST`` at most, however unevenly."""
    m = draw(st.integers(1, 7))
    sizes = st.sampled_from([0, 1, 3, 1_000, 2**31, MOST // 49])
    values = np.array(draw(st.lists(sizes, min_size=m * m, max_size=m * m))).reshape(m, m)
    if draw(st.booleans()):
        values[draw(st.integers(0, m - 1)), draw(st.integers(0, m - 1))] += MOST - values.sum()
    return WholeSums(Grid(CITY, m), values.astype(np.uint64)[None]), values


@st.composite
def nested(draw):
    """A box and one inside it, as floating point adds up their edges."""
    (w, w1, e1, e), (s, s1, n1, n) = (sorted(draw(st.tuples(*[PLACES] * 4))) for _ in "xy")
    boxes = RangeQueries(CITY, [w, w1], [s, s1], [e - w, e1 - w1], [n - s, n1 - s1])
    for low, size in ((boxes.x, boxes.width), (boxes.y, boxes.height)):
        outer, inner = low + size
        if inner > outer:
            size[1] = 0
    return RangeQueries(CITY, boxes.x, boxes.y, boxes.width, boxes.height)


def exact(values: np.ndarray, box: RangeQueries) -> Fraction:
    """With edges at whole 2**20ths of a cell."""
    m = len(values)

    def shares(low, high):
        ends = [round(min(max(at / (400 / m), 0), m) * 2**20) for at in (low, high)]
        at = [min(max(i * 2**20, ends[0]), ends[1]) for i in range(m + 1)]
        return [Fraction(b - a, 2**20) for a, b in pairwise(at)]

    x = shares(box.x[0], box.x[0] + box.width[0])
    y = shares(box.y[0], box.y[0] + box.height[0])
    return sum(
        (x[i] * y[j] * int(values[i, j]) for i in range(m) for j in range(m)), start=Fraction(0)
    )


@given(tables(), nested())
def test_the_nearest_number_to_the_exact_sum(table, boxes):
    sums, values = table
    assert sums.sums(boxes)[0].tolist() == [float(exact(values, boxes[k : k + 1])) for k in (0, 1)]


@given(tables(), nested())
def test_never_less_than_a_box_inside(table, boxes):
    outer, inner = table[0].sums(boxes)[0]
    assert 0 <= inner <= outer


def test_plain_summed_areas_cannot_promise_that():
    """Which is why these are made."""
    values = np.random.default_rng(1).integers(0, 9, (400, 400))
    values[0, 0] = 2**40
    x = 200 + np.arange(500) / 7
    size = np.repeat([[100.0], [100 - 1e-9]], 500, axis=1)
    outer, inner = (RangeQueries(CITY, x, x, side, side) for side in size)
    plain, whole = SummedArea(Grid(CITY, 400), values), WholeSums(Grid(CITY, 400), values[None])
    assert (plain.sums(inner) > plain.sums(outer)).any()
    assert (whole.sums(inner) <= whole.sums(outer)).all()
    np.testing.assert_allclose(whole.sums(outer)[0], plain.sums(outer), rtol=1e-4)


@pytest.mark.parametrize("m", [1, 3, 999])
def test_cells_are_whole(m):
    """Where corners in metres are no round numbers."""
    values = np.zeros((m, m), np.uint8)
    values[-3:, -3:] = 7
    grid = Grid(CITY, m)
    low = grid.edges()[:-1][-3:]
    boxes = RangeQueries(CITY, low, low, grid.cell_m + 0 * low, grid.cell_m + 0 * low)
    assert (WholeSums(grid, values[None]).sums(boxes) == 7).all()


def test_boxes_without_area_and_outside_hold_nothing():
    sums = WholeSums(Grid(CITY, 3), np.full((1, 3, 3), 2**49))
    boxes = RangeQueries(
        CITY, [10, 10, -90, 400, 1e300], [10] * 5, [0, 50, 90, 9, 9], [9, 0, 9, 9, 9]
    )
    assert sums.sums(boxes)[0].tolist() == [0] * 5
    assert sums.sums(boxes[:0]).shape == (1, 0)
