import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.neural.networks.augment import (
    Augmentation,
    aligned,
    drawn_points,
    overlaps,
    query_sizes,
)

CITY = Region.around(lat=45, lon=7, side_m=40)
NOISY = np.random.default_rng(1).integers(-3, 20, (4, 4))
TABLE = SummedArea(Grid(CITY, 4), NOISY)
WORKLOAD = RangeQueries(CITY, [3, 11, 30], [2, 13, 25], [4, 9, 20], [4, 12, 5])


def test_query_sizes_are_the_papers():
    """R of Alg. 1, line 1, for l = 25, u = 100, k = 8, by hand."""
    golden = [29.6875, 39.0625, 48.4375, 57.8125, 67.1875, 76.5625, 85.9375, 95.3125]
    assert query_sizes(25, 100, 8).tolist() == golden
    assert query_sizes(25, 100, 1).tolist() == [62.5]


def augmentation(sizes, spread=0.0, workload=None, floor=0.5, smoothing=1e9) -> Augmentation:
    return Augmentation(TABLE, sizes, spread, workload, floor, 2.0, smoothing, False)


def overlap_sum(cx, cy, r):
    """The grid's count in a square from (cx, cy), cell by cell."""
    label, rho = 0.0, 10
    for i in range(4):
        for j in range(4):
            width = min(cx + r, rho * i + rho) - max(cx, rho * i)
            height = min(cy + r, rho * j + rho) - max(cy, rho * j)
            label += max(width, 0) * max(height, 0) / rho**2 * NOISY[i, j]
    return label


def test_aligned_is_algorithm_1():
    """In units of 2 records and sides of 40 m."""
    sizes = query_sizes(5, 40, 4)
    training = aligned(augmentation(sizes), np.random.default_rng(0))
    assert training.squares.at.shape == (4, 16, 2)
    for row, r in enumerate(sizes):
        for column, (cx, cy) in enumerate((10 * i, 10 * j) for i in range(4) for j in range(4)):
            label = overlap_sum(cx, cy, r) / 2
            assert training.squares.labels[row, column] == pytest.approx(label, rel=1e-5, abs=1e-5)
            centre = [(cx + r / 2) / 40, (cy + r / 2) / 40]
            assert training.squares.at[row, column].tolist() == pytest.approx(centre)
    np.testing.assert_allclose(training.squares.weights, 1)


def test_aligned_for_networks_that_are_told_sizes():
    """One at every corner, from 10 to 20 m and from 20 to 30; labels are their own counts."""
    own = np.array([15.0, 25.0])
    given = augmentation(own, spread=5.0, smoothing=8.0)
    training = aligned(given, np.random.default_rng(0))
    assert training.squares.at.shape == (2, 16, 3)
    told = np.asarray(training.squares.at[..., 2], float)
    assert len(np.unique(told)) == 32
    size = own[:, None] + 5 * (2 * told - 1)
    for row in range(2):
        for column, (cx, cy) in enumerate((10 * i, 10 * j) for i in range(4) for j in range(4)):
            s, area = size[row, column], (size[row, column] / own[row]) ** 2
            count = overlap_sum(cx, cy, s) / 2
            assert training.squares.at[row, column, 0] == pytest.approx((cx + s / 2) / 40)
            assert training.squares.labels[row, column] == pytest.approx(count, rel=1e-4)
            assert training.squares.area[row, column] == pytest.approx(area, rel=1e-4)
            assert training.squares.side[row, column] == pytest.approx(s / 40, rel=1e-4)
            weight = 4 / max(count, 4)
            assert training.squares.weights[row, column] == pytest.approx(weight, rel=1e-4)


@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_aligned_weights_are_overlaps_and_what_weighs_nothing_is_left_out(floor):
    """w of Sec. 4.2 in units of its average, and the floor; 1 on average over the corners."""
    sizes = np.array([6.0, 15.0])
    given = augmentation(sizes, workload=WORKLOAD, floor=floor)
    training = aligned(given, np.random.default_rng(0))
    corners = Grid(CITY, 4).corners()
    most = 0
    for j, size in enumerate(sizes):
        w = overlaps(WORKLOAD, np.arange(0, 40, 10.0), size).ravel()
        expected = (w / w.mean() + floor) / (1 + floor)
        kept = expected > 0
        assert (w == 0).any()
        assert kept.all() == (floor > 0)
        count, most = int(training.count[j]), max(most, kept.sum())
        assert count == kept.sum()
        np.testing.assert_allclose(training.squares.weights[j, :count], expected[kept], rtol=1e-6)
        assert not training.squares.weights[j, count:].any()
        at = np.asarray(training.squares.at[j, :count], float) * 40 - size / 2
        np.testing.assert_allclose(at, corners[kept], atol=1e-4)
    assert training.squares.labels.shape == (2, most)


@given(st.floats(0.1, 50), st.floats(0, 50), st.integers(1, 30))
def test_query_sizes_lie_between_their_bounds(low, more, k):
    sizes = query_sizes(low, low + more, k)
    assert len(sizes) == k
    assert (np.diff(sizes) >= 0).all()
    assert low <= sizes[0] * (1 + 1e-12)
    assert sizes[-1] <= (low + more) * (1 + 1e-12)


def test_labels_are_cut_at_0_if_that_is_asked():
    """As in the paper's code; some counts of the noisy grid are negative."""
    sizes = query_sizes(5, 15, 2)
    plain = aligned(augmentation(sizes), np.random.default_rng(0)).squares.labels
    cut = aligned(
        Augmentation(TABLE, sizes, 0.0, None, 0.5, 2.0, 1e9, True), np.random.default_rng(0)
    ).squares.labels
    assert plain.min() < 0
    np.testing.assert_array_equal(cut, np.maximum(plain, 0))


WIDE = Region.around(lat=45, lon=7, side_m=100)


def by_definition(workload, at, size):
    """|{q' in Q_W : (c, r) and q' overlap}|, box by box."""
    return [
        [
            sum(
                x < cx + size and x + w > cx and y < cy + size and y + h > cy
                for x, y, w, h in zip(
                    workload.x, workload.y, workload.width, workload.height, strict=True
                )
            )
            for cy in at
        ]
        for cx in at
    ]


eighths = st.integers(-720, 1_520).map(lambda n: n / 8)  # their sums are exact


def boxes(number):
    """Few different coordinates: edges often touch."""
    box = st.tuples(number, number, number.map(abs), number.map(abs))
    return st.lists(box, max_size=12).map(lambda b: np.array(b, float).reshape(-1, 4).T)


@given(
    st.one_of(boxes(st.integers(-4, 9)), boxes(eighths)),
    st.lists(st.one_of(st.integers(-3, 9), eighths), min_size=1, max_size=5).map(sorted),
    st.sampled_from([1, 2, 3.5]),
)
def test_overlaps_are_those_of_the_definition(workload, at, size):
    workload = RangeQueries(WIDE, *workload)
    found = overlaps(workload, np.array(at, float), size)
    assert found.tolist() == by_definition(workload, at, size)


def test_points_are_drawn_in_proportion_to_positive_counts():
    """Of 50,000 points a cell gets its share, rounded up or down; the same for the same seed."""
    counts = np.array([[3.0, -5.0], [0.0, 4.0]])
    points = drawn_points(Grid(WIDE, 2), counts, seed=1)
    assert points is not None
    found = Grid(WIDE, 2).count(points).counts.ravel()
    np.testing.assert_allclose(found, 50_000 * np.array([3, 0, 0, 4]) / 7, atol=1)
    assert abs(points.xy[points.xy[:, 0] < 50].mean() - 25) < 1
    again = drawn_points(Grid(WIDE, 2), counts, seed=1)
    assert again is not None
    assert (points.xy == again.xy).all()
    other = drawn_points(Grid(WIDE, 2), counts, seed=2)
    assert other is not None
    assert (points.xy != other.xy).all()
    assert drawn_points(Grid(WIDE, 2), -counts[:1, :1] * np.ones((2, 2)), seed=1) is None
