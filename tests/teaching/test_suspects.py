"""The suspects are as guilty as FAULTS says, and the map has the fault that was planted."""

import numpy as np
import pytest

from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import ReplayableEntropy, audited_epsilon
from snhkit.teaching import FAULTS, check, faulty_map, suspects

RUNS = 600


@pytest.mark.parametrize("name", FAULTS)
def test_an_audit_on_the_right_neighbours_convicts_the_guilty_only(name):
    mechanism = suspects(1.0, ReplayableEntropy(3))[name]
    bounds = [audited_epsilon(mechanism, low, low + 1, RUNS) for low in (0, 17)]
    assert (max(bounds) > 1) == bool(FAULTS[name])


def test_the_map_answers_0_in_empty_land_and_noise_elsewhere():
    city = Region.around(lat=45, lon=7, side_m=400)
    grid = Grid(city, 2)
    records = Points(city, [[10, 10]] * 50)
    maps = np.array([faulty_map(records, grid, 1, ReplayableEntropy(k)) for k in range(50)])
    assert np.ptp(maps[:, 0, 0]) > 0
    assert not maps[:, 1, 1].any()
    assert check("09-neighbour", (1, 1), counts=grid.count(records).counts)
    assert "50 records" in repr(check("09-neighbour", (0, 0), counts=grid.count(records).counts))


def test_naming_the_innocent_or_too_few_is_not_right():
    assert "A is ε-private" in repr(check("09-guilty", {"A", "B"}))
    assert "0 and 1" in repr(check("09-guilty", {"B", "E"}))
    assert check("09-guilty", {"b", "c", "e"})
