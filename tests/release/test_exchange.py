"""A release in other tools: what they read back has the same sums."""

import re
from dataclasses import replace

import geopandas as gpd
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely

import snhkit as snh
from snhkit.cli.main import main
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition
from snhkit.models import GridModel, PartitionModel
from snhkit.release.exchange import _nearest, _settled, grid_of, sparse


@pytest.fixture(scope="module")
def release() -> snh.Release:
    records = snh.synthetic_points("fargo", 3_000)
    data = snh.PrivateDataset(records, budget=10, unit="record")
    return data.release(snh.Identity(cell_m=600), epsilon=1)


def test_a_raster_is_read_back_by_gdal_with_equal_sums(release, tmp_path):
    pytest.importorskip("xarray")
    rasterio = pytest.importorskip("rasterio")
    data = release.to_xarray()
    assert float(data["count"].sum()) == pytest.approx(release.cells()["count"].sum())
    assert float(data["noise_sd"].min()) == pytest.approx(float(data["noise_sd"].max()))
    data["count"].rio.to_raster(tmp_path / "counts.tif")
    with rasterio.open(tmp_path / "counts.tif") as raster:
        assert raster.read(1).sum() == pytest.approx(release.cells()["count"].sum())
        assert raster.crs == release.region.crs
        # The value at a place is that of the cell there.
        k = int(release.model.values.argmax())
        i, j = np.unravel_index(k, release.model.values.shape)
        xy = (np.array([i, j]) + 0.5) * release.model.grid.cell_m - release.region.side_m / 2
        (value,) = next(raster.sample([tuple(xy)]))
        assert value == pytest.approx(release.model.values.max())
    assert release.to_xarray(cell_m=1_200).sizes["x"] < data.sizes["x"]


def test_a_release_without_a_grid_has_a_raster_of_256_cells_a_side_at_most(release):
    data = snh.PrivateDataset(snh.synthetic_points("fargo", 500), budget=1, unit="record")
    tree = data.release(snh.PrivTree(), epsilon=1)
    told = [grid_of(tree), grid_of(tree, most=99), grid_of(release, most=9)]
    assert [grid.m for grid in told] == [256, 99, 9]


def test_the_command_line_writes_a_raster(release, tmp_path, monkeypatch):
    pytest.importorskip("rioxarray")
    rasterio = pytest.importorskip("rasterio")
    path = release.save(tmp_path / "a.snh")
    words = ["answer", str(path), "--raster", str(tmp_path / "a.tif"), "--cell-m", "1200"]
    monkeypatch.setattr("sys.argv", ["snhkit", *words])
    main()
    with rasterio.open(tmp_path / "a.tif") as raster:
        assert raster.read(1).sum() == pytest.approx(release.cells()["count"].sum(), rel=1e-6)
    monkeypatch.setattr("sys.argv", ["snhkit", "answer", str(path)])
    with pytest.raises(SystemExit):
        main()


def test_arrow_is_read_by_geopandas_and_duckdb(release):
    again = gpd.GeoDataFrame.from_arrow(release)
    assert again.crs == 4326
    assert again.geometry.geom_equals_exact(release.cells().geometry, 1e-12).all()
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    cells = pa.RecordBatchReader.from_stream(release).read_all().drop_columns("geometry")
    with duckdb.connect() as connection:
        connection.register("cells", cells)
        ((total,),) = connection.execute('SELECT sum("count") FROM cells').fetchall()
    assert total == pytest.approx(release.cells()["count"].sum())


def test_lonboard_makes_a_layer_of_the_cells(release):
    lonboard = pytest.importorskip("lonboard")
    (layer,) = lonboard.viz(release).layers
    assert isinstance(layer, lonboard.PolygonLayer)
    assert layer.table.num_rows == len(release.cells())
    assert sum(layer.table["count"].to_pylist()) == pytest.approx(release.cells()["count"].sum())


def test_geo_interface_plot_and_explore(release, monkeypatch):
    features = release.__geo_interface__["features"]
    assert len(features) == len(release.cells())
    monkeypatch.setattr("snhkit.release.release._SHOWN", 4)
    nine = Partition.split(Grid(release.region, 3), np.ones((3, 3), np.int64))
    models = [PartitionModel(nine, np.ones(9)), GridModel(Grid(release.region, 5), np.ones((5, 5)))]
    assert [len(replace(release, model=model)._shown()) for model in models] == [9, 16]
    monkeypatch.undo()
    axes = release.plot(legend=False)
    assert axes.collections
    plt.close(axes.figure)
    pytest.importorskip("mapclassify")
    assert "snhkit" not in type(release.explore(tiles=None)).__module__


def test_points_are_as_many_as_counted_and_in_their_cells(release):
    points = release.constrained(mask=release.cells()).sample_points(seed=1)
    assert len(points) == pytest.approx(release.cells()["count"].sum(), abs=1)
    assert points.equals(release.constrained(mask=release.cells()).sample_points(seed=1))
    assert "no point is a record" in points.attrs["about"]
    xy = release.region.to_xy(points.geometry.y, points.geometry.x)
    found = release.model.grid.count(snh.Points(release.region, xy)).counts
    wanted = release.constrained(mask=release.cells()).model.values
    assert np.abs(found - wanted).max() <= 1


def halves(release) -> gpd.GeoDataFrame:
    south, west, north, east = release.region.bounds
    middle = (west + east) / 2 + 0.003
    shapes = [shapely.box(west, south, middle, north), shapely.box(middle, south, east, north)]
    return gpd.GeoDataFrame({"total": [900.0, 2_500.0]}, geometry=shapes, crs=4326)


def test_public_totals_hold_and_water_is_empty(release):
    frame = halves(release)
    made = release.constrained(totals=frame)
    assert made.answer(frame) == pytest.approx([900, 2_500], rel=1e-6)
    assert made.model.values.min() >= 0
    assert "constrained" in made.card()["Settings"]
    assert made.spends == release.spends
    land = release.constrained(mask=frame.iloc[:1])
    east = made.region.side_m * 0.6
    water = snh.RangeQueries(made.region, [east], [0], [made.region.side_m - east], [east])
    assert land.answer(water).tolist() == [0]
    west = made.model.grid.boxes().x < made.region.side_m * 0.55
    left = release.model.values.ravel()[west].sum()
    assert land.model.values.sum() == pytest.approx(left, rel=0.1)


def test_a_district_with_a_total_of_0_is_empty(release):
    frame = halves(release).assign(total=[0.0, 2_500.0])
    assert release.constrained(totals=frame).answer(frame).tolist() == [0, pytest.approx(2_500)]


def test_one_total_is_the_projection_on_a_simplex():
    """By sorting, as Duchi et al. (ICML 2008) do it."""
    values = np.random.default_rng(0).normal(2, 5, 400)
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 100) / np.arange(1, 401)
    shift = excess[np.flatnonzero(ordered > excess)[-1]]
    weights = sparse.csr_array(np.ones((1, 400)))
    found = _nearest(values, np.ones(400), weights, np.array([100.0]))
    np.testing.assert_allclose(found, np.maximum(values - shift, 0), atol=1e-6)


def test_counts_with_more_noise_give_way_more():
    """Two counts of 10, of variances 1 and 3, have to lose 4 together; one of variance 0 stays."""
    found = _nearest(
        np.array([10.0, 10.0, 5.0]), np.array([1.0, 3.0, 0.0]),
        sparse.csr_array(np.ones((1, 3))), np.array([16.0]),
    )  # fmt: skip
    np.testing.assert_allclose(found, [9, 7, 5], atol=1e-6)


@pytest.mark.parametrize("m", [1, 2, 5, 16, 21])
def test_large_boxes_keep_their_counts(m):
    """Of the noise of empty cells, nothing comes out of the crowded quarter."""
    noise = np.random.default_rng(m).normal(0, 5, (m, m))
    counts = np.where(np.add.outer(np.arange(m), np.arange(m)) == 0, 5_000.0, 0)
    found = _settled((counts + noise).ravel(), np.ones(m * m), m, 5_000.0).reshape(m, m)
    assert found.sum() == pytest.approx(5_000)
    assert found.min() >= 0
    side = -(-m // 4)
    assert found[:side, :side].sum() == pytest.approx(5_000, abs=5 * (m + 4))
    assert _settled(noise.ravel(), np.ones(m * m), m, 0.0).max() < 1e-8


def test_counts_add_up_to_a_known_n(release):
    records = snh.synthetic_points("fargo", 2_000)
    data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    made = data.release(snh.Identity(cell_m=900), epsilon=0.2)
    assert made.constrained(mask=halves(made)).model.values.sum() == pytest.approx(2_000)


def test_what_cannot_hold_is_refused(release):
    frame = halves(release)
    with pytest.raises(InputError, match="give mask"):
        release.constrained()
    with pytest.raises(InputError, match="column 'total'"):
        release.constrained(totals=frame[["geometry"]])
    twice = gpd.GeoDataFrame({"total": [1.0, 2.0]}, geometry=[frame.geometry[0]] * 2, crs=4326)
    with pytest.raises(InputError, match="contradict each other"):
        release.constrained(totals=twice)


@pytest.mark.parametrize(
    ("kind", "level", "library"),
    [("h3", 8, "h3"), ("geohash", 6, "pygeohash"), ("quadkeys", 15, "mercantile")],
)
def test_cells_by_name_cover_the_region_without_overlap(kind, level, library, monkeypatch):
    pytest.importorskip(library)
    region = snh.Region.around(lat=46.87, lon=-96.79, side_m=4_000)
    cells = getattr(snh.districts, kind)(region, level)
    assert cells.inside(region).area_m2.sum() == pytest.approx(4_000**2, rel=1e-4)
    assert set(cells.labels) == set(cells.rows.iloc[:, 0])
    xy = np.random.default_rng(0).uniform(0, 4_000, (500, 2))
    data = snh.PrivateDataset(snh.Points(region, xy), budget=200, unit="record")
    release = data.release(snh.Tessellation(cells), epsilon=200)
    assert release.estimate(cells)["count"].sum() == 500
    first = cells.labels[len(cells) // 2]
    assert release.estimate([first])["count"][0] == release.answer(cells)[len(cells) // 2]
    monkeypatch.setattr("snhkit.districts.named_cells.MAX_DISTRICTS", 1)
    with pytest.raises(InputError, match=r"at most 1:") as refused:
        getattr(snh.districts, kind)(region, level)
    about = int(re.findall(r"about (\d+) ", str(refused.value))[0])
    assert about < len(cells) < 2 * about  # those that touch an edge are more
    monkeypatch.undo()
    with pytest.raises(InputError, match="at most 65,536"):
        getattr(snh.districts, kind)(snh.Region.around(46.87, -96.79, 190_000), level + 4)
