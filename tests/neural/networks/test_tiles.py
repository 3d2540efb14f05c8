import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry import RangeQueries, Region
from snhkit.neural.networks.tiles import core_and_frame, tile, tiles_needed

SIDE = 400
CITY = Region.around(lat=45, lon=7, side_m=SIDE)
EDGES = np.linspace(0, SIDE, 5)
span = st.one_of(
    st.tuples(*[st.sampled_from([0.0, 100.0, 200.0, 300.0, 399.99, 400.0])] * 2),
    st.tuples(*[st.floats(0, SIDE)] * 2),
).map(sorted)
some_boxes = st.lists(st.tuples(span, span), min_size=1, max_size=5)


def queries(spans):
    (x0, x1), (y0, y1) = np.array(spans, float).transpose(1, 2, 0)
    return RangeQueries(CITY, x0, y0, x1 - x0, y1 - y0)


def shared_area(a, b):
    """Of two boxes, each (x, y, width, height)."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(width, 0) * max(height, 0)


@given(some_boxes)
def test_core_and_frame_are_the_box_and_do_not_overlap(spans):
    whole = queries(spans)
    core, frame, owner = core_and_frame(whole, EDGES)
    columns = [np.stack([q.x, q.y, q.width, q.height], 1) for q in (whole, core, frame)]
    for i, (box, middle) in enumerate(zip(columns[0], columns[1], strict=True)):
        parts = [middle, *columns[2][owner == i]]
        area = box[2] * box[3]
        assert sum(w * h for *_, w, h in parts) == pytest.approx(area, abs=1e-6)
        assert all(shared_area(p, box) == pytest.approx(p[2] * p[3], abs=1e-6) for p in parts)
        for j, part in enumerate(parts):
            assert all(shared_area(part, other) < 1e-6 for other in parts[:j])


@given(some_boxes)
def test_the_core_is_every_whole_block_inside(spans):
    whole = queries(spans)
    core, *_ = core_and_frame(whole, EDGES)
    x, y = np.meshgrid(EDGES[:-1], EDGES[:-1])
    x1, y1 = whole.x + whole.width, whole.y + whole.height
    for i in range(len(whole)):
        inside = (x >= whole.x[i]) & (x + 100 <= x1[i]) & (y >= whole.y[i]) & (y + 100 <= y1[i])
        assert core.width[i] * core.height[i] == inside.sum() * 100**2


def test_golden_core_and_frame():
    """[50, 350) by [100, 260): blocks from 100 to 300 by 100 to 200; left, right and above."""
    core, frame, owner = core_and_frame(RangeQueries(CITY, [50], [100], [300], [160]), EDGES)
    assert (core.x[0], core.y[0], core.width[0], core.height[0]) == (100, 100, 200, 100)
    rest = np.stack([frame.x, frame.y, frame.width, frame.height], 1).tolist()
    assert rest == [[50, 100, 50, 160], [300, 100, 50, 160], [100, 200, 200, 60]]
    assert owner.tolist() == [0, 0, 0]


@given(some_boxes, st.floats(5, 60), st.floats(0, 100))
def test_tiles_cut_a_box_without_gaps(spans, low, more):
    whole = queries(spans)
    per_side = tiles_needed(whole, low, low + more)
    tiles = tile(whole, per_side)
    area = np.bincount(tiles.box, tiles.area, minlength=len(whole))
    np.testing.assert_allclose(area, whole.width * whole.height, atol=1e-6)
    size = np.stack([whole.width, whole.height], 1) / per_side
    corner = np.stack([whole.x, whole.y], 1)
    place = (tiles.centre - corner[tiles.box]) / np.maximum(size[tiles.box], 1e-300)
    for i in np.flatnonzero(whole.width * whole.height > 1):
        expected = np.indices(per_side[i]).reshape(2, -1).T + 0.5
        np.testing.assert_allclose(place[tiles.box == i], expected, atol=1e-6)


@given(some_boxes, st.floats(5, 60), st.floats(0, 100))
def test_tiles_are_as_wide_as_they_should_be(spans, low, more):
    whole = queries(spans)
    high = low + more
    sides = np.stack([whole.width, whole.height], 1)
    per_side = tiles_needed(whole, low, high)
    target = np.clip(sides.min(axis=1, keepdims=True), low, high)
    assert (per_side >= 1).all()
    assert (sides / per_side <= target * (1 + 1e-8)).all()
    assert (sides / np.maximum(per_side - 1, 1) >= target * (1 - 1e-8))[per_side > 1].all()


@given(st.floats(25, 100))
def test_a_square_of_a_trained_size_is_its_own_tile(side):
    square = RangeQueries(CITY, [3.3], [4.4], [side], [side])
    assert tiles_needed(square, 25, 100).tolist() == [[1, 1]]


def test_rounding_adds_no_tile_where_whole_tiles_fit():
    row = RangeQueries(CITY, [0], [0], [0.1 + 0.2], [0.1])  # 0.30000000000000004 m
    assert tiles_needed(row, 0.1, 0.1).tolist() == [[3, 1]]
