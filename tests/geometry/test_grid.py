import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from shapely import area, box, intersection

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, SummedArea, exact_counts
from snhkit.geometry.grid import block_starts, block_sums, numbered, spread

CITY = Region.around(lat=0, lon=0, side_m=64)
unit = st.floats(0, 1, exclude_max=True)


@st.composite
def boxes(draw, low=-20.0, high=80.0):
    q = draw(st.integers(1, 8))
    corner = arrays(float, q, elements=st.floats(low, high))
    side = arrays(float, q, elements=st.floats(0, high - low))
    return RangeQueries(CITY, draw(corner), draw(corner), draw(side), draw(side))


@given(st.integers(1, 40), st.lists(st.tuples(unit, unit), max_size=60), st.floats(0.1, 1e5))
def test_every_point_is_in_one_cell(m, share, side_m):
    city = Region.around(lat=0, lon=0, side_m=side_m)
    xy = np.array(share).reshape(-1, 2) * side_m
    xy = np.minimum(xy, np.nextafter(side_m, 0))
    counts = Grid(city, m).count(Points(city, xy)).counts
    assert counts.shape == (m, m)
    assert counts.dtype == np.int64
    assert counts.sum() == len(xy)


@given(st.sampled_from([1, 2, 8, 32]), arrays(np.int64, (40, 2), elements=st.integers(0, 127)))
def test_whole_cells_hold_the_exact_counts(m, halves):
    # Half metres, of which many lie on the edges of cells and on each other.
    points, grid = Points(CITY, halves / 2), Grid(CITY, m)
    histogram = grid.count(points)
    corner, side = grid.corners(), np.full(m * m, grid.cell_m)
    cells = RangeQueries(CITY, corner[:, 0], corner[:, 1], side, side)
    exact = exact_counts(points, cells)
    assert (histogram.counts.ravel() == exact).all()
    assert SummedArea(grid, histogram.counts).sums(cells) == pytest.approx(exact, abs=1e-9)


def test_a_point_on_an_edge_lies_in_the_cell_that_begins_there():
    grid = Grid(Region.around(lat=0, lon=0, side_m=13_200), 445)
    corners = grid.corners()
    assert (grid.count(Points(grid.region, corners)).counts == 1).all()


@given(st.integers(1, 7), boxes(), st.data())
def test_sums_take_part_of_a_cell_for_part_of_its_area(m, queries, data):
    values = data.draw(arrays(np.int64, (m, m), elements=st.integers(-50, 1_000)))
    grid = Grid(CITY, m)
    x, y = grid.corners().T
    cells = box(x, y, x + grid.cell_m, y + grid.cell_m)
    asked = box(queries.x, queries.y, queries.x + queries.width, queries.y + queries.height)
    shared = area(intersection(asked[:, None], cells)) / grid.cell_m**2
    expected = (shared * values.ravel()).sum(axis=1)
    assert SummedArea(grid, values).sums(queries) == pytest.approx(expected, abs=1e-6)


@given(st.integers(1, 9), boxes(), st.booleans(), st.integers(0, 2**32))
def test_a_box_without_area_holds_exactly_nothing(m, queries, thin, seed):
    values = np.random.default_rng(seed).normal(size=(m, m)) * 1e5
    size = [0 * queries.width, queries.height][:: 1 if thin else -1]
    flat = RangeQueries(CITY, queries.x, queries.y, *size)
    assert (SummedArea(Grid(CITY, m), values).sums(flat) == 0).all()


def test_more_boxes_than_a_chunk_and_none():
    rng = np.random.default_rng(0)
    table = SummedArea(Grid(CITY, 16), rng.integers(0, 99, (16, 16)))
    many = RangeQueries(CITY, *rng.uniform(0, 64, (2, 140_000)), *rng.uniform(0, 9, (2, 140_000)))
    sums = table.sums(many)
    assert sums.shape == (140_000,)
    for at in (0, 65_535, 65_536, 131_072, 139_999):
        assert sums[at] == table.sums(many[at : at + 1])[0]
    assert table.sums(many[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("side_m", "cell_m", "m"),
    [(100, 30, 4), (13_200, 30, 440), (13_200, 50, 264), (0.3, 0.1, 3), (100, 1_000, 1)],
)
def test_cells_are_as_wide_as_possible(side_m, cell_m, m):
    assert Grid.of_width(Region.around(lat=0, lon=0, side_m=side_m), cell_m).m == m


@given(st.floats(1, 1e5), st.floats(0.001, 2))
def test_cells_are_no_wider_than_asked(side_m, share):
    grid = Grid.of_width(Region.around(lat=0, lon=0, side_m=side_m), side_m * share)
    assert grid.cell_m <= side_m * share * (1 + 1e-9)
    assert grid.m == 1 or side_m / (grid.m - 1) > side_m * share


@pytest.mark.parametrize("m", [0, -1, 8_193])
def test_sizes_that_cannot_be_are_refused(m):
    with pytest.raises(InputError, match="m must be a whole number from 1 to 8,192"):
        Grid(CITY, m)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("m", [2.5, True])
def test_sizes_are_whole_numbers(m):
    with pytest.raises(InputError):
        Grid(CITY, m)


@pytest.mark.parametrize("cell_m", [0, -3, float("nan"), float("inf"), 1e-300])
def test_widths_that_cannot_be_are_refused(cell_m):
    with pytest.raises(InputError):
        Grid.of_width(CITY, cell_m)


def test_another_region_is_refused():
    other = Region.around(lat=1, lon=0, side_m=64)
    with pytest.raises(InputError, match="another region"):
        Grid(CITY, 2).count(Points(other, [[1, 1]]))
    with pytest.raises(InputError, match="another region"):
        SummedArea(Grid(CITY, 2), np.zeros((2, 2))).sums(RangeQueries(other, [1], [1], [1], [1]))


def test_values_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"shape \(2, 2\), not \(2, 3\)"):
        SummedArea(Grid(CITY, 2), np.zeros((2, 3)))


def test_a_histogram_shows_no_count():
    assert "12345" not in repr(Grid(CITY, 1).count(Points(CITY, np.ones((12_345, 2)))))


@given(st.integers(1, 6), st.data())
def test_merged_cells_are_a_partition_again(m, data):
    xy = data.draw(arrays(float, (20, 2), elements=st.floats(0, 63)))
    points, grid = Points(CITY, xy), Grid(CITY, m)
    group = data.draw(arrays(np.int64, (m, m), elements=st.integers(0, 5)))
    four = grid.count(points)
    merged = four.merged(group)
    by_hand = [int(four.counts[group == g].sum()) for g in range(group.max() + 1)]
    assert merged.counts.tolist() == by_hand
    assert merged.counts.dtype == np.int64
    assert merged.merged(np.zeros(len(by_hand), np.int64)).counts.tolist() == [20]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "group", [np.zeros((2, 3), int), np.zeros(4, int), np.zeros((2, 2)), -np.eye(2, dtype=int)]
)
def test_a_cell_without_a_group_is_refused(group):
    with pytest.raises(InputError, match="for each cell"):
        Grid(CITY, 2).count(Points(CITY, [[1, 1]])).merged(group)


def test_cells_that_are_too_narrow_are_refused_with_the_number_needed():
    with pytest.raises(InputError, match=r"cell_m = 0\.001 .* into 64,000 cells"):
        Grid.of_width(CITY, 0.001)


@pytest.mark.parametrize(("m", "blocks"), [(6, 2), (7, 3), (5, 5), (4, 1)])
def test_sums_over_blocks_and_back(m, blocks):
    values = np.random.default_rng(m).normal(size=(m, m))
    first = block_starts(m, blocks)
    ends = [*first[1:], m]
    expected = [
        [values[a:b, c:d].sum() for c, d in zip(first, ends, strict=True)]
        for a, b in zip(first, ends, strict=True)
    ]
    sums = block_sums(values, first)
    np.testing.assert_allclose(sums, expected)
    cells = np.diff(first, append=m)
    assert cells.max() - cells.min() <= 1
    again = spread(sums, cells)
    assert again.shape == (m, m)
    assert (again[np.ix_(first, first)] == sums).all()
    np.testing.assert_allclose(block_sums(again, first), sums * np.outer(cells, cells))


def test_truth_values_are_counted():
    assert block_sums(np.ones((3, 3), bool), np.array([0])).tolist() == [[9]]


def test_numbered_counts_within_groups():
    group, nth = numbered(np.array([2, 0, 3]))
    assert group.tolist() == [0, 0, 2, 2, 2]
    assert nth.tolist() == [0, 1, 0, 1, 2]
