"""Polygons against geopandas' own overlay, and against boxes."""

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders import AdaptiveGrid, Identity, PrivTree
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries, Region
from snhkit.models import Model
from snhkit.models.grid_model import GridModel
from snhkit.models.partition_model import PartitionModel
from snhkit.neural import SNH, FeatureGrid, Networks
from snhkit.privacy import PrivacyUnit
from snhkit.release import Release

CITY = Region.around(lat=45, lon=7, side_m=400)
TINY = SNH(
    networks=Networks(k=2, network=FeatureGrid((8,), fine=16), steps=3, batch=512),
)
BUILDERS = pytest.mark.parametrize("builder", [Identity(30), AdaptiveGrid(), PrivTree(), TINY])


def released(builder, records) -> Release:
    data = PrivateDataset(records, budget=1, unit="record", n="public")
    return data.release(builder, epsilon=1)


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


@BUILDERS
class TestEachMethod:
    def test_a_polygon_is_the_area_weighted_sum_over_its_cells(self, builder, records):
        release, polygons = released(builder, records), districts(12)
        expected = by_overlay(release.model, polygons)
        np.testing.assert_allclose(release.answer(shapes(*polygons)), expected, atol=1e-3)

    def test_disjoint_polygons_add_up(self, builder, records):
        release, polygons = released(builder, records), districts(30)
        parts = release.answer(shapes(*polygons, crs=4326))
        both = release.answer(shapes(polygons[3].union(polygons[9]), crs=4326))
        assert both == pytest.approx(parts[3] + parts[9], abs=1e-3)
        whole = release.answer(RangeQueries(CITY, [0], [0], [400], [400]))
        assert parts.sum() == pytest.approx(whole[0], abs=1e-3)


@given(st.integers(1, 9), st.integers(0, 2**32))
def test_grids_of_any_size(m, seed):
    rng = np.random.default_rng(seed)
    model = GridModel(Grid(CITY, m), rng.normal(size=(m, m)))
    polygons = districts(4, seed)
    polygons = np.append(polygons, shapely.MultiPolygon([polygons[0], polygons[2].buffer(-1)]))
    expected = by_overlay(model, polygons)
    np.testing.assert_allclose(around(model).answer(shapes(*polygons)), expected, atol=1e-6)


@pytest.mark.parametrize("builder", [Identity(30), PrivTree()])
def test_a_box_is_a_polygon_too(builder, records):
    release = released(builder, records)
    boxes = RangeQueries.sample(CITY, 50, (5, 300))
    polygons = shapely.box(boxes.x, boxes.y, boxes.x + boxes.width, boxes.y + boxes.height)
    counts = release.answer(shapes(*polygons))
    np.testing.assert_allclose(counts, release.answer(boxes), atol=1e-6)
    errors = release.standard_error(shapes(*polygons))
    np.testing.assert_allclose(errors, release.standard_error(boxes), rtol=1e-5)


@pytest.mark.parametrize("builder", [AdaptiveGrid(), TINY])
def test_where_cells_share_noise_the_error_of_a_polygon_is_not_known(builder, records):
    errors = released(builder, records).standard_error(shapes(*districts(3)))
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
    counts = around(model).answer(shapes(triangle, ring, beyond, far, shapely.Polygon()))
    np.testing.assert_allclose(counts, [4, 6, 25, 0, 0], atol=1e-9)


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


def test_a_frame_keeps_its_order_whatever_its_index(records):
    release = released(Identity(30), records)
    frame = gpd.GeoDataFrame({"name": list("abc")}, geometry=shapes(*districts(3)).to_numpy())
    frame = frame.set_crs(CITY.crs).set_index("name").iloc[[2, 0, 1]]
    frame["count"] = release.answer(frame)
    again = release.answer(frame.geometry.sort_index())
    np.testing.assert_array_equal(frame["count"].sort_index(), again)


class TestRefused:
    @pytest.mark.parametrize(
        ("shape", "told"),
        [
            (None, "shape 1 is missing"),
            (shapely.Point(1, 1), "shape 1 is a Point, must be a polygon"),
            (shapely.Polygon([(0, 0), (9, 9), (0, 9), (9, 0)]), "shape 1 is not a valid .*Self"),
        ],
    )
    def test_what_is_no_polygon(self, shape, told):
        release = around(GridModel(Grid(CITY, 1), np.ones((1, 1))))
        with pytest.raises(InputError, match=told):
            release.answer(gpd.GeoSeries([shapely.box(0, 0, 1, 1), shape], crs=CITY.crs))

    def test_no_crs(self):
        release = around(GridModel(Grid(CITY, 1), np.ones((1, 1))))
        with pytest.raises(InputError, match=r"no CRS; set it, as in frame.set_crs\(4326\)"):
            release.answer(gpd.GeoSeries([shapely.box(0, 0, 1, 1)]))

    def test_a_projection_without_the_region(self):
        release = around(GridModel(Grid(CITY, 1), np.ones((1, 1))))
        opposite = "+proj=ortho +lat_0=-45 +lon_0=-173"
        with pytest.raises(InputError, match="CRS cannot show the region"):
            release.answer(gpd.GeoSeries([shapely.box(0, 0, 1, 1)], crs=opposite))

    def test_no_frame(self):
        release = around(GridModel(Grid(CITY, 1), np.ones((1, 1))))
        with pytest.raises(
            InputError, match="RangeQueries or a GeoDataFrame of polygons, not a list"
        ):
            release.answer([1, 2])
