"""Sums against fractions of whole numbers, which round nothing."""

import tracemalloc
import zlib
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.models import packed_model
from snhkit.models.packed_model import MOST, PackedCounts

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
    return values


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


def packed(values: np.ndarray, band: int = 64) -> PackedCounts:
    """Compressed in bands of so many rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_model, "BAND", band)
        return PackedCounts.of(Grid(CITY, len(values)), values.astype(np.uint64))


@pytest.mark.parametrize("band", [1, 2, 64])
@given(values=tables(), boxes=nested())
def test_the_nearest_number_to_the_exact_sum(band, values, boxes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_model, "BAND", band)
        found = packed(values, band).sums(boxes)
    assert found.tolist() == [float(exact(values, boxes[k : k + 1])) for k in (0, 1)]


@given(tables(), nested())
def test_never_less_than_a_box_inside(values, boxes):
    outer, inner = packed(values).sums(boxes)
    assert 0 <= inner <= outer


@pytest.mark.parametrize("most", [1, 200, 70_000, 2**36])
def test_many_bands_and_boxes(most, monkeypatch):
    """Against plain summed areas, whole cells only; few bands are held at a time."""
    values = np.random.default_rng(most).integers(0, most + 1, (300, 300))
    counts = packed(values)
    assert counts.total == values.sum()
    assert (counts.counts() == values).all()
    assert counts.size == np.min_scalar_type(values.max()).itemsize
    monkeypatch.setattr(packed_model, "_HELD", 2 * 65 * 301)
    low, high = np.sort(np.random.default_rng(1).integers(0, 301, (2, 2, 999)), axis=0)
    edges = Grid(CITY, 300).edges()
    boxes = RangeQueries(CITY, *edges[low], *(edges[high] - edges[low]))
    table = np.zeros((301, 301), np.int64)
    table[1:, 1:] = values.cumsum(0).cumsum(1)
    expected = table[tuple(high)] - table[low[0], high[1]] - table[high[0], low[1]]
    np.testing.assert_allclose(counts.sums(boxes), expected + table[tuple(low)], rtol=1e-15)
    assert len(counts._tables) == 2


def test_a_large_grid_is_answered_in_little_memory():
    """8,192 by 8,192 cells are 67 MB as they are, and 537 MB as a summed area."""
    rng = np.random.default_rng(0)
    grid, rows = Grid(CITY, 8_192), rng.integers(0, 3, (64, 8_192), np.uint8)
    band = np.frombuffer(zlib.compress(rows.tobytes(), 1), np.uint8)
    packed = np.tile(band, 128), np.arange(1, 129) * len(band)
    centre = rng.uniform(0, 400, (10_000, 2))
    boxes = RangeQueries.squares(CITY, centre, rng.uniform(0.1, 300, 10_000))
    tracemalloc.start()
    try:
        counts = PackedCounts(grid, 1, *packed)
        answers = counts.sums(boxes)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    assert counts.total == 128 * int(rows.sum())
    assert (answers >= 0).all()


def test_plain_summed_areas_cannot_promise_that():
    """Which is why these are made."""
    values = np.random.default_rng(1).integers(0, 9, (400, 400))
    values[0, 0] = 2**40
    x = 200 + np.arange(500) / 7
    size = np.repeat([[100.0], [100 - 1e-9]], 500, axis=1)
    outer, inner = (RangeQueries(CITY, x, x, side, side) for side in size)
    plain, whole = SummedArea(Grid(CITY, 400), values), packed(values)
    assert (plain.sums(inner) > plain.sums(outer)).any()
    assert (whole.sums(inner) <= whole.sums(outer)).all()
    np.testing.assert_allclose(whole.sums(outer), plain.sums(outer), rtol=1e-4)


@pytest.mark.parametrize("m", [1, 3, 999])
def test_cells_are_whole(m):
    """Where corners in metres are no round numbers."""
    values = np.zeros((m, m), np.uint8)
    values[-3:, -3:] = 7
    grid = Grid(CITY, m)
    low = grid.edges()[:-1][-3:]
    boxes = RangeQueries(CITY, low, low, grid.cell_m + 0 * low, grid.cell_m + 0 * low)
    assert (PackedCounts.of(grid, values).sums(boxes) == 7).all()


def test_boxes_without_area_and_outside_hold_nothing():
    sums = packed(np.full((3, 3), 2**49))
    boxes = RangeQueries(
        CITY, [10, 10, -90, 400, 1e300], [10] * 5, [0, 50, 90, 9, 9], [9, 0, 9, 9, 9]
    )
    assert sums.sums(boxes).tolist() == [0] * 5
    assert sums.sums(boxes[:0]).shape == (0,)


def test_boxes_of_another_region_are_refused():
    other = Region.around(lat=44, lon=7, side_m=400)
    with pytest.raises(InputError, match="another region"):
        packed(np.ones((2, 2))).sums(RangeQueries(other, [0], [0], [1], [1]))
