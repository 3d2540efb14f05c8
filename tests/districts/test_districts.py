"""Declared polygons: what they keep of a frame, and what is refused with a remedy that works."""

import json
import pathlib
import pickle
import re

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import snhkit
from snhkit.districts.districts import Districts, read_districts
from snhkit.errors import InputError

SQUARES = [shapely.box(k, 0, k + 1, 1) for k in range(3)]
FRAME = gpd.GeoDataFrame({"ward": ["a", "b", "c"]}, geometry=SQUARES, crs=4326)
BOWTIE = shapely.Polygon([(0, 0), (1, 1), (0, 1), (1, 0)])


def with_shape(shape) -> gpd.GeoDataFrame:
    """The frame with another shape in its second row."""
    return FRAME.set_geometry([SQUARES[0], shape, SQUARES[2]], crs=4326)


def test_a_frame_is_kept_as_a_value():
    frame = FRAME.copy()
    kept = Districts.of(frame, label="ward")
    assert kept.labels == ("a", "b", "c")
    assert kept == Districts.of(FRAME, label="ward")
    assert hash(kept) == hash(Districts.of(FRAME, label="ward"))
    assert kept != Districts.of(FRAME)
    frame.loc[0, "geometry"] = shapely.box(7, 7, 8, 8)
    assert kept.rows.crs == FRAME.crs
    assert kept.rows.equals(FRAME)
    assert Districts.of(FRAME.set_index("ward")) == kept
    assert Districts.of(kept) is kept
    assert Districts.of(kept, "ward") == kept
    assert pickle.loads(pickle.dumps(kept)) == kept


@pytest.mark.parametrize("crs", [4326, 32610, "+proj=laea +lat_0=45 +lon_0=7 +units=m"])
def test_the_crs_is_kept(crs):
    frame = gpd.GeoSeries(SQUARES, crs=crs)
    assert Districts.of(frame).rows.crs == frame.crs


def test_heights_are_dropped():
    solid = gpd.GeoSeries([shapely.force_3d(SQUARES[0], 5.0)], crs=4326)
    assert Districts.of(solid) == Districts.of(gpd.GeoSeries(SQUARES[:1], crs=4326))


def test_a_long_list_has_a_short_text():
    assert repr(Districts.of(FRAME)) == "Districts(3 polygons: 0, 1, 2)"
    many = gpd.GeoSeries([shapely.box(k, 0, k + 1, 1) for k in range(900)], crs=4326)
    assert repr(Districts.of(many)) == "Districts(900 polygons: 0, 1, 2, ...)"
    assert repr(Districts.of(FRAME.set_axis(["\x1b[2J"] * 3))).isprintable()


REFUSED = {
    "no frame": ([1, 2], "must be a GeoDataFrame or a GeoSeries of polygons, .* not a list"),
    "a frame of pandas": (pd.DataFrame({"a": [1]}), "not a DataFrame"),
    "no geometry": (gpd.GeoDataFrame({"a": [1]}), "choose one with frame.set_geometry"),
    "no CRS": (gpd.GeoSeries(SQUARES), r"set the CRS with frame.set_crs\(4326\)"),
    "missing": (with_shape(None), r"row 1 \(counted from 0\) has no shape"),
    "a point": (with_shape(shapely.Point(1, 1)), "row 1 .* is a Point, not a polygon"),
    "invalid": (with_shape(BOWTIE), r"row 1 .* not a valid polygon \(Self-intersection"),
}


@pytest.mark.parametrize(("frame", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named(frame, told):
    with pytest.raises(InputError, match=told):
        Districts.of(frame)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a", "b", "a"], r"the label 'a' occurs 2 times; frame.dissolve\(by=COLUMN"),
        (["a", None, "c"], r"row 1 \(counted from 0\) has no label"),
        ([1, "1", 2], "the label '1' occurs 2 times"),
    ],
)
def test_labels_must_tell_polygons_apart(names, told):
    frame = FRAME.assign(ward=pd.Series(names, dtype=object))
    with pytest.raises(InputError, match=told):
        Districts.of(frame, label="ward").refuse_repeated()


def test_districts_to_count_one_by_one_are_some():
    with pytest.raises(InputError, match="has no rows; at least one polygon is needed"):
        Districts.of(FRAME[:0]).refuse_repeated()


def test_a_column_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(InputError, match="no column 'wrd'; it has ward, geometry"):
        Districts.of(FRAME, label="wrd")
    with pytest.raises(InputError, match="no column 'ward'; it has none"):
        Districts.of(FRAME.geometry, label="ward")


def test_the_remedies_work():
    """Each is typed as the message says."""
    frame = with_shape(BOWTIE)
    assert len(Districts.of(frame.set_geometry(frame.make_valid()))) == 3
    frame = with_shape(None)
    assert len(Districts.of(frame[frame.geom_type.notna()])) == 2
    frame = with_shape(shapely.Point(1, 1))
    assert len(Districts.of(frame[frame.geom_type.isin(["Polygon", "MultiPolygon"])])) == 2
    frame = FRAME.assign(ward=["a", "b", "a"])
    joined = Districts.of(frame.dissolve(by="ward", as_index=False), label="ward")
    assert joined.labels == ("a", "b")
    assert len(Districts.of(frame.set_index("ward").reset_index(drop=True))) == 3
    frame = gpd.GeoDataFrame(geometry=SQUARES)
    assert len(Districts.of(frame.set_crs(4326))) == 3


@pytest.fixture(params=["geojson", "json", "gpkg", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"wards.{request.param}"
    frame = FRAME.assign(homes=[3, 1, 2], share=[0.5, 1, 2])
    if request.param == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_file(path, driver="GPKG" if request.param == "gpkg" else "GeoJSON")
    return path


def test_files_give_what_the_frame_gives(file):
    assert read_districts(file, label="ward") == Districts.of(FRAME, label="ward")
    assert read_districts(file).labels == ("0", "1", "2")
    rows = read_districts(file).rows
    assert [rows[name].dtype.kind for name in ("homes", "share")] == ["i", "f"]


def test_a_damaged_file_is_refused(file):
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"^wards"):
        read_districts(file)


def test_a_file_that_is_something_else_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_districts(tmp_path / "none.geojson")
    for name, told in (
        ("wards.gpkg", "not a GeoPackage; rename the file"),
        ("wards.geojson", "could not be read as GeoJSON"),
        ("wards.shp", r"polygons are read from .geojson, .json, .gpkg or .parquet files"),
    ):
        path = tmp_path / name
        path.write_text('<OGRVRTDataSource><OGRVRTLayer name="x"/></OGRVRTDataSource>')
        with pytest.raises(InputError, match=told):
            read_districts(path)


def test_what_a_file_holds_is_named_with_the_file(tmp_path):
    path = tmp_path / "points.geojson"
    gpd.GeoSeries([shapely.Point(0, 0)], crs=4326).to_file(path)
    with pytest.raises(InputError, match=r"^points.geojson: row 0 .* is a Point"):
        read_districts(path)


def test_files_of_polygons_have_one_reader():
    """Another one would open what a hostile file says, such as a VRT in wards.geojson."""
    package = pathlib.Path(snhkit.__file__).parent
    opens = re.compile(r"gpd\.read_file|gpd\.read_parquet|pyogrio\.(read_|open_)")
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if opens.search(path.read_text(encoding="utf-8"))
    }
    records = {name for name in found if name.startswith("data/sources/")}
    own = {"viz/maps/land.py"}  # coasts, a file of the package
    assert found - records - own == {"untrusted.py", "districts/files.py"}


def test_a_hostile_file_opens_no_other(tmp_path):
    FRAME.to_file(tmp_path / "other.gpkg")
    path = tmp_path / "wards.geojson"
    source = f"<SrcDataSource>{tmp_path / 'other.gpkg'}</SrcDataSource>"
    path.write_text(
        f'<OGRVRTDataSource><OGRVRTLayer name="other">{source}</OGRVRTLayer></OGRVRTDataSource>'
    )
    with pytest.raises(InputError, match="could not be read as GeoJSON"):
        Districts.of(path)


def star(corners: int, spike: float) -> shapely.Polygon:
    angle = np.arange(corners) * 2 * np.pi / corners
    radius = np.where(np.arange(corners) % 2, 0.01 + spike, 0.01)
    return shapely.Polygon(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))


def test_a_star_of_thin_spikes_is_refused_and_can_be_simplified():
    # In a star of spikes, each edge is near many others: checking it would take minutes.
    frame = gpd.GeoDataFrame({"a": [1]}, geometry=[star(4_000, 0.01)], crs=4326)
    with pytest.raises(InputError, match=r"row 0 .* has 4,000 edges, each with \d+ others near"):
        Districts.of(frame)
    assert len(Districts.of(frame.set_geometry(frame.simplify(0.011)))) == 1
    wavy = frame.set_geometry([star(4_000, 1e-6)])  # a coast may have as many corners
    assert len(Districts.of(wavy)) == 1


def test_a_small_file_of_many_properties_cannot_fill_the_memory(tmp_path):
    ring = [[0, 0], [1, 0], [1, 1], [0, 0]]
    shape = {"type": "Polygon", "coordinates": [ring]}
    features = [
        {"type": "Feature", "properties": {f"p{k}": 1}, "geometry": shape} for k in range(300)
    ]
    path = tmp_path / "many.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    with pytest.raises(InputError, match=r"300 different properties; at most 256 .*\[LABEL"):
        read_districts(path)


def test_a_shape_that_is_missing_is_named_and_texts_are_no_shapes(tmp_path):
    shape = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    texts = {"note": 'no "geometry": null here', "geometry": None}
    features = [{"type": "Feature", "properties": texts, "geometry": shape} for _ in range(3)]
    path = tmp_path / "wards.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    assert shapely.area(read_districts(path).rows.geometry.to_numpy()).tolist() == [0.5] * 3
    assert read_districts(path).rows["note"].tolist() == [texts["note"]] * 3
    features[1]["geometry"] = None
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    with pytest.raises(InputError, match=r"wards\.geojson: row 1 .* has no shape"):
        read_districts(path)
    path.write_text(json.dumps({**shape, "features": features}))
    with pytest.raises(InputError, match="it must be a FeatureCollection"):
        read_districts(path)


def test_a_district_that_hangs_out_by_less_than_a_thousandth_counts_as_whole():
    region = snhkit.Region.around(lat=46.87, lon=-96.79, side_m=1_000)
    ends = [(-500, 500.4), (-500, 510), (600, 700)]
    shapes = gpd.GeoSeries([shapely.box(x, 0, end, 400) for x, end in ends], crs=region.crs)
    notes = ["0", "1 (partly outside the region)", "2 (outside the region)"]
    assert Districts.of(shapes).inside(region).titles == notes
