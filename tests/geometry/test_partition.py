import tracemalloc

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Points, RangeQueries, Region
from snhkit.geometry.dyadic import numbers_at, square_of
from snhkit.geometry.partition import CellLookup, DensityTable

CITY = Region.around(lat=0, lon=0, side_m=13.2)  # thirds and sevenths of it are not exact


def cut(rng: np.random.Generator, cells: int) -> Partition:
    """Rectangles made by cutting one of them in two, at random, again and again."""
    boxes = [(0.0, 0.0, CITY.side_m, CITY.side_m)]
    while len(boxes) < cells:
        x0, y0, x1, y1 = boxes.pop(rng.integers(len(boxes)))
        share = rng.uniform(0.2, 0.8)
        x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
        if rng.integers(2):
            boxes += [(x0, y0, x, y1), (x, y0, x1, y1)]
        else:
            boxes += [(x0, y0, x1, y), (x0, y, x1, y1)]
    return Partition(CITY, *np.transpose(boxes))


def edges(cells: Partition) -> list[np.ndarray]:
    return [a.copy() for a in (cells.x0, cells.y0, cells.x1, cells.y1)]


@given(st.integers(0, 2**32), st.integers(2, 20), st.integers(0, 3), st.booleans())
def test_one_edge_moved_by_one_bit_is_no_partition(seed, count, which, up):
    rng = np.random.default_rng(seed)
    moved = edges(cut(rng, count))
    row = rng.integers(count)
    moved[which][row] = np.nextafter(moved[which][row], np.inf if up else -np.inf)
    with pytest.raises(InputError, match="gap, overlap, or reach out"):
        Partition(CITY, *moved)


def test_a_cell_twice_or_missing_is_no_partition():
    cells = np.stack(edges(Partition.split(Grid(CITY, 3), np.full((3, 3), 2))))
    twice = np.concatenate([cells, cells[:, :1]], axis=1)
    # The area is right, but one cell lies over another and leaves a gap.
    over = cells.copy()
    over[:, 0] = over[:, 5]
    for wrong in (twice, cells[:, 1:], over):
        with pytest.raises(InputError, match="gap, overlap"):
            Partition(CITY, *wrong)


def test_cells_without_area_and_edges_that_do_not_match_are_refused():
    side = CITY.side_m
    for x1 in ([0.0, side], [np.nan, side]):
        with pytest.raises(InputError, match=r"cell 0 .counted from 0. has a width or height that"):
            Partition(CITY, [0, 0], [0, 0], x1, [side, side])
    for x1 in ([side, side], side, []):
        with pytest.raises(InputError, match="equal lengths"):
            Partition(CITY, [0], [0], x1, [side])


def test_what_was_proven_cannot_be_changed():
    mine = np.array([0.0])
    cells = Partition(CITY, mine, [0], [CITY.side_m], [CITY.side_m])
    mine[0] = 5
    assert cells.x0[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        cells.x0[0] = 5


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_each_point_is_counted_once_in_the_cell_that_has_it(seed, count):
    rng = np.random.default_rng(seed)
    cells = cut(rng, count)
    on_corners = np.stack([cells.x0, cells.y0], axis=1)
    xy = np.concatenate([on_corners, rng.uniform(0, CITY.side_m, (50, 2))])
    histogram = cells.count(Points(CITY, xy))
    x, y = xy[:, :1], xy[:, 1:]
    inside = (cells.x0 <= x) & (x < cells.x1) & (cells.y0 <= y) & (y < cells.y1)
    assert (inside.sum(axis=1) == 1).all()
    assert (histogram.counts == inside.sum(axis=0)).all()
    assert histogram.partition is cells


def test_points_of_another_region_are_refused():
    other = Region.around(lat=1, lon=0, side_m=13.2)
    with pytest.raises(InputError, match="another region"):
        cut(np.random.default_rng(0), 3).count(Points(other, [[1, 1]]))


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_a_split_grid_counts_like_finer_grids(seed, m):
    rng = np.random.default_rng(seed)
    grid = Grid(CITY, m)
    pieces = rng.integers(1, 9, (m, m))
    cells = Partition.split(grid, pieces)
    assert len(cells) == (pieces**2).sum()
    points = Points(CITY, rng.uniform(0, CITY.side_m, (100, 2)))
    owner = np.repeat(np.arange(m * m), pieces.ravel() ** 2)
    sums = np.bincount(owner, cells.count(points).counts, minlength=m * m)
    assert (sums == grid.count(points).counts.ravel()).all()


def test_a_split_cell_is_cut_in_columns_of_rows():
    cells = Partition.split(Grid(CITY, 1), np.array([[2]]))
    half = CITY.side_m / 2
    assert cells.x0.tolist() == [0, 0, half, half]
    assert cells.y0.tolist() == [0, half, 0, half]


@pytest.mark.parametrize("pieces", [np.ones((2, 3), int), np.zeros((2, 2), int)])
def test_a_grid_is_split_into_whole_pieces(pieces):
    with pytest.raises(InputError, match=r"whole numbers from 1, in the shape \(2, 2\)"):
        Partition.split(Grid(CITY, 2), pieces)


def test_dyadic_squares_of_different_depths_fit():
    depth = np.array([1, 1, 1, 2, 2, 2, 2])
    column, row = np.array([[0, 0, 1, 2, 2, 3, 3], [0, 1, 0, 2, 3, 2, 3]])
    cells = Partition.dyadic(CITY, depth, column, row)
    assert cells.areas * 16 / CITY.side_m**2 == pytest.approx([4, 4, 4, 1, 1, 1, 1])
    with pytest.raises(InputError, match="gap"):
        Partition.dyadic(CITY, depth[1:], column[1:], row[1:])
    with pytest.raises(InputError, match="depths must be from 0"):
        Partition.dyadic(CITY, depth + 30, column, row)


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
    cells = Partition.split(Grid(CITY, 10), rng.integers(1, 20, (10, 10)))
    assert len(cells) > 10_000
    values = rng.integers(0, 9, len(cells))
    table = DensityTable(cells, values)
    q = RangeQueries.sample(CITY, 10_000, (0.01, 9))
    tracemalloc.start()
    sums = table.sums(q)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 26 * 2**20  # a table of all pairs would take 800 MB
    np.testing.assert_allclose(sums[-3:], by_area(cells, values, q[-3:]), rtol=1e-8)


LARGE = Region.around(lat=0, lon=0, side_m=13_200)


def places(cells, seed):
    rng = np.random.default_rng(seed)
    edges = np.stack([rng.choice(cells.x0, 500), rng.choice(cells.y0, 500)], axis=1)
    beside = np.nextafter(edges, 0)
    return np.concatenate([edges, beside, rng.random((500, 2)) * LARGE.side_m])


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(0, 2**32))
def test_every_place_lies_in_the_cell_that_counts_it(m, seed):
    pieces = np.random.default_rng(seed).integers(1, 30, (m, m))
    cells = Partition.split(Grid(LARGE, m), pieces)
    xy = places(cells, seed)
    found = np.bincount(CellLookup(cells).of(xy), minlength=len(cells))
    assert (found == cells.count(Points(LARGE, xy)).counts).all()


@given(st.integers(0, 14), st.sampled_from([13_200.0, 7.1, 199_999.9]), st.integers(0, 2**32))
def test_squares_grids_and_partitions_agree_on_edges(depth, side_m, seed):
    city = Region.around(lat=0, lon=0, side_m=side_m)
    rng = np.random.default_rng(seed)
    xy = rng.integers(0, 1 << depth, (300, 2)) * (side_m / (1 << depth))
    points = Points(city, np.concatenate([xy, np.nextafter(xy, 0)]))
    number = square_of(points, depth)
    if depth <= 12:
        grid = Grid(city, 1 << depth)
        column, row = np.divmod(grid.cell_numbers(points.xy), grid.m)
        at = (column, row)
    else:
        edges = side_m * (np.arange(1 << depth) / (1 << depth))
        at = tuple(np.searchsorted(edges, axis, "right") - 1 for axis in points.xy.T)
    assert (number == numbers_at(*at)).all()
