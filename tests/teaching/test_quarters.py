"""Quarters of invented cities lie where public check-ins are, whatever the records."""

import numpy as np

import snhkit as snh
from snhkit.geometry import Grid
from snhkit.teaching import quarter


def test_the_busiest_place_is_in_the_middle_or_as_far_away_as_is_asked():
    for shift in ((0, 0), (100, -300)):
        _, public = quarter("fargo", 1_000, side_m=2_100, shift_m=shift)
        counts = Grid(public.region, 21).count(public).counts  # cells of 100 m
        busiest = (np.array(np.unravel_index(counts.argmax(), counts.shape)) + 0.5) * 100
        assert np.abs(busiest - (1_050 - np.array(shift))).max() < 150


def test_records_are_those_of_the_city_that_lie_in_the_square():
    records, public = quarter("fargo", 5_000, side_m=2_000)
    city = snh.synthetic_points("fargo", 5_000)
    again, _ = quarter("fargo", 5_000, side_m=2_000)
    region = records.region
    degrees = city.region.to_latlon(city.xy)
    assert region == public.region
    assert region.side_m == 2_000
    assert np.array_equal(records.xy, again.xy)
    assert len(records) == region.contains(region.to_xy(*degrees)).sum()
    assert 0 < len(records) < len(city)
