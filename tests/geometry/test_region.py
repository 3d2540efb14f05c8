import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from pyproj import Geod

from snhkit.errors import InputError
from snhkit.geometry import Region

GEOD = Geod(ellps="WGS84")
latitudes, longitudes = st.floats(-85, 85), st.floats(-180, 360)
# PROJ 9.5 inverts the projection to 1.6 mm at 21 degrees, later ones better.
ROUND_TRIP_M = 2e-3
shares = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20)


@given(latitudes, longitudes, st.floats(1, 200_000), shares)
def test_round_trip_within_two_millimetres(lat, lon, side_m, share):
    region = Region.around(lat=lat, lon=lon, side_m=side_m)
    xy = np.array(share) * side_m
    back = region.to_xy(*region.to_latlon(xy))
    assert abs(back - xy).max() < ROUND_TRIP_M


@given(latitudes, longitudes, shares, shares)
def test_distances_within_a_metre_across_50_km(lat, lon, a, b):
    region = Region.around(lat=lat, lon=lon, side_m=50_000)
    start, end = np.array(a[:1]) * 50_000, np.array(b[:1]) * 50_000
    (lat0, lon0), (lat1, lon1) = region.to_latlon(start), region.to_latlon(end)
    metres = GEOD.inv(lon0, lat0, lon1, lat1)[2]
    assert abs(metres - np.hypot(*(end - start).T)).max() < 1


@given(latitudes, longitudes, st.floats(0, 40_000), st.floats(0, 40_000))
def test_equal_boxes_have_equal_areas_on_the_ground(lat, lon, x, y):
    region = Region.around(lat=lat, lon=lon, side_m=50_000)
    t = np.linspace(0, 10_000, 50, endpoint=False)
    low, high = np.zeros_like(t), np.full_like(t, 10_000)
    border = np.stack(
        [np.concatenate([t, high, 10_000 - t, low]), np.concatenate([low, t, high, 10_000 - t])]
    ).T
    south_north, west_east = region.to_latlon(border + np.array([x, y]))
    area, _ = GEOD.polygon_area_perimeter(west_east, south_north)
    assert area == pytest.approx(1e8, rel=1e-6)


def test_the_corner_is_lower_left_and_x_runs_east():
    region = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    lat, lon = region.to_latlon([[0, 0], [13_200, 0], [0, 13_200]])
    assert lon[0] < -122.4337 < lon[1]
    assert lat[0] < 37.7637 < lat[2]
    # A second of latitude is about 30.83 m here: counted by hand, 6,600 m are 0.0595 degrees.
    assert lat[2] - lat[0] == pytest.approx(2 * 0.0595, abs=1e-4)


@pytest.mark.parametrize("lon", [179.99, -179.99, 180, -180, 180.01, 359.9])
def test_the_antimeridian_is_no_edge(lon):
    region = Region.around(lat=-17, lon=lon, side_m=20_000)
    xy = np.random.default_rng(0).uniform(0, 20_000, (1_000, 2))
    lat, east = region.to_latlon(xy)
    assert abs(east - lon).max() < 0.1  # no jump of a turn
    for turn in (-360, 0):
        assert abs(region.to_xy(lat, east + turn) - xy).max() < ROUND_TRIP_M
    south, west, north, far = region.bounds
    assert south < lat.min() <= lat.max() < north
    assert west < east.min() <= east.max() < far
    assert far - west < 0.2


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("given_values", "message"),
    [
        ({"lat": 86}, "beyond 85 degrees"),
        ({"lat": -122.4, "lon": 37.7}, "swapped"),
        ({"lat": float("nan")}, "lat must be a finite number"),
        ({"lon": float("inf")}, "lon must be a finite number"),
        ({"lat": "37.7"}, "lat must be a finite number, not '37.7'"),
        ({"lon": 361}, "lon must lie"),
        ({"side_m": 0}, "side_m must lie"),
        ({"side_m": -5}, "side_m must lie"),
        ({"side_m": 200_001}, "side_m must lie"),
    ],
)
def test_refusals_say_what_is_wrong(given_values, message):
    with pytest.raises(InputError, match=message):
        Region.around(**{"lat": 0, "lon": 0, "side_m": 100} | given_values)


def test_contains_is_half_open():
    region = Region.around(lat=0, lon=0, side_m=10)
    xy = np.array([[0, 0], [10, 5], [5, 10], [np.nextafter(10, 0), 0], [-1e-9, 5], [np.nan, 5]])
    assert region.contains(xy).tolist() == [True, False, False, True, False, False]


def test_the_ring_is_closed_and_anticlockwise():
    lat, lon = Region.around(lat=60, lon=10, side_m=50_000).ring()
    assert (lat[0], lon[0]) == (lat[-1], lon[-1])
    area, _ = GEOD.polygon_area_perimeter(lon, lat)
    assert area == pytest.approx(50_000**2, rel=1e-4)


def test_to_dict_makes_the_same_region():
    region = Region.around(lat=1, lon=2, side_m=3)
    assert Region(**region.to_dict()) == region


class TestFromPublicPlaces:
    BOUNDS = (-122.52, 37.70, -122.35, 37.83)

    def test_the_square_holds_the_box_and_is_the_smallest(self):
        region = Region.from_bounds(*self.BOUNDS)
        west, south, east, north = self.BOUNDS
        x, y = np.meshgrid(np.linspace(west, east, 50), np.linspace(south, north, 50))
        xy = region.to_xy(y, x)
        assert ((xy >= 0) & (xy <= region.side_m)).all()
        slack = np.min([xy.min(), region.side_m - xy.max()])
        assert 0 <= slack < 2

    def test_a_box_may_cross_the_antimeridian(self):
        fiji = Region.from_bounds(179.9, -17, -179.9, -16.8)
        assert fiji.lon == pytest.approx(-180)
        assert fiji.side_m == pytest.approx(22_200, rel=0.01)

    def test_a_border_is_covered_in_any_crs(self):
        border = gpd.GeoSeries([shapely.box(*self.BOUNDS)], crs=4326)
        wanted = Region.from_bounds(*self.BOUNDS)
        assert Region.covering(border) == Region.covering(border[0]) == wanted
        projected = Region.covering(border.to_crs(26910))
        assert projected.side_m == pytest.approx(wanted.side_m, rel=0.02)

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            (gpd.GeoSeries([shapely.Point(0, 0)], crs=4326), "public polygons.* not Point"),
            (gpd.GeoSeries([shapely.box(0, 0, 1, 1)]), r"set_crs\(4326\)"),
            ([1, 2], "not nothing"),
            (shapely.box(0, 0, 9, 9), "side_m must lie in"),
        ],
    )
    def test_what_is_no_public_polygon_is_refused(self, given, told):
        with pytest.raises(InputError, match=told):
            Region.covering(given)

    def test_bounds_out_of_order_are_refused(self):
        with pytest.raises(InputError, match="the order is west, south, east, north"):
            Region.from_bounds(37.83, -122.35, 37.7, -122.52)
