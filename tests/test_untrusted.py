"""Shapes, reference systems and columns of files that mean harm end in one clear error."""

import contextlib
import json
import sqlite3
import struct

import geopandas as gpd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj
import pytest
import shapely

from snhkit.data import read_points
from snhkit.data.sources import columnar
from snhkit.districts import files as district_files
from snhkit.districts.districts import Districts
from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.untrusted import refuse_paths, unpacked_bytes

CITY = Region.around(lat=48.86, lon=2.35, side_m=10_000)


def refused(path, told):
    with pytest.raises(InputError, match=told):
        read_points(path, CITY)


def geoparquet(path, shape, rows=1, name=b"", **about):
    """Write a GeoParquet file whose rows refer to one shape and one name."""
    kinds = pa.dictionary(pa.int32(), pa.binary()), pa.dictionary(pa.int32(), pa.string())
    told = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"} | about}}
    schema = pa.schema([("geometry", kinds[0]), ("user", kinds[1])], {b"geo": json.dumps(told)})
    at = pa.array(np.zeros(rows, np.int32))
    columns = [
        pa.DictionaryArray.from_arrays(at, pa.array([value], kind.value_type))
        for value, kind in zip((shape, name.decode()), kinds, strict=True)
    ]
    with pq.ParquetWriter(path, schema, store_schema=False) as writer:
        writer.write_table(pa.table(columns, schema=schema))
        writer.add_key_value_metadata({b"geo": json.dumps(told)})


# A collection in WKB that holds one other, with its byte order, type and length.
INSIDE = {
    "little": b"\x01\x07\x00\x00\x00\x01\x00\x00\x00",
    "big": b"\x00\x00\x00\x00\x07\x00\x00\x00\x01",
    "of a reference system": b"\x01\x07\x00\x00\x20\xe6\x10\x00\x00\x01\x00\x00\x00",
    "with heights": b"\x01\xef\x03\x00\x00\x02\x00\x00\x00"
    + struct.pack("<BIddd", 1, 1001, 2.35, 48.86, 0),
    "of polygons": b"\x01\x06\x00\x00\x00\x01\x00\x00\x00",
    "after other shapes": b"\x01\x07\x00\x00\x00\x04\x00\x00\x00"
    + shapely.Point(1, 2).wkb + shapely.LineString([(0, 0, 0), (1, 1, 1)]).wkb
    + shapely.box(0, 0, 1, 1).wkb,
}  # fmt: skip
CORNER = struct.pack("<BIdd", 1, 1, 2.35, 48.86)


@pytest.mark.parametrize("inside", INSIDE)
def test_shapes_in_shapes_do_not_overflow_the_stack(tmp_path, inside):
    shape = INSIDE[inside] * 40 + CORNER  # 200,000 end the process
    geoparquet(tmp_path / "a.parquet", shape)
    refused(tmp_path / "a.parquet", "more than 32 others")
    with pytest.raises(InputError, match="more than 32 others"):
        Districts.of(tmp_path / "a.parquet")
    flat = INSIDE[inside] * 30 + CORNER
    geoparquet(tmp_path / "a.parquet", flat)
    refused(tmp_path / "a.parquet", "is a (GeometryCollection|MultiPolygon), not a point|complete")


def test_a_shape_in_big_endian_numbers_is_in_no_other(tmp_path):
    disc = shapely.Point(2.35, 48.86).buffer(0.01)
    rows = [disc.wkb_hex, shapely.to_wkb(disc, hex=True, byte_order=0)]
    (tmp_path / "a.csv").write_text("\n".join(["where", *rows, ""]))
    with pytest.raises(InputError, match="is a Polygon, not a point"):
        read_points(tmp_path / "a.csv", CITY, point="where")


@pytest.mark.parametrize(
    "shape",
    [(INSIDE["little"] * 40).hex(), "GEOMETRYCOLLECTION(" * 40 + "POINT(1 2)" + ")" * 40],
)
def test_texts_of_shapes_in_shapes_do_not_either(tmp_path, shape):
    rows = ["POINT (2.35 48.86)" if "(" in shape else CORNER.hex(), shape]
    (tmp_path / "a.csv").write_text("\n".join(["where", *rows, ""]))
    with pytest.raises(InputError, match="more than 32 others"):
        read_points(tmp_path / "a.csv", CITY, point="where")


def test_one_long_text_for_all_rows_does_not_fill_the_memory(tmp_path, monkeypatch):
    seen = []

    def unpacked(column):
        seen.append(str(column.type))
        return unpacked_bytes(column)

    for module in (columnar, district_files):
        monkeypatch.setattr(module, "unpacked_bytes", unpacked)
    geoparquet(tmp_path / "a.parquet", CORNER, 60_000, b"x" * 1_000)
    monkeypatch.setattr(columnar, "_BATCH_BYTES", 50_000_000)
    monkeypatch.setattr(district_files, "_MAX_BYTES", 50_000_000)
    with pytest.raises(InputError, match=r"rows 0 to 59,999 unpack to 61,7\d\d,\d{3} bytes"):
        read_points(tmp_path / "a.parquet", CITY, user="user")
    with pytest.raises(InputError, match="unpacks to more than the limit of 50,000,000"):
        Districts.of(tmp_path / "a.parquet")
    assert len(seen) == 4
    assert all(kind.startswith("dictionary") for kind in seen)
    geoparquet(tmp_path / "a.parquet", CORNER, 70_000)
    assert len(read_points(tmp_path / "a.parquet", CITY, report=lambda _: None)) == 70_000
    with pytest.raises(InputError, match="the file has"):
        Districts.of(tmp_path / "a.parquet")


def test_numbers_in_a_dictionary_take_the_bytes_that_are_stored():
    column = pa.array([7, 7, 8]).dictionary_encode()
    assert unpacked_bytes(column) == column.nbytes


COMPUTED = "ALTER TABLE a ADD COLUMN much AS (hex(zeroblob(400000000)))"
ENDLESS = (
    "CREATE VIEW b AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
    "SELECT i AS fid, geom FROM n, a"
)


@pytest.mark.parametrize(("query", "name"), [(COMPUTED, "'a'"), (ENDLESS, "'b'")])
@pytest.mark.parametrize("disguised", [False, True])
def test_a_geopackage_with_queries_is_not_opened(tmp_path, monkeypatch, query, name, disguised):
    frame = gpd.GeoDataFrame(geometry=gpd.points_from_xy([2.35], [48.86], crs=4326))
    frame.to_file(path := tmp_path / "a.gpkg")
    assert len(read_points(path, CITY)) == 1
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(query)
        if disguised:
            file.execute("PRAGMA writable_schema = 1")
            file.execute("UPDATE sqlite_master SET type = 'table' WHERE type = 'view'")
    monkeypatch.setattr("pyogrio.list_layers", lambda *_: pytest.fail("it was opened"))
    refused(path, f"{name} is a view or has computed columns|malformed")
    with pytest.raises(InputError, match=r"is a view|malformed"):
        Districts.of(path)


NAMING_FILES = [
    "+init=/dev/stdin:1", "+init=../a:1", "+init=./a:1", "+proj=longlat +nadgrids=/dev/stdin",
    "+proj=longlat +nadgrids=@null,/dev/stdin", {"init": "/dev/stdin:1"}, "+init=//dev/stdin:1",
]  # fmt: skip


@pytest.mark.parametrize("crs", [{"id": []}, {"id": 7}, [1], 4.5, "x"], ids=str)
def test_a_reference_system_that_is_none_is_refused(tmp_path, crs):
    geoparquet(tmp_path / "a.parquet", CORNER, crs=crs)
    refused(tmp_path / "a.parquet", "CRS")


@pytest.mark.parametrize("crs", NAMING_FILES, ids=str)
def test_a_reference_system_opens_no_file(tmp_path, crs):
    """PROJ would wait for the end of a pipe."""
    shape = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    feature = {"type": "Feature", "properties": {}, "geometry": shape}
    named = {"type": "name", "properties": {"name": crs}}
    document = {"type": "FeatureCollection", "features": [feature], "crs": named}
    (tmp_path / "a.geojson").write_text(json.dumps(document))
    geoparquet(tmp_path / "a.parquet", CORNER, crs=crs)
    refused(tmp_path / "a.parquet", r"a\.parquet: its CRS names a file")
    for name in ("a.geojson", "a.parquet"):
        with pytest.raises(InputError, match=rf"{name}: its CRS names a file"):
            Districts.of(tmp_path / name)


def test_the_reference_system_of_a_geopackage_opens_no_file(tmp_path):
    crs = "+proj=longlat +ellps=clrk66 +nadgrids=/nowhere/a.gsb +no_defs"
    for name, shape in (("a.gpkg", shapely.box(0, 0, 1, 1)), ("b.gpkg", shapely.Point(0, 0))):
        gpd.GeoDataFrame({"a": [1]}, geometry=[shape], crs=crs).to_file(tmp_path / name)
    with pytest.raises(InputError, match=r"a\.gpkg: its CRS names a file"):
        Districts.of(tmp_path / "a.gpkg")
    refused(tmp_path / "b.gpkg", r"b\.gpkg: its CRS names a file")


def test_usual_reference_systems_name_no_files():
    for code in (2056, 2154, 3857, 4326, 4258, 4978, 6318, 26971, 27700, 31370, 32633, 2272):
        crs = pyproj.CRS(code)
        for text in (crs.to_wkt(), crs.to_wkt("WKT1_GDAL"), crs.to_json_dict(), f"EPSG:{code}"):
            refuse_paths(text)
    refuse_paths("http://www.opengis.net/def/crs/EPSG/0/2056")
    refuse_paths("urn:ogc:def:crs:EPSG::2056")
    refuse_paths("+proj=longlat +nadgrids=@null")
    refuse_paths(None)
