"""Releases of districts: own districts as counted, other boxes and polygons by area."""

from fractions import Fraction

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import snhkit as snh
from snhkit.errors import InputError, ReleaseFileError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Release
from snhkit.release.polygon_model import PolygonModel
from snhkit.release.polygon_partition import PolygonPartition

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
