"""Messages name the real cause, and what they advise works."""

import json
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snhkit.data import ReadReport, read_points
from snhkit.errors import InputError
from snhkit.geometry import Region

CITY = Region.around(lat=48.86, lon=2.35, side_m=10_000)


def message(source, **said) -> str:
    with pytest.raises(InputError) as refused:
        read_points(source, CITY, **said)
    assert "complete?" not in str(refused.value)
    return str(refused.value)


def test_points_in_wkb_without_metadata_are_read_with_point(tmp_path):
    wkb = [struct.pack("<BIdd", 1, 1, 2.35, 48.86), None]
    pq.write_table(pa.table({"geometry": pa.array(wkb, pa.binary())}), tmp_path / "a.parquet")
    assert message(tmp_path / "a.parquet").endswith("give point='geometry'.")
    told: list[ReadReport] = []
    assert len(read_points(tmp_path / "a.parquet", CITY, point="geometry", report=told.append)) == 1
    assert "row 1: latitude is missing" in str(told[0])


def test_points_as_databases_write_them_are_read_and_others_are_quoted(tmp_path):
    hexadecimal = struct.pack("<BIIdd", 1, 0x20000001, 4326, 2.35, 48.86).hex().upper()
    for points in ([hexadecimal, None], ["SRID=4326;POINT (2.35 48.86)", "SRID=2154;POINT (6 7)"]):
        frame = pd.DataFrame({"at": points})
        frame.to_csv(tmp_path / "a.csv", index=False)
        for source in (frame, tmp_path / "a.csv"):
            told: list[ReadReport] = []
            assert len(read_points(source, CITY, point="at", report=told.append)) == 1
            assert told[0].unusable == 1
    assert "row 3: point 'SRID=2154;POINT (6 7)' is not a position" in str(told[0])


def test_what_is_no_frame_is_not_called_incomplete():
    assert "complete" not in message(pd.Series([1, 2]))


@pytest.mark.parametrize("sep", [";", ",", "\t"])
def test_a_line_that_names_the_delimiter_is_no_header(sep, tmp_path):
    rows = [["name", "lat", "lon"], ["a,b;c", "48.86", "2.35"], ["x", "none", "2.35"]]
    text = "\r\n".join([f"sep={sep}", *(sep.join(f'"{v}"' for v in row) for row in rows)])
    (tmp_path / "a.csv").write_bytes(text.encode("utf-8-sig"))
    told: list[ReadReport] = []
    assert len(read_points(tmp_path / "a.csv", CITY, report=told.append)) == 1
    assert "row 4: latitude 'none' is not a number" in str(told[0])
    assert "the header is row 2" in str(told[0])


def test_a_timeline_of_google_is_pointed_to_the_layouts(tmp_path):
    (tmp_path / "Timeline.json").write_text(json.dumps({"semanticSegments": []}))
    assert "docs/howto/layouts.md" in message(tmp_path / "Timeline.json")


def test_ids_of_the_other_byte_order_are_read():
    ids = np.array([7, 8, 7])
    for kind in (">i8", ">i4", ">u2", ">f8"):
        frame = pd.DataFrame({"lat": [48.86] * 3, "lon": 2.35, "user": ids.astype(kind)})
        user = read_points(frame, CITY, user="user").user
        assert user is not None
        assert user.tolist() == [0, 1, 0]


def test_old_line_ends_are_read_as_the_message_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_bytes(b"lat,lon\r48.86,2.35\r48.87,2.36\r")
    told = message("a.csv")
    assert "its lines end in CR" in told
    remedy = told.split("pass ")[1].split(", which")[0]
    assert len(read_points(eval(remedy, {"pandas": pd}), CITY)) == 2


def test_dates_and_spreadsheet_days_are_converted_as_the_message_says():
    frame = pd.DataFrame({"lat": [48.86] * 2, "lon": 2.35})
    for numbers, day in (([20261101.0, 20261102], 20_758), ([46_327.5, 46_328.0], 20_758)):
        told = message(frame.assign(t=numbers), time="t")
        remedy = told.split("convert them with ")[1].removesuffix(".")
        column = eval(remedy, {"pandas": pd, "column": frame.assign(t=numbers)["t"]})
        days = read_points(frame.assign(t=column), CITY, time="t").day
        assert days is not None
        assert days.tolist() == [day, day + 1]


def test_bad_times_are_not_called_bad_positions():
    frame = pd.DataFrame({"lat": [48.86], "lon": 2.35, "t": ["noon"]})
    told = message(frame, time="t")
    assert "No row has a time that can be read" in told
    assert "degrees" not in told
