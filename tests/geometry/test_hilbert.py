import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry.dyadic import hilbert_curve, runs_on_curve


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
