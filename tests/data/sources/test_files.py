"""Which files a path, folder, pattern or list means, and that each counts once."""

import gzip
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snhkit.data import ReadReport, read_points
from snhkit.data.sources.files import find_files
from snhkit.errors import InputError
from snhkit.geometry import Region

CITY = Region.around(lat=37.76, lon=-122.43, side_m=10_000)


def csv(path, rows=2):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("lat,lon\n" + "37.76,-122.43\n" * rows)
    return path


def names(source):
    return [place.name for place in find_files(source)[1]]


def test_a_file_counts_once_however_it_is_named(tmp_path):
    march = csv(tmp_path / "trips" / "march.csv")
    (tmp_path / "trips" / "latest.csv").symlink_to("march.csv")
    (tmp_path / "trips" / "again.csv").hardlink_to(march)
    for link in "abcdefgh":  # many loops, so that a walk that follows each would never end
        (tmp_path / "trips" / link).symlink_to(".")
    for source in (
        tmp_path / "trips",
        f"{tmp_path}/trips/*.csv",
        [march, tmp_path / "trips" / ".." / "trips" / "march.csv"],
        [tmp_path / "trips", f"{tmp_path}/trips/**/*.csv", march],
        f"file://{tmp_path}/trips",
    ):
        assert len(read_points(source, CITY, report=lambda told: None)) == 2


def test_a_star_does_not_cross_folders_and_a_literal_name_comes_first(tmp_path):
    for name in ("2026.csv", "old/2019.csv", "old/older/2001.csv", "trips [2024].csv"):
        csv(tmp_path / name)
    assert names(f"{tmp_path}/*6.csv") == ["2026.csv"]
    assert names(f"{tmp_path}/*/*.csv") == ["2019.csv"]
    assert names(f"{tmp_path}/**/2*.csv") == ["2026.csv", "2019.csv", "2001.csv"]
    assert names(f"{tmp_path}/trips [2024].csv") == ["trips [2024].csv"]


def test_patterns_of_other_file_systems_are_those_of_this_one():
    fsspec = pytest.importorskip("fsspec")
    for name in ("a.csv", "old/b.csv", "old/older/c.csv", "_tmp/d.csv"):
        with fsspec.open(f"memory://patterns/{name}", "wb") as file:
            file.write(b"lat,lon\n37.76,-122.43\n")
    assert len(read_points("memory://patterns/*.csv", CITY)) == 1
    assert names("memory://patterns/*.csv") == ["a.csv"]
    assert names("memory://patterns/*/*.csv") == ["b.csv"]
    assert names("memory://patterns/**/*.csv") == ["a.csv", "b.csv", "c.csv"]
    assert names(["memory://patterns", "memory://patterns/a.csv"]) == ["a.csv", "b.csv", "c.csv"]


def test_what_is_not_read_is_told(tmp_path):
    csv(tmp_path / "a.csv")
    csv(tmp_path / "b.csv")
    for name in ("_SUCCESS", ".a.csv.crc", "notes.md", "old.xlsx", "1.zip", "2.zip"):
        (tmp_path / name).write_text("x")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "empty.csv.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "gone.csv").symlink_to("nowhere.csv")
    told: list[ReadReport] = []
    assert len(read_points(tmp_path, CITY, report=told.append)) == 4
    assert told[0].notes == ("2 files read; 7 not: 1.zip, 2.zip, empty.csv (empty) and 4 more",)


def test_a_name_that_is_not_utf_8_is_read(tmp_path):
    path = csv(tmp_path / os.fsdecode(b"caf\xe9.csv"), rows=1)
    for source in (path, str(path), tmp_path):
        told: list[ReadReport] = []
        assert len(read_points(source, CITY, report=told.append)) == 1
        str(told[0]).encode()


def test_geographic_files_need_names_in_utf_8(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.geojson")
    path.write_text("{}")
    with pytest.raises(InputError, match="the name of the file is not in UTF-8"):
        read_points(path, CITY)


def test_a_packed_copy_and_several_kinds_are_refused(tmp_path):
    csv(tmp_path / "a.csv")
    csv(tmp_path / "a.csv.gz")
    with pytest.raises(InputError, match=r"a\.csv\.gz lies beside a\.csv.*would count twice"):
        read_points(tmp_path, CITY)
    pq.write_table(pa.table({"lat": [37.76], "lon": [-122.43]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"of one kind.*\.csv \(a\.csv\) and \.parquet"):
        read_points([tmp_path / "a.csv", tmp_path / "b.parquet"], CITY)


def test_parts_with_other_columns_are_refused(tmp_path):
    csv(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("latitude,lon\n37.76,-122.43\n")
    with pytest.raises(InputError, match=r"column of lat is 'latitude' in b\.csv, but 'lat' in a"):
        read_points(tmp_path, CITY)
    (tmp_path / "b.csv").write_text("note,LON,Lat\nx,-122.43,37.76\n")
    assert len(read_points(tmp_path, CITY)) == 3


def test_ids_that_may_or_may_not_be_one_person_are_refused(tmp_path):
    def part(name, ids):
        table = {"lat": [37.76] * len(ids), "lon": [-122.43] * len(ids), "user": ids}
        pq.write_table(pa.table(table), tmp_path / name)

    part("a.parquet", [42, 7])
    part("b.parquet", ["42", "8"])
    assert read_points(tmp_path, CITY).user.tolist() == [0, 1, 0, 2]
    for text in ("042", "4.2e1", "1,042", "1 042", "４２", "#42", "0.10", "1e999999999"):
        part("b.parquet", [text, "8"])
        told = rf"'{text}', but those of a\.parquet \(int64\) are numbers"
        with pytest.raises(InputError, match=told):
            read_points(tmp_path, CITY)
    part("b.parquet", [b"42", b"8"])
    with pytest.raises(InputError, match=r"int64 in a\.parquet and binary in b\.parquet"):
        read_points(tmp_path, CITY)
