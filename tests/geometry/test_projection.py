"""The polynomial errs by less than it says, everywhere in its box."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit.geometry import Region
from snhkit.geometry.projection import approximation

# PROJ takes an angle of 1e-9 degrees for 0, and no polynomial follows such a jump of 0.1 mm.
regions = st.builds(
    Region,
    lat=st.floats(-85, 85).map(lambda degrees: round(degrees, 6)),
    lon=st.floats(-180, 360).map(lambda degrees: round(degrees, 6)),
    side_m=st.sampled_from([10.0, 900.0, 13_200.0, 60_000.0, 200_000.0]),
)


@settings(max_examples=40)
@given(regions, st.integers(0, 2**32))
def test_the_polynomial_errs_by_less_than_it_says(region, seed):
    near = approximation(region)
    assert near is not None
    assert near.error_m < 1e-3
    rng = np.random.default_rng(seed)
    lat, lon = (rng.uniform(a, b, 2_000) for a, b in zip(near.low, near.high, strict=True))
    x, y = near.axes(lat, lon)
    found = np.abs(region.to_xy(lat, lon) - np.stack([x, y], axis=1)).max()
    assert 8 * found < near.error_m  # the bound has a margin of 16, and 1e-6 m for rounding


def test_no_place_outside_the_box_is_in_the_region():
    for region in (Region(85, 10, 200_000), Region(-37, 179.99, 50_000), Region(0, 0, 200_000)):
        near = approximation(region)
        assert near is not None
        lat, lon = region.ring(points_per_side=5_000)
        assert near.low[0] < lat.min()
        assert lat.max() < near.high[0]
        assert near.low[1] < lon.min() or near.low[1] == -180
        assert lon.max() < near.high[1] or near.high[1] == 360
