"""Files that are broken or mean harm end in one clear error."""

import contextlib
import gzip
import os
import struct

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

from snhkit.data import read_points
from snhkit.data.counting import counters
from snhkit.data.sources import columnar, delimited
from snhkit.errors import InputError
from snhkit.geometry import Region

CITY = Region.around(lat=48.86, lon=2.35, side_m=10_000)
ROW = b"48.86,2.35\n"


def npy(header):
    header = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def refused(path, told):
    with pytest.raises(InputError, match=told) as refusal:
        read_points(path, CITY)
    message = str(refusal.value)
    assert len(message) < 1_000
    assert "\n" not in message
    assert refusal.value.__cause__ is None


FILES = {
    "empty.csv": (b"", "file is empty"),
    "only_header.csv": (b"lat,lon\n", "there are no rows"),
    "blank.csv": (b"\nlat,lon\n" + ROW, "its first row is empty"),
    "binary.csv": (b"PAR1\x15\x04\x15P\n", "its first row is not text"),
    "headless.csv": (ROW * 3, "add a first row such as lat,lon"),
    "wide.csv": (b"a," * 50_000 + b"\n" + ROW, "50,001 columns; at most 10,000"),
    "wider.csv": (b"a," * 2_000_000, "first row is longer"),
    "latin.csv": (b"lat,lon,n\xe4me\n" + ROW, "not in UTF-8"),
    "latin_below.csv": (b"lat,lon,user\n48.86,2.35,\xe4\n", "not in UTF-8"),
    "utf16.csv": ("lat,lon\n48.86,2.35\n".encode("utf-16"), "not in UTF-8"),
    "long.csv": (b"lat,lon\n" + b"1" * 9_000_000 + b",2\n" + ROW, "row is longer than"),
    "unclosed_header.csv": (b'lat,"lon\n' + ROW, "could not be read as text"),
    "ragged.csv": (
        b"lat,lon\n" + b"1\n" * 2_000 + ROW,
        "rows have 1 fields, but the header has 2; 1,000 or more rows.*separated by ','",
    ),
    "cut.csv.gz": (
        gzip.compress(b"lat,lon\n" + os.urandom(9_000).hex().encode())[:-999],
        "complete",
    ),
    "bent.csv.gz": (b"\x1f\x8b" + bytes(99), "could not be read"),
    "empty.npy": (b"", "could not be read as .npy"),
    "huge.npy": (npy("{'descr':'<f8','fortran_order':False,'shape':(10**15, 2)}"), "as .npy"),
    "short.npy": (
        npy("{'descr':'<f8','fortran_order':False,'shape':(100,2)}") + bytes(64),
        "could not be read as .npy",
    ),
    "pickle.npy": (
        npy("{'descr':'|O','fortran_order':False,'shape':(1,2)}") + b"cos\nsystem\n(S'true'\ntR.",
        "could not be read as .npy.*Python objects",
    ),
    "flat.npy": (
        npy("{'descr':'<f8','fortran_order':False,'shape':(4,)}") + bytes(32),
        r"longitude, not \(4,\)",
    ),
    "three.npy": (
        npy("{'descr':'<f8','fortran_order':False,'shape':(1,3)}") + bytes(24),
        "3 columns without names.*lat=0, lon=1",
    ),
    "complex.npy": (
        npy("{'descr':'<c16','fortran_order':False,'shape':(1,2)}") + bytes(32),
        "must be numbers, not complex128",
    ),
    "empty.parquet": (b"", "could not be read as Parquet"),
    "junk.parquet": (b"PAR1" + bytes(99) + b"PAR1", "could not be read as Parquet"),
    "empty.geojson": (b"", "could not be read as GeoJSON"),
    "cut.geojson": (b'{"type":"FeatureCollection","features":[{"type":', "as GeoJSON"),
    "deep.geojson": (b'{"type":"FeatureCollection","features":' + b"[" * 99_999, "as GeoJSON"),
    "table.geojson": (
        b'{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":1}}]}',
        "no row can be used|could not be read",
    ),
    "none.geojson": (b'{"type":"FeatureCollection","features":[]}', "there are no rows"),
    "junk.gpkg": (b"SQLite format 3\0" + bytes(52) + b"GPKG" + bytes(999), "as GPKG"),
    "a.xlsx": (b"PK", "only files named .parquet, .csv"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files(tmp_path, name):
    content, told = FILES[name]
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, told)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file(tmp_path):
    refused(tmp_path / "missing.csv", "does not exist")
    refused(str(tmp_path / "nul\0byte.csv"), "does not exist|cannot be read")
    refused("https://example.org/a.csv", "need a package: pip install")
    (tmp_path / "folder.csv").mkdir()
    refused(tmp_path / "folder.csv", "no file was found")
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", "is not a file")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    refused(tmp_path / "loop.csv", "does not exist|cannot be read")
    refused(42, "an array or a data frame is needed, not int")


def test_another_file_is_never_read_through_a_geographic_one(tmp_path):
    (tmp_path / "secret.csv").write_text('WKT\n"POINT(2.35 48.86)"\n')
    vrt = (
        "<OGRVRTDataSource><OGRVRTLayer name='secret'><LayerSRS>EPSG:4326</LayerSRS>"
        f"<SrcDataSource>{tmp_path}/secret.csv</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>"
    )
    (tmp_path / "a.vrt").write_text(vrt)
    assert len(gpd.read_file(tmp_path / "a.vrt")) == 1  # the attack works where it is not stopped
    for name in ("a.geojson", "a.gpkg"):
        (tmp_path / name).write_text(vrt)
        refused(tmp_path / name, "could not be read as GeoJSON|not a GeoPackage")


def test_bent_parquet(tmp_path):
    pd.DataFrame({"lat": [48.86] * 99, "lon": [2.35] * 99}).to_parquet(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        bent = bytearray(whole)
        for at in rng.integers(4, len(whole), 5):
            bent[at] = rng.integers(256)
        (tmp_path / "a.parquet").write_bytes(bent)
        with contextlib.suppress(InputError):
            read_points(tmp_path / "a.parquet", CITY, report=lambda _: None)


def test_parquet_columns_that_are_no_numbers(tmp_path):
    pd.DataFrame({"lat": [[1.0]], "lon": [2.35]}).to_parquet(tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "must be numbers, not list")
    frame = pd.DataFrame({"lat": [48.86], "lon": [2.35], "user": [[1]]})
    frame.to_parquet(tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "user ids must be numbers or text")
    refused(frame, "user ids must be numbers or text")
    refused(
        pd.DataFrame({"lat": [{}], "lon": [2.35]}),
        "could not be read as numbers|no row can be used",
    )


def test_a_large_geojson_is_refused_before_it_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr("snhkit.untrusted._MAX_GEOJSON", 99)
    monkeypatch.setattr("pyogrio.list_layers", lambda *_: pytest.fail("it was opened"))
    (tmp_path / "a.geojson").write_bytes(b" " * 100)
    refused(tmp_path / "a.geojson", "has 100 bytes, more than the GeoJSON limit of 99")


def test_a_packed_bomb_is_refused_before_it_has_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_FREE_BYTES", 2**20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"lat,lon\n" + ROW * 2_000_000))
    refused(tmp_path / "a.csv.gz", "the text of the file has at least")


def test_too_many_rows_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(counters, "MAX_ROWS", 50)
    frame = pd.DataFrame({"lat": [48.86] * 51, "lon": 2.35})
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (tmp_path / "a.csv", frame):  # how many there are is private
        refused(source, "more than 50 rows lie in the region; at most 50 are read")


def test_parquet_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(columnar, "MAX_BYTES", 1_000)
    frame = pd.DataFrame({"lat": np.linspace(48.85, 48.86, 500), "lon": 2.35})
    frame.to_parquet(tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "at most 1,000 are read")
