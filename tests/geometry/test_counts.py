import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from snhkit.errors import InputError
from snhkit.geometry import Points, RangeQueries, Region, exact_counts
from snhkit.geometry.counts import count_in_boxes, levels, overlapping_pairs

CITY = Region.around(lat=0, lon=0, side_m=8)


def brute(xy, x0, y0, x1, y1):
    x, y = xy[:, 0], xy[:, 1]
    return [
        int(((a <= x) & (x < c) & (b <= y) & (y < d)).sum())
        for a, b, c, d in zip(x0, y0, x1, y1, strict=True)
    ]


@given(st.data(), st.integers(0, 60), st.integers(0, 10))
def test_counts_on_a_lattice_of_edges_and_duplicates(data, n, q):
    # Quarters: points lie on the edges of boxes and on each other all the time.
    xy = data.draw(arrays(np.int64, (n, 2), elements=st.integers(0, 31))) / 4
    x, y = data.draw(arrays(np.int64, (2, q), elements=st.integers(-8, 40))) / 4
    width, height = data.draw(arrays(np.int64, (2, q), elements=st.integers(0, 48))) / 4
    counts = exact_counts(Points(CITY, xy), RangeQueries(CITY, x, y, width, height))
    assert counts.dtype == np.int64
    assert counts.tolist() == brute(xy, x, y, x + width, y + height)


@given(st.data(), st.integers(1, 40))
def test_counts_of_any_floats(data, n):
    inside = st.floats(0, 8, exclude_max=True)
    xy = data.draw(arrays(float, (n, 2), elements=inside))
    x, y, width, height = data.draw(arrays(float, (4, 5), elements=inside))
    counts = exact_counts(Points(CITY, xy), RangeQueries(CITY, x, y, width, height))
    assert counts.tolist() == brute(xy, x, y, x + width, y + height)


@pytest.mark.parametrize("q", [0, 5, 6])
def test_few_boxes_of_many_points_are_counted_without_sorting_them(q, monkeypatch):
    xy = np.random.default_rng(3).integers(0, 32, (5_999, 2)) / 4
    x, y, width, height = np.random.default_rng(4).integers(0, 24, (4, q)) / 4
    argsort, sorted_ = np.argsort, []
    monkeypatch.setattr(np, "argsort", lambda *a, **k: sorted_.append(1) or argsort(*a, **k))
    counts = exact_counts(Points(CITY, xy), RangeQueries(CITY, x, y, width, height))
    assert counts.dtype == np.int64
    assert counts.tolist() == brute(xy, x, y, x + width, y + height)
    assert bool(sorted_) == (q == 6)


def test_edges_are_half_open_and_duplicates_count_each():
    points = Points(CITY, [[1, 1], [1, 1], [2, 1], [1, 2], [2, 2]])
    boxes = RangeQueries(
        CITY, x=[1, 0, 1, 1], y=[1, 0, 1, 1], width=[1, 1, 2, 0], height=[1, 1, 2, 0]
    )
    assert exact_counts(points, boxes).tolist() == [2, 0, 5, 0]


def test_bounds_may_be_infinite_or_crossed():
    xy = np.array([[1.0, 1.0], [3.0, 3.0]])
    low, high = np.array([-np.inf, 2.0, 5.0]), np.array([np.inf, np.inf, -5.0])
    assert count_in_boxes(xy, low, low, high, high).tolist() == [2, 1, 0]


def test_another_region_is_refused():
    other = Region.around(lat=1, lon=0, side_m=8)
    with pytest.raises(InputError, match="another region"):
        exact_counts(Points(CITY, [[1, 1]]), RangeQueries(other, [0], [0], [8], [8]))


def test_no_points_and_no_boxes():
    none = np.empty(0)
    empty, one = Points(CITY, []), Points(CITY, [[1, 1]])
    assert exact_counts(empty, RangeQueries(CITY, [0], [0], [8], [8])).tolist() == [0]
    assert exact_counts(one, RangeQueries(CITY, none, none, none, none)).tolist() == []


def test_many_boxes_over_many_points_in_bounded_memory():
    rng = np.random.default_rng(0)
    points = Points(CITY, rng.uniform(0, 8, (100_000, 2)))
    boxes = RangeQueries.sample(CITY, 10_000, (0.1, 2.0))
    tracemalloc.start()
    counts = exact_counts(points, boxes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 13 * 2**20  # a table of all pairs would take 1 GB
    some = slice(0, 50)
    b = boxes[some]
    assert counts[some].tolist() == brute(points.xy, b.x, b.y, b.x + b.width, b.y + b.height)


@given(st.data(), st.integers(0, 40))
def test_pairs_that_overlap_or_touch_are_all_counted(data, n):
    low, size = data.draw(arrays(np.int64, (2, n, 2), elements=st.integers(0, 12)))
    low, high = low.astype(float), (low + size).astype(float)
    apart = ((low[:, None] > high[None]) | (high[:, None] < low[None])).any(axis=2)
    pairs = np.triu(~apart, 1).sum()
    assert overlapping_pairs(np.concatenate([low, high], axis=1)) == pairs


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(0, 12), st.integers(0, 50))
def test_each_item_below_the_limit_is_met_once(seed, n, q, largest):
    rng = np.random.default_rng(seed)
    rank = rng.integers(largest + 1, size=n)
    first, last = np.sort(rng.integers(n + 1, size=(2, q)), axis=0)
    limit = rng.integers(largest + 2, size=q)
    item = np.arange(n)
    met: list[list[int]] = [[] for _ in range(q)]
    for level in levels(rank, first, last, limit):
        item = item[level.order]
        for found, a, b, below in zip(met, level.first, level.last, level.below, strict=True):
            if below:
                found.extend(item[a:b])
    for found, a, b, top in zip(met, first, last, limit, strict=True):
        assert sorted(found) == [i for i in range(a, b) if rank[i] < top]
