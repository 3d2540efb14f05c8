from typing import ClassVar

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely import Polygon, box

from snhkit.errors import InputError, OutsideWarning
from snhkit.geometry import Points, RangeQueries, Region, exact_counts

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("x", np.nan, "a finite number"),
        ("y", np.inf, "a finite number"),
        ("width", -1, "not negative"),
        ("height", np.nan, "not negative"),
    ],
)
def test_the_first_bad_box_is_named(name, value, wanted):
    columns = {column: np.ones(4) for column in ("x", "y", "width", "height")}
    columns[name][[2, 3]] = value
    with pytest.raises(InputError, match=f"box 2: {name} = {value}.*{wanted}"):
        RangeQueries(CITY, **columns)


def test_columns_must_be_as_long():
    with pytest.raises(InputError, match=r"equal lengths, not x \(2,\), y \(1,\)"):
        RangeQueries(CITY, [1, 2], [1], [1], [1])


def test_some_of_the_boxes():
    boxes = RangeQueries(CITY, [1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, 1])
    assert boxes[boxes.x > 1].y.tolist() == [5, 6]
    assert boxes[np.array([2, 0])].width.tolist() == [9, 7]
    assert [len(part) for part in boxes.chunks(2)] == [2, 1]
    assert np.concatenate([part.x for part in boxes.chunks(2)]).tolist() == [1, 2, 3]


def test_upper_edges():
    boxes = RangeQueries(CITY, [1, 2], [4, 5], [7, 8], [1, 0])
    assert (boxes.x1.tolist(), boxes.y1.tolist()) == ([8, 10], [5, 5])


def _micrometres(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda x: round(x, 6))  # GEOS cannot divide by 1e-308


@given(st.lists(st.tuples(*[_micrometres(-20_000, 20_000)] * 2, *[_micrometres(0, 40_000)] * 2)))
def test_what_is_clipped_away_holds_no_point(rows):
    boxes = RangeQueries(CITY, *np.array(rows).reshape(-1, 4).T)
    inside = boxes.clipped()
    edges = np.stack([inside.x, inside.y, inside.x1, inside.y1])
    assert ((edges >= 0) & (edges <= CITY.side_m * (1 + 1e-15))).all()
    asked = shapely.box(boxes.x, boxes.y, boxes.x1, boxes.y1)
    shared = shapely.area(shapely.intersection(asked, shapely.box(0, 0, 13_200, 13_200)))
    np.testing.assert_allclose(inside.width * inside.height, shared, rtol=1e-9, atol=1e-3)


def test_squares_lie_around_their_centres():
    boxes = RangeQueries.squares(CITY, [[10, 20], [30, 40]], [2, 4])
    assert (boxes.x.tolist(), boxes.y.tolist()) == ([9, 28], [19, 38])
    assert boxes.width.tolist() == boxes.height.tolist() == [2, 4]


class TestSample:
    points = Points(CITY, np.random.default_rng(1).uniform(0, 13_200, (50, 2)))

    @pytest.mark.parametrize("near", [CITY, points])
    def test_a_seed_draws_the_same_squares(self, near):
        same = [RangeQueries.sample(near, 100, (25, 100), seed=4) for _ in range(2)]
        other = RangeQueries.sample(near, 100, (25, 100), seed=5)
        for name in ("x", "y", "width", "height"):
            assert (getattr(same[0], name) == getattr(same[1], name)).all()
            assert (getattr(same[0], name) != getattr(other, name)).any()

    @given(st.floats(1, 50), st.floats(50, 13_200), st.integers(0, 2**32))
    def test_sides_keep_to_their_range_and_squares_to_the_region(self, low, high, seed):
        boxes = RangeQueries.sample(CITY, 50, (low, high), seed=seed)
        assert (boxes.width == boxes.height).all()
        assert ((boxes.width >= low) & (boxes.width <= high)).all()
        assert (np.stack([boxes.x, boxes.y]) >= 0).all()
        assert (np.stack([boxes.x, boxes.y]) + boxes.width <= 13_200 + 1e-9).all()

    def test_squares_are_centred_on_points_all_of_which_occur(self):
        boxes = RangeQueries.sample(self.points, 2_000, (25, 100))
        centres = np.stack([boxes.x + boxes.width / 2, boxes.y + boxes.height / 2], axis=1)
        apart = abs(centres[:, None] - self.points.xy).max(axis=2)
        assert (apart.min(axis=1) < 1e-9).all()
        assert len(np.unique(apart.argmin(axis=1))) == 50
        assert (exact_counts(self.points, boxes) >= 1).all()

    def test_none(self):
        assert len(RangeQueries.sample(CITY, 0)) == 0
        assert len(RangeQueries.sample(Points(CITY, []), 0)) == 0

    @pytest.mark.parametrize(
        ("near", "count", "side_m", "message"),
        [
            (CITY, -1, (25, 100), "whole number"),
            (CITY, 1, (0, 100), "0 < low <= high"),
            (CITY, 1, (100, 25), "0 < low <= high"),
            (CITY, 1, (25, 13_201), "<= 13200 metres"),
            (CITY, 1, (np.nan, 100), "0 < low <= high"),
            (Points(CITY, []), 1, (25, 100), "no points"),
        ],
    )
    def test_refusals(self, near, count, side_m, message):
        with pytest.raises(InputError, match=message):
            RangeQueries.sample(near, count, side_m)


class TestDegrees:
    def test_a_small_box_comes_back_within_a_decimetre(self):
        boxes = RangeQueries.from_degrees(CITY, [37.76], [-122.44], [37.761], [-122.438])
        lat, lon = np.moveaxis(boxes.corners_in_degrees()[0], -1, 0)
        # 0.1 m is about 9e-7 degrees of latitude.
        assert lat == pytest.approx([37.76, 37.76, 37.761, 37.761], abs=9e-7)
        assert lon == pytest.approx([-122.44, -122.438, -122.438, -122.44], abs=1.1e-6)

    @pytest.mark.parametrize(
        ("west", "east"), [(179.98, -179.98), (179.98, 180.02), (539.98, 180.02)]
    )
    @pytest.mark.parametrize("centre", [179.99, -179.99])
    def test_a_box_across_the_antimeridian(self, west, east, centre):
        region = Region.around(lat=-17, lon=centre, side_m=20_000)
        boxes = RangeQueries.from_degrees(region, -17.01, west, -16.99, east)
        # 0.04 degrees of longitude at 17 degrees south: 111,320 cos(17) 0.04, by hand.
        assert boxes.width == pytest.approx(4_260, rel=2e-3)
        assert boxes.height == pytest.approx(2_213, rel=2e-3)
        middle = region.to_xy(-17, 180)
        assert boxes.x + boxes.width / 2 == pytest.approx(middle[0], abs=0.1)
        assert boxes.y + boxes.height / 2 == pytest.approx(middle[1], abs=1)

    @pytest.mark.parametrize(
        ("south", "west", "north", "east"),
        [
            (0, -122.49, 80, -122.40),
            (37.70, -160, 37.83, -122.40),
            (37.70, -122.49, 90, -20),
            (-90, -180, 90, 180),
        ],
    )
    def test_a_box_far_larger_than_the_region_cuts_it_as_its_part_inside_does(
        self, south, west, north, east
    ):
        x, y = np.random.default_rng(0).uniform(0, 13_200, (2, 5_000))
        points = Points(CITY, np.stack([x, y], axis=1))
        lat, lon = CITY.to_latlon(points.xy)
        truth = ((lat >= south) & (lat < north) & (lon >= west) & (lon < east)).sum()
        boxes = RangeQueries.from_degrees(CITY, south, west, north, east)
        assert exact_counts(points, boxes) == pytest.approx(truth, abs=10)

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"south": 38}, "box 1: south = 38, must be no greater than north"),
            ({"south": -91}, r"box 1: south = -91, must be a latitude in \[-90, 90\]"),
            ({"north": np.nan}, "box 1: north = nan"),
            ({"west": -500}, "box 1: west = -500, must be a longitude"),
            ({"east": np.inf}, "box 1: east = inf"),
            ({"east": -123}, "box 1: west = -122.44, must be at most 180 degrees west of east"),
        ],
    )
    def test_the_first_bad_row_is_named(self, bad, message):
        good = {"south": 37.76, "west": -122.44, "north": 37.77, "east": -122.43}
        columns = {name: [value, bad.get(name, value)] for name, value in good.items()}
        with pytest.raises(InputError, match=message):
            RangeQueries.from_degrees(CITY, **columns)

    def test_boxes_elsewhere_are_warned_of(self):
        inside = [37.76, -122.44, 37.77, -122.43]
        elsewhere = [[37.76, -121, 37.77, -120], [-37.77, -122.44, -37.76, -122.43]]
        with pytest.warns(OutsideWarning, match=r"2 of 3 boxes .* \(boxes 1, 2, counted from 0\)"):
            boxes = RangeQueries.from_degrees(CITY, *np.transpose([inside, *elsewhere]))
        assert (boxes.clipped().width * boxes.clipped().height > 0).tolist() == [True, False, False]
        with pytest.warns(OutsideWarning, match="2 of 2 boxes"):
            RangeQueries.from_degrees(CITY, *np.transpose(elsewhere))

    def test_swapped_boxes_are_refused(self):
        paris = Region.around(lat=48.86, lon=2.35, side_m=10_000)
        with pytest.raises(InputError, match="are latitude and longitude swapped"):
            RangeQueries.from_degrees(paris, south=2.34, west=48.85, north=2.36, east=48.87)
        turned = RangeQueries.from_degrees(paris, south=48.85, west=2.34, north=48.87, east=2.36)
        assert turned.width > 1_000

    def test_columns_must_be_as_long(self):
        with pytest.raises(InputError, match="equal lengths, not 2, 1, 1, 1"):
            RangeQueries.from_degrees(CITY, [37.7, 37.7], [-122.5], [37.8], [-122.4])


class TestGeoDataFrame:
    def test_boxes_in_degrees_and_in_metres_agree(self):
        degrees = gpd.GeoDataFrame(
            geometry=[box(-122.44, 37.76, -122.43, 37.77), box(-122.45, 37.75, -122.44, 37.76)],
            crs=4326,
            index=[7, 3],
        )
        straight = RangeQueries.from_degrees(
            CITY, [37.76, 37.75], [-122.44, -122.45], [37.77, 37.76], [-122.43, -122.44]
        )
        for frame in (degrees, degrees.to_crs(3857)):
            boxes = RangeQueries.of(CITY, frame)
            for name in ("x", "y", "width", "height"):
                assert getattr(boxes, name) == pytest.approx(getattr(straight, name), abs=1e-3)

    def test_boxes_on_the_regions_own_plane_come_back(self):
        frame = gpd.GeoDataFrame(geometry=[box(100, -300, 200, -50)], crs=CITY.crs)
        boxes = RangeQueries.of(CITY, frame)
        assert boxes.x == pytest.approx(6_700, abs=1)
        assert boxes.y == pytest.approx(6_300, abs=1)
        assert (boxes.width, boxes.height) == (pytest.approx(100, abs=1), pytest.approx(250, abs=1))

    def test_without_a_crs_it_is_refused(self):
        with pytest.raises(InputError, match=r"set_crs\(4326\)"):
            RangeQueries.of(CITY, gpd.GeoDataFrame(geometry=[box(0, 0, 1, 1)]))

    def test_a_shape_that_is_no_box_is_named(self):
        triangle = Polygon([(-122.44, 37.76), (-122.43, 37.76), (-122.43, 37.77)])
        shapes = [box(-122.44, 37.76, -122.43, 37.77), triangle]
        with pytest.raises(InputError, match=r"row 1 .counted from 0.: the .* is not a rect"):
            RangeQueries.of(CITY, gpd.GeoDataFrame(geometry=shapes, crs=4326))


class TestAsPeopleHaveThem:
    """The same two boxes as a frame, bounds, tuples and shapely boxes."""

    PLACE = Region.around(lat=37.76, lon=-122.43, side_m=2_000)
    BOUNDS: ClassVar = [(-122.43, 37.76, -122.429, 37.761), (-122.432, 37.758, -122.43, 37.76)]

    @pytest.mark.parametrize("kind", ["sides", "bounds", "tuples", "array", "shapes", "geo frame"])
    def test_all_are_the_same(self, kind):
        shapes = [shapely.box(*bounds) for bounds in self.BOUNDS]
        bounds = pd.DataFrame(self.BOUNDS, columns=["minx", "miny", "maxx", "maxy"])
        given = {
            "sides": pd.DataFrame(self.BOUNDS, columns=[" West", "south", "EAST", "north"]),
            "bounds": bounds,
            "tuples": self.BOUNDS,
            "array": np.array(self.BOUNDS),
            "shapes": shapes,
            "geo frame": gpd.GeoSeries(shapes, crs=4326),
        }[kind]
        found = RangeQueries.of(self.PLACE, given)
        w, s, e, n = np.array(self.BOUNDS).T
        wanted = RangeQueries.from_degrees(self.PLACE, s, w, n, e)
        for name in ("x", "y", "width", "height"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))

    def test_one_box_is_enough(self):
        assert len(RangeQueries.of(self.PLACE, self.BOUNDS[0])) == 1
        assert len(RangeQueries.of(self.PLACE, shapely.box(*self.BOUNDS[0]))) == 1

    def test_others_are_refused(self):
        with pytest.raises(InputError, match=r"tuples \(west, south, east, north\)"):
            RangeQueries.of(self.PLACE, [1, 2])
        with pytest.raises(InputError, match="no column north; it has south, west, east"):
            RangeQueries.of(self.PLACE, pd.DataFrame({"south": [], "west": [], "east": []}))
