import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.geometry.dyadic import hilbert_curve, runs_on_curve, square_of, squares_at

CITY = Region.around(lat=0, lon=0, side_m=13.2)


@given(st.integers(0, 24), st.integers(0, 2**32))
def test_numbers_are_columns_and_rows_with_their_bits_mixed(depth, seed):
    column, row = np.random.default_rng(seed).integers(0, 2**depth, (2, 20))
    middle = (np.stack([column, row], axis=1) + 0.5) * CITY.side_m / 2**depth
    number = square_of(Points(CITY, middle), depth)
    for c, r, got in zip(column.tolist(), row.tolist(), number.tolist(), strict=True):
        bits = [f"{c:024b}"[i] + f"{r:024b}"[i] for i in range(24)]
        assert got == int("".join(bits), 2)
    back = squares_at(number)
    assert (back[0] == column).all()
    assert (back[1] == row).all()


def test_the_edge_of_the_region_is_inside():
    last = np.nextafter(CITY.side_m, 0)
    assert square_of(Points(CITY, [[last, last]]), 24).tolist() == [4**24 - 1]
    with pytest.raises(InputError, match="from 0 to 24, not 25"):
        square_of(Points(CITY, [[0, 0]]), 25)


@given(st.floats(10, 200_000), st.integers(1, 24), st.integers(0, 2**32))
def test_places_at_edges_lie_in_the_square_that_the_edges_bound(side_m, depth, seed):
    """On an edge, and next to it on both sides, where a quotient may be rounded across it."""
    city = Region.around(lat=0, lon=0, side_m=side_m)
    line = np.random.default_rng(seed).integers(0, 2**depth, (20, 2))
    edge = line * (side_m / 2**depth)
    below, above = np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf)
    for xy, square in ((edge, line), (above, line), (below, line - 1)):
        inside = (square >= 0).all(axis=1)
        number = square_of(Points(city, xy[inside]), depth)
        assert np.stack(squares_at(number), axis=1).tolist() == square[inside].tolist()


@pytest.mark.parametrize("order", [0, 1, 2, 5, 10])
def test_every_cell_once_in_steps_of_one(order):
    column, row = hilbert_curve(order)
    m = 2**order
    assert np.array_equal(np.sort(column * m + row), np.arange(m * m))
    assert (np.abs(np.diff(column)) + np.abs(np.diff(row)) == 1).all()


def test_by_hand():
    #  5 6 9 10
    #  4 7 8 11
    #  3 2 13 12
    #  0 1 14 15
    place = np.empty((4, 4), int)
    place[hilbert_curve(2)] = np.arange(16)
    assert place.T[::-1].tolist() == [[5, 6, 9, 10], [4, 7, 8, 11], [3, 2, 13, 12], [0, 1, 14, 15]]


@pytest.mark.parametrize("level", range(9))
def test_runs_fill_rectangles(level):
    curve = np.stack(hilbert_curve(4))
    starts = np.arange(0, 256, 2**level)
    x0, y0, x1, y1 = runs_on_curve(4, starts, np.full(starts.size, level))
    cells = curve.reshape(2, -1, 2**level)
    assert ((x1 - x0) * (y1 - y0) == 2**level).all()
    assert (cells.min(axis=2) == [x0, y0]).all()
    assert (cells.max(axis=2) == np.array([x1, y1]) - 1).all()


@pytest.mark.parametrize("order", [-1, 14])
def test_orders_that_cannot_be_are_refused(order):
    with pytest.raises(InputError, match="order must be from 0 to 13"):
        hilbert_curve(order)
