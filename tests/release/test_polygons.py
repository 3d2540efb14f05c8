"""Polygons against geopandas' own overlay, and against boxes."""

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders import DAWA, HDMM, AdaptiveGrid, Identity, Privelet, PrivTree, QuadTree
from snhkit.districts.covering import divided
from snhkit.errors import InputError, OutsideWarning
from snhkit.geometry import Grid, Partition, RangeQueries, Region
from snhkit.models import Model
from snhkit.models.grid_model import GridModel
from snhkit.models.partition_model import PartitionModel
from snhkit.neural import SNH, FeatureGrid, Networks
from snhkit.privacy import PrivacyUnit
from snhkit.release import Release

pytestmark = pytest.mark.usefixtures("hasty_compiler")
CITY = Region.around(lat=45, lon=7, side_m=400)
TINY = SNH(
    networks=Networks(k=2, network=FeatureGrid((8,)), steps=3, batch=512),
)
BUILDERS = pytest.mark.parametrize("builder", [Identity(30), AdaptiveGrid(), PrivTree(), TINY])


def around(model: Model) -> Release:
    return Release("test", {}, 1, PrivacyUnit("record", None), None, False, (), model)


def shapes(*polygons, crs=CITY.crs) -> gpd.GeoSeries:
    """Polygons in the region's metres, as a frame in another projection."""
    return gpd.GeoSeries(polygons, crs=CITY.crs).translate(-200, -200).to_crs(crs)


def districts(count: int, seed: int = 0) -> np.ndarray:
    """The region, and more, in random polygons that touch."""
    places = np.random.default_rng(seed).uniform(-50, 450, (count, 2))
    square = shapely.box(-100, -100, 500, 500)
    cells = shapely.voronoi_polygons(shapely.MultiPoint(places), extend_to=square)
    return shapely.intersection(np.array(cells.geoms), square)


def by_overlay(model: Model, polygons: np.ndarray) -> np.ndarray:
    """Area-weighted sums over all pairs of polygons and cells."""
    parts = model.additive()
    boxes = parts.cells().boxes()
    cells = shapely.box(boxes.x, boxes.y, boxes.x + boxes.width, boxes.y + boxes.height)
    areas = shapely.area(shapely.intersection(polygons[:, None], cells))
    return areas / shapely.area(cells) @ parts.answer(boxes)


SOME_OUTSIDE = pytest.mark.filterwarnings("ignore::snhkit.errors.OutsideWarning")


@BUILDERS
@SOME_OUTSIDE
class TestEachMethod:
    def test_a_polygon_is_the_area_weighted_sum_over_its_cells(self, released, builder, records):
        release, polygons = released(records, builder), districts(12)
        expected = by_overlay(release.model, polygons)
        np.testing.assert_allclose(release.answer(shapes(*polygons)), expected, atol=1e-3)

    def test_disjoint_polygons_add_up(self, released, builder, records):
        release, polygons = released(records, builder), districts(30)
        parts = release.answer(shapes(*polygons, crs=4326))
        both = release.answer(shapes(polygons[3].union(polygons[9]), crs=4326))
        assert both == pytest.approx(parts[3] + parts[9], abs=1e-3)
        whole = release.answer(RangeQueries(CITY, [0], [0], [400], [400]))
        assert parts.sum() == pytest.approx(whole[0], abs=1e-3)


@SOME_OUTSIDE
@given(st.integers(1, 9), st.integers(0, 2**32))
def test_grids_of_any_size(m, seed):
    rng = np.random.default_rng(seed)
    model = GridModel(Grid(CITY, m), rng.normal(size=(m, m)))
    polygons = districts(4, seed)
    polygons = np.append(polygons, shapely.MultiPolygon([polygons[0], polygons[2].buffer(-1)]))
    expected = by_overlay(model, polygons)
    np.testing.assert_allclose(around(model).answer(shapes(*polygons)), expected, atol=1e-6)


@pytest.mark.parametrize(
    "builder",
    [Identity(30), PrivTree(), AdaptiveGrid(c=25), QuadTree(3), Privelet(20), HDMM(20, (50, 300))],
)
def test_a_box_is_a_polygon_too(released, builder, records):
    release = released(records, builder)
    boxes = RangeQueries.sample(CITY, 50, (5, 300))
    polygons = shapely.box(boxes.x, boxes.y, boxes.x + boxes.width, boxes.y + boxes.height)
    counts = release.answer(shapes(*polygons))
    np.testing.assert_allclose(counts, release.answer(boxes), atol=1e-6)
    errors = release.noise_sd(shapes(*polygons))
    np.testing.assert_allclose(errors, release.noise_sd(boxes), rtol=1e-5)


@SOME_OUTSIDE
@pytest.mark.parametrize("builder", [DAWA(order=4), TINY])
def test_where_no_theory_gives_the_noise_the_error_is_not_known(released, builder, records):
    errors = released(records, builder).noise_sd(shapes(*districts(3)))
    assert errors.shape == (3,)
    assert np.isnan(errors).all()


def test_by_hand():
    """Half of a cell of 8 below the diagonal, a hole, and what lies outside."""
    model = PartitionModel(
        Partition(CITY, [0, 200], [0, 0], [200, 400], [400, 400]), np.array([8.0, 100.0])
    )
    triangle = shapely.Polygon([(0, 0), (200, 0), (200, 400)])
    ring = shapely.box(0, 0, 200, 400).difference(shapely.box(50, 100, 150, 300))
    beyond = shapely.box(200, -900, 900, 100)
    far = shapely.box(500, 500, 600, 600)
    with pytest.warns(OutsideWarning, match=r"2 of 5 shapes lie outside .* \(shapes 3, 4, c"):
        counts = around(model).answer(shapes(triangle, ring, beyond, far, shapely.Polygon()))
    np.testing.assert_allclose(counts, [4, 6, 25, 0, 0], atol=1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_holes_count_nothing_in_a_grid(turned):
    """The rings of a file may run either way round."""
    release = around(GridModel(Grid(CITY, 8), np.ones((8, 8))))
    ring = shapely.box(0, 0, 200, 400).difference(shapely.box(60, 100, 150, 300))
    given = shapely.reverse(ring) if turned else ring
    both = shapely.MultiPolygon([given, shapely.box(300, 0, 400, 100)])
    np.testing.assert_allclose(release.answer(shapes(given, both)), [24.8, 28.8], atol=1e-9)


def test_parts_of_a_wide_and_a_tall_shape_do_not_overlap():
    disc = shapely.Point(2, 3).buffer(1, quad_segs=40)
    ovals = np.array(
        [shapely.transform(disc, lambda xy, by=by: xy * by) for by in ([3, 1], [1, 3])]
    )
    owner, parts = divided(ovals, corners=16)
    assert shapely.get_num_coordinates(parts).max() <= 16
    areas = np.bincount(owner, shapely.area(parts))
    np.testing.assert_allclose(areas, shapely.area(ovals))


@pytest.mark.parametrize("crs", [4326, 32632, 3857])
def test_any_projection_will_do(crs):
    """A country around a far corner, whose long edges bend on the region's plane."""
    release = around(GridModel(Grid(CITY, 4), np.full((4, 4), 10.0)))
    halves = gpd.GeoSeries([shapely.box(-9, 30, 7, 60), shapely.box(7, 30, 25, 60)], crs=4326)
    counts = release.answer(halves if crs == 4326 else halves.segmentize(0.01).to_crs(crs))
    assert counts == pytest.approx([80, 80], abs=0.02)


def test_a_long_edge_bends_as_its_parallel_does():
    city = Region.around(lat=45, lon=7, side_m=100_000)
    release = around(GridModel(Grid(city, 4), np.full((4, 4), 10.0)))
    south = gpd.GeoSeries([shapely.box(5, 43, 9, 45)], crs=4326)
    bent = (
        south.segmentize(0.001).to_crs(city.crs).intersection(shapely.box(*[-5e4] * 2, *[5e4] * 2))
    )
    assert release.answer(south) == pytest.approx(bent.area / 100_000**2 * 160, abs=0.001)


def test_a_frame_keeps_its_order_whatever_its_index(released, records):
    release = released(records, Identity(30))
    frame = gpd.GeoDataFrame({"name": list("abc")}, geometry=shapes(*districts(3)).to_numpy())
    frame = frame.set_crs(CITY.crs).set_index("name").iloc[[2, 0, 1]]
    frame["count"] = release.answer(frame)
    again = release.answer(frame.geometry.sort_index())
    np.testing.assert_array_equal(frame["count"].sort_index(), again)


SQUARE = shapely.box(0, 0, 1, 1)
LINE = shapely.GeometryCollection([shapely.LineString([(0, 0), (1, 1)])])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (gpd.GeoSeries([SQUARE, shapely.Point(1, 1)], crs=CITY.crs), "row 1 .* is a Point, not a"),
        (gpd.GeoSeries([LINE], crs=4326), r"row 0 .* is a Geometrycollection, not a polygon"),
        (
            gpd.GeoSeries([SQUARE], crs="+proj=ortho +lat_0=-45 +lon_0=-173"),
            "CRS is not defined at Region",
        ),
        ([1, 2], "boxes must be RangeQueries, a frame"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_polygon_is_refused(given, told):
    with pytest.raises(InputError, match=told):
        around(GridModel(Grid(CITY, 1), np.ones((1, 1)))).answer(given)


class TestWhereverLongitudesBegin:
    """A grid of 8 by 8 cells of 10 records around 180 degrees, and its halves."""

    fiji = Region.around(lat=-16.8, lon=180, side_m=60_000)
    release = around(GridModel(Grid(fiji, 8), np.full((8, 8), 10.0)))
    west = shapely.box(179, -18, 180, -16)
    east = shapely.box(-180, -18, -179, -16)

    @pytest.mark.parametrize("crs", [4326, 4269, 4979])
    def test_polygons_cut_at_the_antimeridian(self, crs):
        whole = shapely.MultiPolygon([self.west, self.east])
        frame = gpd.GeoSeries([self.west, self.east, whole], crs=crs)
        assert self.release.answer(frame) == pytest.approx([320, 320, 640], abs=0.5)
        assert self.release.noise_sd(frame).shape == (3,)

    def test_longitudes_up_to_360(self):
        frame = gpd.GeoSeries([shapely.box(180, -18, 181, -16), shapely.box(179, -18, 181, -16)])
        assert self.release.answer(frame.set_crs(4326)) == pytest.approx([320, 640], abs=0.5)
        madrid = Region.around(lat=40.4, lon=-3.7, side_m=4_000)
        release = around(GridModel(Grid(madrid, 2), np.full((2, 2), 10.0)))
        frame = gpd.GeoSeries([shapely.box(356, 40, 357, 41), shapely.box(356, 40, 356.3, 41)])
        assert release.answer(frame.set_crs(4326)) == pytest.approx([40, 20], abs=0.01)

    def test_boxes_agree(self):
        boxes = RangeQueries.from_degrees(
            self.fiji, [-17, -17], [179.8, -180], [-16.6, -16.6], [180, -179.8]
        )
        shapes = [shapely.box(179.8, -17, 180, -16.6), shapely.box(-180, -17, -179.8, -16.6)]
        counts = self.release.answer(gpd.GeoSeries(shapes, crs=4326))
        np.testing.assert_allclose(counts, self.release.answer(boxes), rtol=2e-3)

    def test_an_edge_the_long_way_round_is_a_question(self):
        crossing = shapely.box(-179.9, -17, 179.9, -16.6)
        with pytest.raises(InputError, match=r"row 1 has an edge across 359\.8 degrees.*cut the"):
            self.release.answer(gpd.GeoSeries([self.west, crossing], crs=4326))
        world = gpd.GeoSeries([shapely.box(-180, -90, 180, 90)], crs=4326)
        assert self.release.answer(world) == pytest.approx([640])


class TestElsewhere:
    release = around(GridModel(Grid(CITY, 2), np.full((2, 2), 10.0)))
    here = shapely.box(6.999, 44.999, 7.001, 45.001)

    def asked(self, *shapes, crs=4326):
        return self.release.answer(gpd.GeoSeries(shapes, crs=crs))

    def test_swapped(self):
        swapped = shapely.transform(self.here, lambda c: c[:, ::-1])
        with pytest.raises(InputError, match="are latitude and longitude swapped") as refusal:
            self.asked(swapped)
        with pytest.raises(InputError, match="swapped"):
            self.release.noise_sd(gpd.GeoSeries([swapped], crs=4326))
        assert "lie between x = 44.999 and 45.001, y = 6.999 and 7.001" in str(refusal.value)

    def test_swapped_beyond_the_globe(self):
        frisco = shapely.box(37.7, -122.5, 37.8, -122.4)
        with pytest.raises(
            InputError, match=r"is in degrees, but.*Are latitude and longitude swapped"
        ):
            self.asked(frisco)

    def test_metres_called_degrees(self):
        with pytest.raises(InputError, match=r"is in degrees, but.*metres of another CRS"):
            self.asked(shapely.box(5e5, 4e6, 6e5, 5e6))

    def test_elsewhere_is_0_with_a_warning(self):
        with pytest.warns(OutsideWarning, match=r"1 of 2 shapes .* \(shapes 0, counted from 0\)"):
            counts = self.asked(shapely.box(10, 50, 11, 51), self.here)
        assert counts == pytest.approx([0, 9.3], abs=3)
        with pytest.warns(OutsideWarning, match="1 of 1 shapes"):
            assert self.asked(shapely.box(10, 50, 11, 51)) == 0


def test_the_advice_for_an_invalid_polygon_works():
    model = GridModel(Grid(CITY, 4), np.full((4, 4), 10.0))
    spike = shapely.Polygon(
        [(0, 0), (200, 0), (200, 300), (200, 400), (200, 300), (0, 300), (0, 0)]
    )
    bow = shapely.Polygon([(0, 0), (200, 0), (0, 200), (200, 200)])
    frame = gpd.GeoDataFrame({"name": ["spike", "bow"]}, geometry=shapes(spike, bow))
    with pytest.raises(InputError, match=r"row 0 .* not a valid.*frame.make_valid") as refusal:
        around(model).answer(frame)
    advice = str(refusal.value).split("; ")[1].split(" repairs")[0]
    assert advice == "frame.set_geometry(frame.make_valid())"
    mended = frame.set_geometry(frame.make_valid())
    assert mended.geom_type[0] == "GeometryCollection"
    assert around(model).answer(mended) == pytest.approx([60, 20], abs=1e-3)
