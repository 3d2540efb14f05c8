"""Streamed counts of a grid are those of the exact projection, to the last record."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit.data.counting import counters
from snhkit.data.counting.counters import GridCounter
from snhkit.geometry import Grid, Points, Region

regions = st.builds(
    Region,
    lat=st.floats(-85, 85),
    lon=st.floats(-180, 360),
    side_m=st.sampled_from([10.0, 900.0, 13_200.0, 60_000.0, 200_000.0]),
)


def places(region, grid, seed, n=4_000):
    """Degrees on edges of cells, a hair beside them, anywhere near, and a turn away."""
    rng = np.random.default_rng(seed)
    edges = rng.choice(grid.edges(), (n, 2)) + rng.choice([0, 1e-9, -1e-9, 1e-6, -1e-6], (n, 2))
    near = (rng.random((n, 2)) * 1.1 - 0.05) * region.side_m
    lat, lon = region.to_latlon(np.concatenate([edges, near]))
    lon = lon + rng.choice([-360, 0, 0, 360], lon.size)
    lat[::97], lon[::89] = np.nan, np.nan
    return lat, lon


def exact(grid, lat, lon):
    usable = (np.abs(lat) <= 90) & (lon >= -180) & (lon <= 360)
    xy = grid.region.to_xy(lat[usable], lon[usable])
    points = Points(grid.region, xy[grid.region.contains(xy)])
    return grid.count(points).counts.ravel(), len(points), np.flatnonzero(~usable)


@settings(max_examples=40)
@given(regions, st.sampled_from([1, 2, 7, 64, 445]), st.integers(0, 2**32))
def test_counts_are_those_of_the_exact_projection(region, m, seed):
    grid = Grid(region, m)
    lat, lon = places(region, grid, seed)
    counter = GridCounter(grid)
    inside, unusable = counter.add(lat, lon)
    counts, n, bad = exact(grid, lat, lon)
    assert (counter.result() == counts).all()
    assert (inside, unusable.tolist()) == (n, bad.tolist())


def test_a_grid_too_fine_for_the_polynomial_is_projected_exactly():
    region = Region.around(37, -122, 10)  # cells of 1.2 mm
    assert GridCounter(Grid(region, 2048))._near is not None
    tiny = Region.around(37, -122, 0.01)
    assert GridCounter(Grid(tiny, 2048))._near is None
    lat, lon = places(tiny, Grid(tiny, 64), 0)
    counter = GridCounter(Grid(tiny, 2048))
    counter.add(lat, lon)
    assert (counter.result() == exact(Grid(tiny, 2048), lat, lon)[0]).all()


def test_counts_do_not_overflow(monkeypatch):
    monkeypatch.setattr(counters, "_FLUSH", 10)
    grid = Grid(Region.around(0, 0, 100), 2)
    a, b = GridCounter(grid), GridCounter(grid)
    for counter in (a, b, b):
        counter.add(np.zeros(9), np.zeros(9))
    assert b._large is not None
    a.merge(b.result())
    assert a._large is not None
    assert a.result().dtype == np.int64
    assert a.result().tolist() == [0, 0, 0, 27]


def test_merged_counts_do_not_overflow():
    """Each of the counts fits into 32 bits, but their sum does not."""
    grid = Grid(Region.around(0, 0, 100), 1)
    for many in (2**30, 2**29, 2**30 + 2**20):
        counter = GridCounter(grid)
        for _ in range(9):
            counter.merge(np.array([many], np.int32))
        assert counter.result().tolist() == [9 * many]
