import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit.geometry import Grid, Partition, Points, Region
from snhkit.geometry.dyadic import numbers_at, square_of
from snhkit.geometry.partition import CellLookup

CITY = Region.around(lat=0, lon=0, side_m=13_200)


def places(cells, seed):
    rng = np.random.default_rng(seed)
    edges = np.stack([rng.choice(cells.x0, 500), rng.choice(cells.y0, 500)], axis=1)
    beside = np.nextafter(edges, 0)
    return np.concatenate([edges, beside, rng.random((500, 2)) * CITY.side_m])


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(0, 2**32))
def test_every_place_lies_in_the_cell_that_counts_it(m, seed):
    pieces = np.random.default_rng(seed).integers(1, 30, (m, m))
    cells = Partition.split(Grid(CITY, m), pieces)
    xy = places(cells, seed)
    found = np.bincount(CellLookup(cells).of(xy), minlength=len(cells))
    assert (found == cells.count(Points(CITY, xy)).counts).all()


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
