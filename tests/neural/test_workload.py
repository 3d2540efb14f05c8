import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from snhkit.geometry import RangeQueries, Region
from snhkit.neural.workload import average_overlaps, overlaps, popular_corners

CITY = Region.around(lat=45, lon=7, side_m=100)
SIZE = 20
# Multiples of 10, so that overlaps are constant inside each cell of 10 m; one sticks out.
WORKLOAD = RangeQueries(CITY, [10, 30, -10], [10, 0, 70], [20, 40, 20], [10, 30, 50])
CELLS = np.stack(np.meshgrid(*[np.arange(5.0, 80, 10)] * 2, indexing="ij"), -1).reshape(-1, 2)


def by_definition(workload, corners, size):
    """|{q' in Q_W : (c, r) and q' overlap}|, box by box."""
    return [
        sum(
            x < cx + size and x + w > cx and y < cy + size and y + h > cy
            for x, y, w, h in zip(
                workload.x, workload.y, workload.width, workload.height, strict=True
            )
        )
        for cx, cy in corners
    ]


def boxes(number):
    """Few different coordinates: edges often touch."""
    box = st.tuples(number, number, number.map(abs), number.map(abs))
    return st.lists(box, max_size=12).map(lambda b: np.array(b, float).reshape(-1, 4).T)


@given(
    st.one_of(boxes(st.integers(-4, 9)), boxes(st.floats(-90, 190))),
    st.lists(st.tuples(st.integers(-3, 9), st.floats(-3, 99)), max_size=8),
    st.sampled_from([1, 2, 3.5]),
)
def test_overlaps_are_those_of_the_definition(workload, corners, size):
    workload = RangeQueries(CITY, *workload)
    corners = np.array(corners, float).reshape(-1, 2)
    assert overlaps(workload, corners, size).tolist() == by_definition(workload, corners, size)


def test_the_average_is_that_over_the_region():
    mean = np.mean(by_definition(WORKLOAD, CELLS, SIZE))
    assert average_overlaps(WORKLOAD, SIZE) == pytest.approx(mean)


def test_popular_corners_follow_the_overlaps():
    """Chi-square over the cells of 10 m; false alarms below 1e-6 (and the seed is fixed)."""
    drawn = popular_corners(WORKLOAD, SIZE, 50_000, np.random.default_rng(0))
    assert ((drawn >= 0) & (drawn <= 80)).all()
    cell = np.minimum(drawn // 10, 7).astype(int)
    seen = np.bincount(cell @ [8, 1], minlength=64)
    share = np.array(by_definition(WORKLOAD, CELLS, SIZE), float)
    assert (share == 0).any()
    assert (seen[share == 0] == 0).all()
    expected = share[share > 0] / share.sum() * 50_000
    assert chisquare(seen[share > 0], expected).pvalue > 1e-6
    uneven = drawn % 10  # uniform inside cells
    halves = [(uneven[:, axis] < 5).sum() for axis in (0, 1)]
    assert all(chisquare([h, 50_000 - h]).pvalue > 1e-6 for h in halves)
