"""Boxes from files, hostile ones included, and their answers beside them."""

import json

import geopandas as gpd
import numpy as np
import pytest
import shapely

import snhkit as snh
from snhkit.districts.boxes import estimates_text, read_boxes
from snhkit.errors import InputError

CITY = snh.Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
HEAD = "south,west,north,east\n"
ROW = "37.76,-122.44,37.77,-122.43\n"


def _shape(west, south, east, north):
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def _collection(*geometries, **more):
    features = [{"type": "Feature", "properties": {}, "geometry": g} for g in geometries]
    return {"type": "FeatureCollection", "features": features} | more


def _triangle(west):
    ring = [[west, 37.76], [west + 0.01, 37.76], [west, 37.77], [west, 37.76]]
    return {"type": "Polygon", "coordinates": [ring]}


SHAPE = _shape(-122.44, 37.76, -122.43, 37.77)


def answered(rows, counts, suffix):
    """A file with counts only, as text."""
    return estimates_text(rows.assign(count=np.asarray(counts, float)), suffix)


def _assert_the_box(rows):
    queries = snh.RangeQueries.of(CITY, rows)
    expected = snh.RangeQueries.from_degrees(CITY, 37.76, -122.44, 37.77, -122.43)
    for name in ("x", "y", "width", "height"):
        np.testing.assert_array_equal(getattr(queries, name), getattr(expected, name))


@pytest.fixture
def written(tmp_path):
    def write(name, content):
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    "text",
    [
        HEAD + ROW,
        "\ufeff" + HEAD + ROW,
        HEAD.replace("\n", "\r\n") + ROW.replace("\n", "\r\n"),
        (HEAD + ROW).replace(",", ";"),
        "North,EAST,id,West, south\n37.77,-122.43,a,-122.44,37.76\n",
        HEAD + '"37.76", -122.44,3.777e1,-122.43\n\n',
    ],
    ids=["plain", "byte order mark", "DOS", "semicolons", "other order", "quotes"],
)
def test_csv(written, text):
    rows = read_boxes(written("b.csv", text))
    _assert_the_box(rows)
    assert len(rows) == 1


def test_an_empty_table_is_answered_by_an_empty_table(written):
    rows = read_boxes(written("b.csv", HEAD))
    assert len(rows) == 0
    assert answered(rows, [], ".csv") == HEAD.strip() + ",count\n"


def test_other_columns_keep_their_text(written):
    head = "id,south,west,north,east,price,when,none\n"
    row = '007,37.760,-122.44,37.77,-122.43,1e3,2024-01-02,NA\n"a\nb",37.76,-122.44,37.77,-122.43'
    rows = read_boxes(written("b.csv", head + row + ",,,\n"))
    assert answered(rows, np.array([1.23456, -0.0001]), ".csv") == (
        "id,south,west,north,east,price,when,none,count\n"
        "007,37.76,-122.44,37.77,-122.43,1e3,2024-01-02,NA,1.235\n"
        '"a\nb",37.76,-122.44,37.77,-122.43,,,,0.0\n'
    )


@pytest.mark.parametrize(("name", "mark"), [("b.geojson", ""), ("b.JSON", "\ufeff")])
def test_geojson(written, name, mark):
    rows = read_boxes(written(name, mark + json.dumps(_collection(SHAPE))))
    _assert_the_box(rows)
    back = json.loads(answered(rows, [2.0], ".json"))
    assert back["features"][0] == _collection(SHAPE)["features"][0] | {"properties": {"count": 2.0}}
    table = answered(rows, [2.0], ".csv")
    assert table == "south,west,north,east,count\n37.76,-122.44,37.77,-122.43,2.0\n"


def test_properties_come_back_as_they_were(written):
    document = _collection(SHAPE, SHAPE, crs={"name": "urn:ogc:def:crs:OGC::CRS84"})
    told = {"geometry": "mine", "n": 2**60 + 1, "deep": {"a": [None]}, "name": "Zürich 🏔"}
    document["features"][0] |= {"id": 7, "properties": told}
    document["features"][1] |= {"id": 8}
    rows = read_boxes(written("b.json", document))
    first, second = json.loads(answered(rows, [1.0, 2.0], ".geojson"))["features"]
    assert first == document["features"][0] | {"id": "7", "properties": told | {"count": 1.0}}
    assert second["properties"] == dict.fromkeys(told) | {"count": 2.0}
    csv = answered(rows, [1.0, 2.0], ".csv").splitlines()
    assert f"mine,{2**60 + 1}," in csv[1]


@pytest.mark.parametrize("name", ["urn:ogc:def:crs:EPSG::4269", "EPSG:26910", "EPSG:4326"])
def test_shapes_in_another_crs(written, name):
    frame = gpd.GeoSeries([shapely.geometry.shape(SHAPE)], crs=4326).to_crs(name.split(":")[-1])
    geometry = json.loads(frame.to_json())["features"][0]["geometry"]
    document = _collection(geometry, crs={"type": "name", "properties": {"name": name}})
    rows = read_boxes(written("b.geojson", document))
    back = gpd.GeoDataFrame.from_features(json.loads(answered(rows, [1.0], ".json")))
    assert back.total_bounds == pytest.approx([-122.44, 37.76, -122.43, 37.77], abs=1e-6)


def test_a_table_of_sides_becomes_shapes(written):
    rows = read_boxes(written("b.csv", HEAD + ROW))
    (feature,) = json.loads(answered(rows, [1.0], ".geojson"))["features"]
    assert shapely.equals(
        shapely.geometry.shape(feature["geometry"]), shapely.geometry.shape(SHAPE)
    )
    assert feature["properties"]["south"] == 37.76


REFUSED = {
    "columns": ("b.csv", "south:west:north:east\n1:2:3:4\n", "no column south, west, north, east"),
    "a side twice": ("b.csv", "south," + HEAD + "1," + ROW, "two columns are named 'south'; re"),
    "a side in two spellings": ("b.csv", " South," + HEAD + "1," + ROW, "two columns are named"),
    "a name twice": ("b.csv", "a,a," + HEAD + "1,2," + ROW, "two columns are named 'a'"),
    "columns without end": ("b.csv", "," * 100_000, "it has 100,001 columns; at most 256 are"),
    "no header": ("b.csv", ROW, "no column south"),
    "comma": ("b.csv", HEAD + ROW + '"37,76",-122.44,37.77,-122.43\n', "box 1: south = '37,76'"),
    "infinite": ("b.csv", HEAD + "37.76,-122.44,inf,-122.43\n", "box 0: north = 'inf'"),
    "more fields": ("b.csv", HEAD + "1," + ROW, "line 2 has 5 fields, but the header has 4"),
    "more fields later": ("b.csv", HEAD + ROW + "1," + ROW, "line 3 has 5 fields, but the header"),
    "empty": ("b.csv", "", "it is empty"),
    "stray quotes": (
        "b.csv",
        "id," + HEAD + "".join(f"{mark}a,{ROW}" for mark in ('"', "", '"', "")),
        "line 2: a quotation mark opens a field that is closed only on line 4",
    ),
    "open quote": (
        "b.csv",
        "id," + HEAD + f'a,{ROW}"b,{ROW}c,{ROW}',
        "line 3: a quotation mark opens a field and none closes it",
    ),
    "half a quote": ("b.csv", "id," + HEAD + f'"a"b,{ROW}', "could not be read as CSV"),
    "latin": ("b.csv", (HEAD + ROW).replace("east", "öst").encode("latin-1"), "read as CSV"),
    "kind": ("b.txt", HEAD + ROW, "polygons are read from .geojson, .json, .gpkg or .parquet"),
    "no JSON": ("b.json", "{", "could not be read as GeoJSON"),
    "a list": ("b.json", [], "could not be read as GeoJSON"),
    "a geometry": ("b.json", SHAPE, "could not be read as GeoJSON"),
    "deep": ("b.json", "[" * 100_000, "could not be read as GeoJSON"),
    "no geometry": ("b.json", {"features": [{"properties": {}}]}, "could not be read"),
    "no shape": ("b.json", _collection(SHAPE, None), "row 1 (counted from 0) has no shape"),
    "a point": (
        "b.json", _collection({"type": "Point", "coordinates": [-122, 37]}), "is a Point, not a",
    ),
    "no CRS": ("b.json", _collection(SHAPE, crs={"name": "EPSG:999999"}), "CRS is unknown"),
    "odd CRS": ("b.json", _collection(SHAPE, crs=["EPSG:4326"]), "CRS is unknown"),
    "properties": (
        "b.json",
        {"features": [{"geometry": SHAPE, "properties": ["count"]}]},
        "properties of a feature",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_box_is_refused(written, name, content, told):
    path = written(name, content)
    with pytest.raises(InputError) as refusal:
        read_boxes(path)
    assert told in str(refusal.value)
    assert path.name in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_polygons_stay_polygons(written):
    near, far = (_triangle(west) for west in (-122.44, 10))
    rows = read_boxes(written("b.geojson", _collection(SHAPE, near, far)))
    assert [shapely.geometry.mapping(s)["coordinates"] for s in rows.geometry] == [
        tuple(tuple(map(tuple, ring)) for ring in g["coordinates"]) for g in (SHAPE, near, far)
    ]
    assert rows.crs.to_epsg() == 4326
    back = json.loads(answered(rows, [1.0, 2.0, 0.0], ".geojson"))
    assert [f["properties"]["count"] for f in back["features"]] == [1, 2, 0]
    assert answered(rows, [1.0, 2.0, 0.0], ".csv") == "count\n1.0\n2.0\n0.0\n"


def test_a_missing_or_huge_file_is_refused(tmp_path, written, monkeypatch):
    with pytest.raises(InputError, match="no such file"):
        read_boxes(tmp_path / "a.csv")
    monkeypatch.setattr("snhkit.districts.boxes._MAX_BYTES", 10)
    with pytest.raises(InputError, match="larger than the limit of 10 bytes"):
        read_boxes(written("b.csv", HEAD + ROW))
