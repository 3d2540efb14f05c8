"""Releases of districts: own districts as counted, other boxes and polygons by area."""

from fractions import Fraction

import geopandas as gpd
import numpy as np
import pytest
import shapely
import shapely.affinity
from hypothesis import given
from hypothesis import strategies as st

import snhkit as snh
from snhkit.districts.districts import Districts
from snhkit.errors import InputError, ReleaseFileError
from snhkit.geometry import Grid, Points, RangeQueries, Region
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Release
from snhkit.release.polygon_model import OVERLAP_TOLERANCE, PolygonModel, PolygonPartition

CITY = Region.around(lat=45, lon=7, side_m=400)
SHAPES = np.array([shapely.box(0, 0, 100, 200), shapely.box(100, 0, 200, 200)])
SPEND = Spend(Fraction(1), "counts of 3 cells", "parallel")
FRAME = gpd.GeoDataFrame(
    {"ward": ["west", "east"]},
    geometry=gpd.GeoSeries(SHAPES, crs=CITY.crs).translate(-200, -200).to_numpy(),
    crs=CITY.crs,
)


def model(values=(40, 80, 120), variance=9.0) -> PolygonModel:
    partition = PolygonPartition(CITY, ["west", "east"], SHAPES)
    return PolygonModel(partition, np.array(values), variance)


def model_of(release: Release) -> PolygonModel:
    assert isinstance(release.model, PolygonModel)
    return release.model


def around(model: PolygonModel) -> Release:
    return Release(
        "test", {}, Fraction(1), PrivacyUnit("record", None), None, False, (SPEND,), model
    )


def polygons(*shapes, crs: object = 4326) -> gpd.GeoSeries:
    return gpd.GeoSeries(shapes, crs=CITY.crs).translate(-200, -200).to_crs(crs)


class TestAnswers:
    def test_own_districts_are_answered_as_counted(self):
        release = around(model())
        for frame in (FRAME, FRAME.to_crs(4326), FRAME.to_crs(32632)):
            assert release.answer(frame).tolist() == [40, 80]
            assert release.noise_sd(frame).tolist() == [3, 3]
        assert release.answer(FRAME.iloc[::-1]).tolist() == [80, 40]

    def test_a_shape_a_little_larger_than_a_district_is_not_the_district(self):
        larger = polygons(shapely.box(0, 0, 100.2, 200), crs=CITY.crs)
        assert around(model()).answer(larger) == pytest.approx([40 + 80 * 0.002])

    def test_by_hand(self):
        """A quarter of each district and a twelfth of what lies outside; and the outside alone."""
        release = around(model())
        boxes = RangeQueries(CITY, [50, 200, 0], [100, 200, 0], [100, 200, 400], [200, 200, 400])
        assert release.answer(boxes).tolist() == pytest.approx([10 + 20 + 10, 40, 240])
        wanted = [9 * (1 / 16 + 1 / 16 + 1 / 144), 9 / 9, 9 * 3]
        assert release.noise_sd(boxes) ** 2 == pytest.approx(wanted)
        shapes = polygons(*shapely.box(boxes.x, boxes.y, boxes.x1, boxes.y1))
        assert release.answer(shapes) == pytest.approx(release.answer(boxes), abs=1e-3)
        np.testing.assert_allclose(release.noise_sd(shapes), release.noise_sd(boxes), rtol=1e-4)

    def test_triangles_count_by_their_area(self):
        triangle = shapely.Polygon([(0, 0), (100, 0), (100, 200)])
        assert around(model()).answer(polygons(triangle)) == pytest.approx([20], abs=1e-3)

    def test_many_boxes_are_answered_in_parts(self):
        boxes = RangeQueries.sample(CITY, 3_000, (5, 300))
        answers = around(model()).answer(boxes)
        np.testing.assert_allclose(
            answers[[0, 700, 2_999]], around(model()).answer(boxes[np.array([0, 700, 2_999])])
        )

    @given(st.integers(0, 2**32), st.integers(1, 20))
    def test_tiles_add_up_to_all_counts(self, seed, m):
        places = shapely.MultiPoint(np.random.default_rng(seed).uniform(0, 400, (8, 2)))
        square = shapely.box(0, 0, 400, 400)
        cells = shapely.voronoi_polygons(places, extend_to=square)
        shapes = shapely.intersection(np.array(cells.geoms), square)[:5]
        partition = PolygonPartition(CITY, list("abcde"), shapes)
        values = np.random.default_rng(seed).integers(-9, 99, 6)
        release = around(PolygonModel(partition, values, 1.0))
        assert release.answer(Grid(CITY, m).boxes()).sum() == pytest.approx(values.sum(), abs=0.01)

    def test_where_districts_cover_the_region_the_outside_answers_nothing(self):
        partition = PolygonPartition(CITY, ["all"], np.array([shapely.box(0, 0, 400, 400)]))
        release = around(PolygonModel(partition, np.array([50, 7]), 1.0))
        whole = RangeQueries(CITY, [0, 0], [0, 0], [400, 200], [400, 400])
        assert release.answer(whole).tolist() == [50, 25]
        assert release.noise_sd(whole).tolist() == [1, 0.5]


class TestRelease:
    @pytest.fixture
    def release(self, records) -> Release:
        data = snh.PrivateDataset(records, budget=1, unit="record")
        return data.release(snh.Tessellation(FRAME, label="ward"), epsilon="0.5")

    def test_the_card_says_what_is_outside(self, release):
        card = release.card()
        error = release.noise_sd(FRAME)[0]
        assert card["Settings"] == "districts = 2"
        assert card["Districts"] == f"2, each a noisy count with standard error {error:.3g}"
        assert card["Outside"].startswith(
            f"{model_of(release).outside:,} records lie in no district"
        )
        assert "counts of 3 cells, in parallel" in card["Paid for"]
        assert len(release.estimate(["west", "east"])) == 2

    def test_no_n_is_bought(self, release):
        assert release.n is None
        assert release.epsilon == Fraction(1, 2)
        assert [str(spend) for spend in release.spends] == [
            "0.5 for counts of 3 cells, in parallel"
        ]

    def test_without_noise_counts_are_the_records(self, released, records):
        release = released(records, snh.Tessellation(FRAME), 10**5)
        x, y = records.xy.T
        wanted = [((x <= 100) & (y <= 200)).sum(), ((x > 100) & (x <= 200) & (y <= 200)).sum()]
        assert release.answer(FRAME).tolist() == wanted
        assert model_of(release).outside == 300 - sum(wanted)

    def test_maps_show_it(self, release):
        assert release.model.cells().m >= 4
        frame = release.cells(100)
        assert len(frame) == 16
        assert release.cells().geometry.is_valid.all()


class TestFile:
    @pytest.fixture
    def path(self, tmp_path):
        return around(model()).save(tmp_path / "wards.snh")

    def test_labels_shapes_and_counts_come_back(self, path):
        again = snh.load(path)
        assert model_of(again).partition.labels == ("west", "east")
        assert again.answer(FRAME).tolist() == [40, 80]
        assert model_of(again).outside == 120

    @pytest.mark.parametrize(
        ("arrays", "settings", "told"),
        [
            ({"counts": np.array([1, 2])}, {}, "counts must be 3 whole numbers"),
            ({"counts": np.array([1.0, 2, 3])}, {}, "counts must be 3 whole numbers"),
            ({"counts": None}, {}, "damaged: KeyError"),
            ({"rings": None}, {}, "districts must have the arrays"),
            ({"coordinates": np.full((10, 2), np.nan)}, {}, "not finite"),
            ({"rings": np.array([0, 5, 2**62])}, {}, "array rings of the districts is damaged"),
            ({}, {"labels": ["a"]}, "counts must be 2 whole numbers"),
            ({}, {"labels": ["a", "a"]}, "occurs more than once"),
            ({}, {"labels": [1, 2]}, "must be a list of texts"),
            ({}, {"labels": "ab"}, "must be a list of texts"),
            ({}, {"variance": -1}, "variance of the noise must be a finite number"),
            ({}, {"variance": None}, "damaged"),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_what_is_damaged_is_told(self, altered, arrays, settings, told):
        missing = [name for name, array in arrays.items() if array is None]
        with pytest.raises(ReleaseFileError, match=told):
            snh.load(altered(around(model()).to_bytes(), settings, arrays, missing))

    def test_labels_cannot_steer_a_terminal(self, tmp_path):
        partition = PolygonPartition(CITY, ["\x1b[2J"], SHAPES[:1])
        path = around(PolygonModel(partition, np.array([1, 2]), 1.0)).save(tmp_path / "a.snh")
        assert "\x1b" not in repr(snh.load(path))


def test_districts_in_two_regions(records):
    """The same declaration is cut anew for each region."""
    wide = Region.around(lat=45, lon=7, side_m=1_000)
    tessellation = snh.Tessellation(FRAME)
    for region in (CITY, wide):
        points = snh.Points(region, records.xy)
        data = snh.PrivateDataset(points, budget=1, unit="record", n_public=True)
        release = data.release(tessellation, epsilon=1)
        assert release.region == region
        np.testing.assert_allclose(model_of(release).partition.areas[:2], 20_000, rtol=1e-4)
    far = snh.Points(Region.around(lat=50, lon=7, side_m=400), [[1, 1]])
    data = snh.PrivateDataset(far, budget=1, unit="record", n_public=True)
    with pytest.raises(InputError, match="no district lies in the region"):
        data.release(tessellation, epsilon=1)
    assert data.ledger.entries == ()


TWO = np.array([shapely.box(0, 0, 100, 200), shapely.box(100, 0, 200, 200)])


def of(*shapes) -> PolygonPartition:
    return PolygonPartition(CITY, [str(k) for k in range(len(shapes))], np.array(shapes))


def declared(*shapes, crs=4326) -> Districts:
    """Districts in the region's metres, as their owner would declare them in another CRS."""
    return Districts.of(gpd.GeoSeries(shapes, crs=CITY.crs).translate(-200, -200).to_crs(crs))


@st.composite
def tessellations(draw) -> np.ndarray:
    """Random polygons that touch, some left out; their corners are on whole metres or not."""
    seed, count = draw(st.integers(0, 2**32)), draw(st.integers(2, 12))
    places = np.random.default_rng(seed).uniform(0, 400, (count, 2))
    if draw(st.booleans()):
        places = np.unique(places.round(-1), axis=0)
    square = shapely.box(0, 0, 400, 400)
    cells = shapely.voronoi_polygons(shapely.MultiPoint(places), extend_to=square)
    shapes = shapely.intersection(np.array(cells.geoms), square)
    shapes = shapes[shapely.get_type_id(shapes) == shapely.GeometryType.POLYGON]
    return shapes[: max(1, len(shapes) - draw(st.integers(0, 3)))]


class TestEachRecordIsInOneCell:
    @given(tessellations(), st.integers(0, 2**32))
    def test_cells_add_up_to_n_on_borders_and_corners_too(self, shapes, seed):
        districts = of(*shapes)
        rng = np.random.default_rng(seed)
        corners = shapely.get_coordinates(shapes)
        halfway = (corners[1:] + corners[:-1]) / 2
        xy = np.concatenate([corners, halfway, rng.uniform(0, 400, (50, 2))])
        xy = xy[CITY.contains(xy)]
        cell = districts.assign(Points(CITY, xy))
        assert cell.shape == (len(xy),)
        assert ((cell >= 0) & (cell <= len(shapes))).all()
        counts = districts.count(Points(CITY, xy)).counts
        assert counts.shape == (len(shapes) + 1,)
        assert counts.sum() == len(xy)
        assert counts.tolist() == np.bincount(cell, minlength=len(shapes) + 1).tolist()

    @given(tessellations(), st.integers(0, 2**32))
    def test_the_cell_is_the_first_polygon_that_meets_the_record(self, shapes, seed):
        districts = of(*shapes)
        xy = np.random.default_rng(seed).uniform(0, 400, (30, 2)).round(-1) % 400
        meets = shapely.intersects(districts.shapes, shapely.points(xy)[:, None])
        wanted = np.where(meets.any(axis=1), meets.argmax(axis=1), len(shapes))
        assert districts.assign(Points(CITY, xy)).tolist() == wanted.tolist()

    @given(tessellations(), st.integers(0, 2**32))
    def test_one_record_changes_one_count_by_one(self, shapes, seed):
        districts = of(*shapes)
        xy = np.random.default_rng(seed).uniform(0, 400, (20, 2))
        with_it = districts.count(Points(CITY, xy)).counts
        without = districts.count(Points(CITY, xy[1:])).counts
        assert sorted(with_it - without) == [0] * len(shapes) + [1]

    def test_a_border_belongs_to_the_first_by_order(self):
        border = Points(CITY, [[100.0, 50.0]])
        assert of(*TWO).count(border).counts.tolist() == [1, 0, 0]
        assert of(*TWO[::-1]).count(border).counts.tolist() == [1, 0, 0]

    def test_many_records_are_looked_up_in_parts(self):
        xy = np.random.default_rng(1).uniform(0, 400, (150_000, 2))
        counts = of(*TWO).count(Points(CITY, xy)).counts
        wanted = [((xy[:, 0] <= 100) & (xy[:, 1] <= 200)).sum()]
        wanted.append(((xy[:, 0] > 100) & (xy[:, 0] <= 200) & (xy[:, 1] <= 200)).sum())
        assert counts.tolist() == [*wanted, 150_000 - sum(wanted)]

    def test_a_hole_is_outside(self):
        ring = shapely.box(0, 0, 300, 300).difference(shapely.box(100, 100, 200, 200))
        points = Points(CITY, [[150, 150], [50, 50], [350, 350], [100, 150]])
        assert of(ring).count(points).counts.tolist() == [2, 2]

    def test_no_records(self):
        assert of(*TWO).count(Points(CITY, [])).counts.tolist() == [0, 0, 0]

    def test_points_of_another_region_are_refused(self):
        other = Region.around(lat=45, lon=7, side_m=401)
        with pytest.raises(InputError, match="another region"):
            of(*TWO).count(Points(other, [[1, 1]]))


class TestDisjoint:
    def test_touching_is_no_overlap(self):
        assert of(*TWO).areas.tolist() == [20_000, 20_000, 120_000]

    @pytest.mark.parametrize("slip", [0.9, 1.1])
    def test_slivers_are_tolerated_up_to_a_thousandth_of_the_smaller(self, slip):
        small = shapely.box(100 - slip * OVERLAP_TOLERANCE * 100, 0, 200, 200)
        if slip < 1:
            of(TWO[0], small)
        else:
            with pytest.raises(InputError, match="districts '0' and '1' overlap by 22 m²"):
                of(TWO[0], small)

    @pytest.mark.parametrize(
        "shapes",
        [
            [shapely.box(0, 0, 100, 100), shapely.box(20, 20, 30, 30)],  # one in the other
            [shapely.box(0, 0, 100, 100)] * 2,
            [shapely.box(0, 0, 100, 100), shapely.box(0, 0, 9, 9), shapely.box(50, 50, 150, 150)],
        ],
        ids=["nested", "twice", "the first pair is named"],
    )
    def test_overlaps_are_named(self, shapes):
        with pytest.raises(InputError, match="the districts '0' and '1' overlap by"):
            of(*shapes)

    def test_the_remedy_works(self):
        first, second = shapely.box(0, 0, 100, 100), shapely.box(50, 50, 150, 150)
        with pytest.raises(InputError, match=r"shape.difference\(other_shape\)"):
            of(first, second)
        assert of(first, second.difference(first)).areas.tolist() == [10_000, 7_500, 142_500]

    def test_more_area_than_the_region_is_refused_at_once(self):
        with pytest.raises(InputError, match="together they are larger than the region"):
            of(*[shapely.box(0, 0, 400, 300)] * 2)

    def test_the_last_of_many_is_looked_at_too(self):
        strips = [shapely.box(k, 0, k + 1, 400) for k in range(399)]
        with pytest.raises(InputError, match="districts '398' and '399' overlap"):
            of(*strips, shapely.box(398.5, 0, 399.5, 400))

    @pytest.mark.parametrize("shift", [0, 1])
    def test_polygons_with_many_corners_are_compared_in_parts(self, shift):
        large = shapely.Point(200, 200).buffer(150, quad_segs=2_000)
        hole = shapely.Point(200, 200).buffer(60, quad_segs=1_500)
        ring, other = (
            shapely.difference(large, hole),
            shapely.transform(hole, lambda xy: xy + shift),
        )
        if not shift:
            assert len(of(ring, other)) == 2
            return
        common = shapely.area(shapely.intersection(ring, other))
        with pytest.raises(InputError, match=f"'0' and '1' overlap by {common:,.0f} m²"):
            of(ring, other)

    def test_too_many_neighbours_are_refused(self):
        strip = shapely.Polygon([(0, 0), (300, 300), (300, 300.1), (0, 0.1)])
        strips = [shapely.affinity.translate(strip, 0, k / 4) for k in range(300)]
        with pytest.raises(InputError, match="overlap in 44,850 pairs, too many"):
            of(*strips)


class TestDeclared:
    def test_what_reaches_out_is_cut_and_what_lies_outside_is_left_out(self):
        shapes = [shapely.box(300, 300, 900, 900), shapely.box(500, 0, 600, 90), TWO[0]]
        districts = PolygonPartition.of(CITY, declared(*shapes))
        assert districts.labels == ("0", "2")
        np.testing.assert_allclose(districts.areas, [10_000, 20_000, 130_000], rtol=1e-4)

    @pytest.mark.parametrize("crs", [4326, 32632, 3857])
    def test_any_crs(self, crs):
        counts = PolygonPartition.of(CITY, declared(*TWO, crs=crs)).count(
            Points(CITY, [[50, 50], [150, 50], [150, 60], [300, 300]])
        )
        assert counts.counts.tolist() == [1, 2, 1]

    def test_a_long_border_beside_two_short_ones(self):
        """The neighbours' corners lie on the long edge, which bends under a projection."""
        city = Region.around(lat=45, lon=7, side_m=100_000)
        shapes = [
            shapely.box(6, 44, 8, 45),
            shapely.box(6, 45, 6.9, 46),
            shapely.box(6.9, 45, 8, 46),
        ]
        polygons = Districts.of(gpd.GeoSeries(shapes, crs=4326))
        xy = np.random.default_rng(3).uniform(0, 100_000, (1_000, 2))
        assert PolygonPartition.of(city, polygons).count(Points(city, xy)).counts[-1] == 0

    def test_none_in_the_region(self):
        with pytest.raises(InputError, match=r"no district lies in the region of 400 m around"):
            PolygonPartition.of(CITY, declared(shapely.box(900, 900, 999, 999)))


class TestShares:
    @given(tessellations(), tessellations())
    def test_disjoint_shapes_that_cover_all_share_out_every_cell(self, shapes, others):
        districts = of(*shapes)
        rest = shapely.box(0, 0, 400, 400).difference(shapely.union_all(others))
        asked = np.array([*others, rest], object)
        asked = asked[~shapely.is_empty(asked)]
        shape, cell, share = districts.shares(asked)
        total = np.bincount(cell, share, len(shapes) + 1)
        np.testing.assert_allclose(total[:-1], 1, atol=1e-4)
        assert total[-1] == pytest.approx(1, abs=1e-3) or districts.areas[-1] < 10
        assert (share >= 0).all()
        assert shape.max() < len(asked)

    @given(tessellations())
    def test_a_district_has_all_of_itself_and_nothing_else(self, shapes):
        shape, cell, share = of(*shapes).shares(shapes)
        assert shape.tolist() == cell.tolist()
        assert sorted(cell) == list(range(len(shapes)))
        assert (share == 1).all()

    def test_by_hand(self):
        districts = of(*TWO)
        asked = np.array([shapely.box(50, 100, 150, 300), shapely.Point(9, 9).buffer(0)], object)
        shape, cell, share = districts.shares(asked)
        found = sorted(zip(shape.tolist(), cell.tolist(), share.tolist(), strict=True))
        assert found == [(0, 0, 0.25), (0, 1, 0.25), (0, 2, 10_000 / 120_000)]


class TestFileOfPartition:
    @given(tessellations())
    def test_stored_and_restored(self, shapes):
        holed = shapes[0].difference(shapes[0].centroid.buffer(1))
        island = shapes[0].centroid.buffer(0.3)
        both = shapely.union(holed, island)
        districts = of(both, *shapes[1:])
        again = PolygonPartition.restore(CITY, districts.labels, districts.arrays())
        assert shapely.equals_exact(again.shapes, districts.shapes, 0).all()
        for name, array in districts.arrays().items():
            np.testing.assert_array_equal(again.arrays()[name], array)

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"rings": np.array([0, 5])}, "array rings of the districts is damaged"),
            ({"rings": np.array([0, 7, 5, 10])}, "array rings"),
            ({"rings": np.array([0, 3, 10])}, "array rings"),
            ({"rings": np.array([0.0, 5.0, 10.0])}, "array rings"),
            ({"rings": np.array([0, 4, 10])}, "does not end where it starts"),
            ({"polygons": np.array([0, 1, 1, 2])}, "array polygons"),
            ({"districts": np.array([0])}, "array districts"),
            ({"districts": np.array([0, 2])}, "must have equal lengths, not 2 and 1"),
            ({"coordinates": np.zeros((10, 3))}, "coordinates must be 64-bit floats"),
            ({"coordinates": np.zeros((10, 2), np.float32)}, "coordinates must be 64-bit floats"),
            ({"coordinates": np.zeros((10, 2))}, "valid polygon|has no area"),
            ({"coordinates": np.full((10, 2), 1e9)}, "extends beyond|valid"),
            ({"more": np.zeros(1)}, "districts must have the arrays coordinates, rings"),
        ],
        ids=lambda value: str(value)[:60],
    )  # fmt: skip
    def test_damaged_arrays_are_refused(self, changes, told):
        arrays = of(*TWO).arrays() | changes
        with pytest.raises(InputError, match=told):
            PolygonPartition.restore(CITY, ["a", "b"], arrays)

    def test_what_overlaps_is_refused_again(self):
        arrays = of(*TWO).arrays()
        arrays["coordinates"] = np.concatenate([arrays["coordinates"][:5]] * 2)
        with pytest.raises(InputError, match="districts 'a' and 'b' overlap"):
            PolygonPartition.restore(CITY, ["a", "b"], arrays)

    def test_labels_must_differ(self):
        with pytest.raises(InputError, match="the label 'a' occurs more than once"):
            PolygonPartition.restore(CITY, ["a", "a"], of(*TWO).arrays())
