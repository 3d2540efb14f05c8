import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry import RangeQueries, Region
from snhkit.neural.networks.workload import overlaps

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
