import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.neural.networks.augment import drawn_points, overlaps

CITY = Region.around(lat=45, lon=7, side_m=100)


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
    workload = RangeQueries(CITY, *workload)
    found = overlaps(workload, np.array(at, float), size)
    assert found.tolist() == by_definition(workload, at, size)


def test_points_are_drawn_in_proportion_to_positive_counts():
    """Of 50,000 points a cell gets its share, rounded up or down; the same for the same seed."""
    counts = np.array([[3.0, -5.0], [0.0, 4.0]])
    points = drawn_points(Grid(CITY, 2), counts, seed=1)
    assert points is not None
    found = Grid(CITY, 2).count(points).counts.ravel()
    np.testing.assert_allclose(found, 50_000 * np.array([3, 0, 0, 4]) / 7, atol=1)
    assert abs(points.xy[points.xy[:, 0] < 50].mean() - 25) < 1
    again = drawn_points(Grid(CITY, 2), counts, seed=1)
    assert again is not None
    assert (points.xy == again.xy).all()
    assert drawn_points(Grid(CITY, 2), -counts[:1, :1] * np.ones((2, 2)), seed=1) is None
