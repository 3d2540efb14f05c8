import tracemalloc

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries, Region
from snhkit.geometry.partition import DensityTable

CITY = Region.around(lat=0, lon=0, side_m=13.2)


def by_area(cells: Partition, values: np.ndarray, q: RangeQueries) -> np.ndarray:
    squares = shapely.box(cells.x0, cells.y0, cells.x1, cells.y1)
    asked = shapely.box(q.x, q.y, q.x + q.width, q.y + q.height)
    shared = shapely.area(shapely.intersection(asked[:, None], squares))
    return (shared / cells.areas * values).sum(axis=1)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 20))
def test_part_of_a_cell_counts_as_its_share(seed, m, count):
    rng = np.random.default_rng(seed)
    cells = Partition.split(Grid(CITY, m), rng.integers(1, 5, (m, m)))
    values = rng.normal(0, 10, len(cells))
    low, size = rng.uniform(-3, 14, (2, count)), rng.uniform(0, 15, (2, count))
    # Half of the boxes begin and end on edges of cells.
    on_edge = rng.random(count) < 0.5
    pick = rng.integers(len(cells), size=(2, count))
    low = np.where(on_edge, [cells.x0[pick[0]], cells.y0[pick[0]]], low)
    high = np.where(on_edge, [cells.x1[pick[1]], cells.y1[pick[1]]], low + size)
    q = RangeQueries(CITY, *low, *np.maximum(high - low, 0))
    got = DensityTable(cells, values).sums(q)
    np.testing.assert_allclose(got, by_area(cells, values, q), atol=1e-9)


def test_a_cell_holds_its_value_and_the_region_all():
    rng = np.random.default_rng(2)
    cells = Partition.split(Grid(CITY, 10), rng.integers(1, 30, (10, 10)))
    values = rng.integers(-5, 1_000, len(cells))
    table = DensityTable(cells, values)
    np.testing.assert_allclose(table.sums(cells.boxes()), values, atol=1e-6)
    everything = RangeQueries(CITY, [-1], [-1], [99], [99])
    np.testing.assert_allclose(table.sums(everything), [values.sum()], rtol=1e-12)


def test_no_area_counts_exactly_nothing():
    rng = np.random.default_rng(3)
    cells = Partition.split(Grid(CITY, 5), rng.integers(1, 9, (5, 5)))
    table = DensityTable(cells, rng.normal(0, 1e6, len(cells)))
    low, size = rng.uniform(0, 13, (2, 200)), rng.uniform(0, 13, 200)
    none = np.zeros(200)
    for width, height in ((size, none), (none, size)):
        assert (table.sums(RangeQueries(CITY, *low, width, height)) == 0).all()
    assert (table.sums(RangeQueries(CITY, low[0] - 30, low[1], size, size)) == 0).all()


def test_a_crowd_in_one_spot_does_not_blur_the_rest():
    """A million in 80 cm of a 13 km city, and boxes around it that hold a few."""
    city = Region.around(lat=0, lon=0, side_m=13_200)
    depth = np.repeat(np.arange(1, 15), 3)
    column, row = np.tile([[0, 1, 1], [1, 0, 1]], 14)
    deepest = (np.append(a, b) for a, b in ((depth, 14), (column, 0), (row, 0)))
    cells = Partition.dyadic(city, *deepest)
    values = np.append(np.full(42, 3.0), 1e6)
    got = DensityTable(cells, values).sums(cells.boxes())
    np.testing.assert_allclose(got, values, atol=0.05)


def test_other_regions_and_other_lengths_are_refused():
    cells = Partition.split(Grid(CITY, 2), np.ones((2, 2), int))
    with pytest.raises(InputError, match=r"shape \(4,\), not \(3,\)"):
        DensityTable(cells, np.ones(3))
    other = Region.around(lat=1, lon=0, side_m=13.2)
    with pytest.raises(InputError, match="another region"):
        DensityTable(cells, np.ones(4)).sums(RangeQueries(other, [0], [0], [1], [1]))


def test_many_boxes_over_many_cells_in_bounded_memory():
    rng = np.random.default_rng(0)
    cells = Partition.split(Grid(CITY, 32), rng.integers(1, 20, (32, 32)))
    assert len(cells) > 100_000
    values = rng.integers(0, 9, len(cells))
    table = DensityTable(cells, values)
    q = RangeQueries.sample(CITY, 100_000, (0.01, 9))
    tracemalloc.start()
    sums = table.sums(q)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 256 * 2**20  # a table of all pairs would take 80 GB
    np.testing.assert_allclose(sums[-3:], by_area(cells, values, q[-3:]), rtol=1e-8)
