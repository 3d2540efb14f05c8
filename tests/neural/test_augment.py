import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.geometry.grid import SummedArea
from snhkit.neural.augment import aligned, query_sizes, scattered
from snhkit.neural.workload import average_overlaps, overlaps

CITY = Region.around(lat=45, lon=7, side_m=40)
NOISY = np.random.default_rng(1).integers(-3, 20, (4, 4))
TABLE = SummedArea(Grid(CITY, 4), NOISY)
WORKLOAD = RangeQueries(CITY, [3, 11, 30], [2, 13, 25], [4, 9, 20], [4, 12, 5])


def test_query_sizes_are_the_papers():
    """R of Alg. 1, line 1, for l = 25, u = 100, k = 8, by hand."""
    golden = [29.6875, 39.0625, 48.4375, 57.8125, 67.1875, 76.5625, 85.9375, 95.3125]
    assert query_sizes(25, 100, 8).tolist() == golden
    assert query_sizes(25, 100, 1).tolist() == [62.5]


def test_aligned_is_algorithm_1():
    sizes = query_sizes(5, 40, 4)
    training = aligned(TABLE, sizes, None, 0.5)
    rho, cells = 10, [(10 * i, 10 * j) for i in range(4) for j in range(4)]
    for row, r in enumerate(sizes):
        for column, (cx, cy) in enumerate(cells):
            label = 0.0
            for i in range(4):
                for j in range(4):
                    width = min(cx + r, rho * i + rho) - max(cx, rho * i)
                    height = min(cy + r, rho * j + rho) - max(cy, rho * j)
                    label += max(width, 0) * max(height, 0) / rho**2 * NOISY[i, j]
            assert training.labels[row, column] == pytest.approx(label)
        assert training.corners[row].tolist() == [list(cell) for cell in cells]
    assert (training.weights == 1).all()


@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_aligned_weights_are_overlaps(floor):
    """w of Sec. 4.2 in units of its average, and the floor; 1 on average over the region."""
    sizes = np.array([6.0, 15.0])
    training = aligned(TABLE, sizes, WORKLOAD, floor)
    for size, corners, weights in zip(sizes, training.corners, training.weights, strict=True):
        w = overlaps(WORKLOAD, corners, size) / average_overlaps(WORKLOAD, size)
        np.testing.assert_allclose(weights, (w + floor) / (1 + floor))
        assert (w == 0).any()
        assert (weights == 0).any() == (floor == 0)


def test_scattered_squares_lie_inside_and_are_labelled_by_the_grid():
    sizes = np.array([6.0, 15.0])
    training = scattered(TABLE, sizes, WORKLOAD, 0.5, 200, np.random.default_rng(2))
    assert training.corners.shape == (2, 200, 2)
    assert training.labels.shape == training.weights.shape == (2, 200)
    for size, corners, labels in zip(sizes, training.corners, training.labels, strict=True):
        assert ((corners >= 0) & (corners <= 40 - size)).all()
        squares = RangeQueries(CITY, *corners.T, np.full(200, size), np.full(200, size))
        np.testing.assert_allclose(labels, TABLE.sums(squares))


def test_without_a_workload_all_squares_weigh_1_and_lie_evenly():
    training = scattered(TABLE, np.array([10.0]), None, 0.5, 20_000, np.random.default_rng(3))
    np.testing.assert_allclose(training.weights, 1)
    # 5.3 standard errors: false alarms below 1e-6
    assert abs(training.corners.mean() - 15) < 5.3 * 30 / np.sqrt(12 * 40_000)


@pytest.mark.parametrize("floor", [0.0, 0.5])
@pytest.mark.parametrize(
    "of_interest", [lambda c: np.ones(len(c)), lambda c: c[:, 0], lambda c: (c[:, 1] < 9) * 1.0]
)
def test_scattered_weights_make_up_for_the_uneven_draw(floor, of_interest):
    """The weighted mean is the one over uniform squares weighted as in the paper.

    Against sums over a lattice of 0.05 m; within 6 standard errors, false alarms below 1e-8.
    """
    size, step = 15.0, 0.05
    lattice = np.arange(step / 2, 40 - size, step)
    even = np.stack(np.meshgrid(lattice, lattice, indexing="ij"), -1).reshape(-1, 2)
    w = overlaps(WORKLOAD, even, size) / average_overlaps(WORKLOAD, size)
    expected = np.mean((w + floor) / (1 + floor) * of_interest(even))
    drawn = scattered(TABLE, np.array([size]), WORKLOAD, floor, 40_000, np.random.default_rng(4))
    parts = drawn.weights[0] * of_interest(drawn.corners[0])
    assert abs(parts.mean() - expected) < 6 * parts.std() / 200


@given(st.floats(0.1, 50), st.floats(0, 50), st.integers(1, 30))
def test_query_sizes_lie_between_their_bounds(low, more, k):
    sizes = query_sizes(low, low + more, k)
    assert len(sizes) == k
    assert (np.diff(sizes) >= 0).all()
    assert low <= sizes[0] * (1 + 1e-12)
    assert sizes[-1] <= (low + more) * (1 + 1e-12)
