"""Traces: who fits clues, counted by hand and on an invented city."""

import numpy as np
import pytest

from snhkit.data import synthetic_points
from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.teaching import Traces, invented_hours

CITY = Region.around(lat=45, lon=7, side_m=400)
# Person 0 and 1 share two points; person 2 is elsewhere.
XY = [[10, 10], [110, 10], [310, 10], [10, 10], [110, 10], [210, 210], [310, 310]]
USER, HOURS = [0, 0, 0, 1, 1, 1, 2], np.array([8, 9, 20, 8, 9, 20, 8])


def test_who_fits_is_what_one_counts_by_hand():
    traces = Traces(Points(CITY, XY, USER), HOURS, cell_m=100, hours_wide=1)
    fits = [traces.who_fits(traces.clues_of(0, k)).tolist() for k in (0, 3)]
    assert fits == [[0, 1, 2], [0]]
    assert traces.who_fits(traces.clues_of(2, 1)).tolist() == [2]
    assert traces.people(3).tolist() == [0, 1]
    assert len({tuple(traces.clues_of(0, 1, seed)) for seed in range(30)}) == 3


def test_rounding_hides_and_more_clues_tell_more():
    points = synthetic_points("fargo", n=6_000)
    hours = invented_hours(points)
    fine, coarse = (Traces(points, hours, cell_m, wide) for cell_m, wide in ((200, 1), (3_000, 24)))
    shares = [fine.unicity(known, people=100) for known in (1, 2, 4)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.8
    assert coarse.unicity(2, people=100) < shares[1]
    parts = np.histogram(hours % 24, (0, 7, 20, 24))[0] / 6_000  # 7, 4 · 13 and 2 · 4 of 67
    assert parts == pytest.approx([0.104, 0.776, 0.119], abs=0.02)


def test_a_trace_needs_users_and_as_many_hours():
    with pytest.raises(InputError, match="no users"):
        Traces(Points(CITY, XY), HOURS)
    with pytest.raises(InputError, match="hours must have one value for each of the 7 points"):
        Traces(Points(CITY, XY, USER), HOURS[:3])
    with pytest.raises(InputError, match="has 1 different points, fewer than known = 4;"):
        Traces(Points(CITY, XY, USER), HOURS).clues_of(2, 4)
