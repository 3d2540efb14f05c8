"""What is kept, what is left out, and what the owner is told: the real cause, and what helps."""

import gzip
import json
import struct
import warnings

import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from snhkit.data import ReadReport, ReadWarning, read_points
from snhkit.data.sources import delimited
from snhkit.errors import InputError
from snhkit.geometry import Points, Region

PARIS = Region.around(lat=48.86, lon=2.35, side_m=10_000)
BERLIN = Region.around(lat=52.5, lon=13.4, side_m=9_000)
FRISCO = Region.around(lat=37.76, lon=-122.43, side_m=10_000)


def read(source, region=PARIS, **said) -> tuple[Points, ReadReport]:
    reports: list[ReadReport] = []
    return read_points(source, region, report=reports.append, **said), *reports


def read_csv(tmp_path, content, **said):
    (tmp_path / "trips.csv").write_text(content)
    return read(tmp_path / "trips.csv", **said)


def test_bad_rows_are_counted_and_named_as_in_a_spreadsheet(tmp_path):
    points, report = read_csv(
        tmp_path,
        "lat,lon,note\n"
        '48.86,2.35,"two\nlines"\n'  # row 2
        "\n"  # 3
        "48.87,,\n"  # 4
        "48.87,2.36\n"  # 5: a field short
        "91,2.35,\n"  # 6
        "48.86,-181,\n"  # 7
        "here,2.35,\n"  # 8
        "inf,2.35,\n"  # 9
        "nan,2.35,\n"  # 10
        "0,0,\n"  # 11: outside
        "48.87,2.36,a,b\n"  # 12: a field too many
        "48.85,2.34,",  # 13, without an end of line
    )
    assert len(points) == 2
    np.testing.assert_array_equal(points.xy, PARIS.to_xy([48.86, 48.85], [2.35, 2.34]))
    assert (report.rows, report.kept, report.outside, report.unusable) == (12, 2, 1, 9)
    assert report.unusable_rows == (3, 4, 5, 6, 7)
    assert repr(report) == str(report)
    assert str(report) == (
        "trips.csv: 2 of 12 rows kept; 1 outside the region; "
        "9 unusable: row 3: latitude is missing; row 4: longitude is missing; "
        "row 5: 2 fields, but the header has 3; row 6: latitude 91 is out of range; "
        "row 7: longitude -181 is out of range; and 4 more "
        "(rows are numbered as in a spreadsheet: the header is row 1). "
        "For the eyes of the records' owner only."
    )


def test_rows_after_a_malformed_one_keep_their_numbers(tmp_path):
    _, report = read_csv(tmp_path, "lat,lon\n1\n48.86,2.35\n1,2,3\nx,y\n48.86,2.35\n")
    assert report.unusable_rows == (2, 4, 5)


def test_frames_and_arrays_count_from_zero():
    frame = pd.DataFrame({"lat": [48.86, None, 48.86], "lon": [2.35, 2.35, "?"]}, index=[7, 8, 9])
    _, told = read(frame)
    bad = np.array([[np.nan, 2.35], [48.86, 2.35]])
    assert (told.unusable_rows, read(bad)[1].unusable_rows) == ((1, 2), (0,))
    assert "row 1: latitude is missing; row 2: longitude '?' is not a number" in str(told)
    assert "rows count from 0" in str(told)


def test_the_owner_is_warned_unless_all_is_well():
    good = np.array([[48.86, 2.35]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_points(good, PARIS)
    bad = np.array([[48.86, 2.35], [0, 0]])
    with pytest.warns(ReadWarning, match="1 of 2 rows kept; 1 outside.*owner only") as caught:
        read_points(bad, PARIS)
    assert caught[0].filename == __file__


def test_points_do_not_tell_what_was_left_out():
    points = read_points(np.array([[48.86, 2.35], [0, 0]]), PARIS, report=lambda _: None)
    assert set(vars(points)) == {"region", "xy", "_user", "time", "tz"}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([[0.0, 0.0], [1.0, 1.0]], r"no row lies in the region of 10000 m around \(48.86, 2.35\)"),
        ([[np.nan, 2.35]], "no row can be used"),
        ([[48.86, 999]], "no row can be used.*decimal point.*crs="),
    ],
)
def test_nothing_left_is_an_error(rows, told):
    with pytest.raises(InputError, match=f"{told}.*0 of {len(rows)} rows kept.*owner only"):
        read_points(np.array(rows), PARIS)


@pytest.mark.parametrize("region", [PARIS, FRISCO])
def test_swapped_columns_are_named(tmp_path, region):
    lat, lon = region.to_latlon(np.random.default_rng(0).uniform(0, 10_000, (20, 2)))
    lat[:5] = 0  # a few rows may be anything
    frame = pd.DataFrame({"lat": lon, "lon": lat})
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (frame, tmp_path / "a.csv"):
        with pytest.raises(InputError, match="latitude and longitude look swapped") as refused:
            read_points(source, region)
        assert "pass lat='lon', lon='lat'" in str(refused.value)
        centre = f"centre ({region.lat:g}, {region.lon:g}) given as (latitude, longitude)?"
        assert centre in str(refused.value)
        assert len(read(source, region, lat="lon", lon="lat")[0]) == 15
    with pytest.raises(InputError, match=r"swapped.*pass lat='1', lon='0'"):
        read_points(frame.to_numpy(), region)
    assert len(read(frame.to_numpy(), region, lat="1", lon="0")[0]) == 15
    turned = gpd.GeoDataFrame(geometry=gpd.points_from_xy(lat, lon, crs=4326))
    with pytest.raises(InputError, match=r"swapped.*\(longitude, latitude\)"):
        read_points(turned, region)


def test_swapped_beyond_the_globe_is_named_though_the_region_is_elsewhere():
    rows = np.array([[-122.4, 37.7], [-122.3, 37.8], [48.86, 2.35]])
    with pytest.raises(InputError, match="swapped"):
        read_points(rows, PARIS)


def test_projected_numbers_are_not_called_swapped():
    with pytest.raises(InputError, match="no row can be used"):
        read_points(np.array([[5_411_000.0, 452_000.0], [5_411_010.0, 452_000.0]]), PARIS)


def test_across_the_antimeridian():
    taveuni = Region.around(lat=-16.8, lon=180.0, side_m=40_000)
    rows = np.array([[-16.8, 179.9], [-16.8, -179.9], [-16.8, 180.1], [-16.8, 0.0]])
    points = read_points(rows, taveuni, report=lambda _: None)
    assert len(points) == 3
    np.testing.assert_allclose(points.xy[1], points.xy[2], atol=1e-6)
    np.testing.assert_allclose(points.xy[0, 0] + points.xy[1, 0], 40_000, atol=1e-6)


def test_geometries_need_a_crs_and_must_be_points(tmp_path):
    points = gpd.GeoSeries.from_xy([2.35, 2.36], [48.86, 48.86])
    with pytest.raises(InputError, match=r"no CRS.*set_crs\(4326\)"):
        read_points(gpd.GeoDataFrame(geometry=points), PARIS)
    mixed = points.set_crs(4326)
    mixed[1] = shapely.LineString([(2, 48), (3, 49)])
    frame = gpd.GeoDataFrame(geometry=mixed)
    frame.to_file(tmp_path / "a.geojson")
    for source in (frame, tmp_path / "a.geojson"):
        with pytest.raises(InputError, match=r"row 1 .*is a LineString, not a point"):
            read_points(source, PARIS)
    with pytest.raises(InputError, match="no active geometry"):
        read_points(gpd.GeoDataFrame({"a": [1]}), PARIS)
    with pytest.raises(InputError, match="leave lat and lon out"):
        read_points(tmp_path / "a.geojson", PARIS, lat="a", lon="b")


def test_missing_and_empty_geometries_are_unusable(tmp_path):
    where = gpd.GeoSeries([None, shapely.Point(2.35, 48.86), shapely.Point()], crs=4326)
    frame = gpd.GeoDataFrame({"user": ["a", "b", "c"]}, geometry=where)
    frame.to_file(tmp_path / "a.geojson")
    for source in (frame, tmp_path / "a.geojson"):
        points, report = read(source)
        assert (len(points), report.unusable_rows) == (1, (0, 2))


def test_columns_of_a_geoframe_can_be_used_instead_of_its_geometry():
    frame = gpd.GeoDataFrame(
        {"la": [48.86], "lo": [2.35]}, geometry=gpd.points_from_xy([0], [0], crs=4326)
    )
    assert len(read_points(frame, PARIS, lat="la", lon="lo")) == 1


def test_several_layers_are_a_question(tmp_path):
    frame = gpd.GeoDataFrame(geometry=gpd.points_from_xy([2.35], [48.86], crs=4326))
    frame.to_file(tmp_path / "a.gpkg", layer="homes")
    frame.to_file(tmp_path / "a.gpkg", layer="shops")
    with pytest.raises(InputError, match=r"2 layers \(homes, shops\)"):
        read_points(tmp_path / "a.gpkg", PARIS)


def test_packed_or_not_is_seen_from_the_content(tmp_path):
    content = b"lat,lon\n48.86,2.35\n"
    (tmp_path / "a.csv").write_bytes(gzip.compress(content))
    (tmp_path / "b.csv.gz").write_bytes(content)
    for name in ("a.csv", "b.csv.gz"):
        assert len(read_points(tmp_path / name, PARIS)) == 1


def test_a_row_may_lie_across_blocks_and_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_MAX_ROW", 100)
    rows = '48.86,2.35,"some\nlines\nof text"\n' * 50
    points, report = read_csv(tmp_path, f"lat,lon,note\n{rows}x,y,z\n")
    assert len(points) == 50
    assert report.unusable_rows == (52,)


@pytest.mark.parametrize(
    ("shape", "points"),
    [
        (shapely.MultiPoint([(2.35, 48.86), (2.36, 48.87), (2.34, 48.85)]), 3),
        (shapely.LineString([(2.35, 48.86), (2.36, 48.87)]), 2),
        (shapely.box(2.35, 48.85, 2.36, 48.86), 1),
        (shapely.GeometryCollection([shapely.Point(2.35, 48.86), shapely.Point(2.3, 48.83)]), 2),
    ],
)
def test_the_advice_for_other_geometries_keeps_every_point(shape, points):
    frame = gpd.GeoDataFrame(geometry=[shape], crs=4326)
    with pytest.raises(InputError, match="not a point; frame") as refusal:
        read_points(frame, PARIS)
    advice = str(refusal.value).split("; ")[1].split(") ")[0] + ")"
    kept = read_points(eval(advice, {"frame": frame}), PARIS, report=lambda _: None)
    assert len(kept) == points


def test_lazy_frames_and_lists_are_refused():
    lazy = pl.LazyFrame({"lat": [48.86], "lon": [2.35]})
    with pytest.raises(InputError, match=r"the frame is lazy; pass frame\.collect\(\)"):
        read_points(lazy, PARIS)
    with pytest.raises(InputError, match="a data frame is needed, not list"):
        read_points([[48.86, 2.35]], PARIS)  # pyright: ignore[reportArgumentType]


def test_masked_entries_are_missing():
    rows = np.ma.masked_array(
        [[48.86, 2.35, 1], [48.86, 2.35, 1], [48.86, 2.35, 7]],
        mask=[[0, 0, 0], [1, 0, 0], [0, 0, 1]],
    )
    points, report = read(rows, lat=0, lon=1, user=2)
    assert len(points) == 1
    assert "row 1: latitude is missing; row 2: user is missing" in str(report)


def test_rows_without_a_time_are_unusable(tmp_path):
    rows = "lat,lon,when\n48.86,2.35,2026-11-28\n48.86,2.35,noon\n48.86,,noon\n48.86,2.35,\n"
    points, report = read_csv(tmp_path, rows, time="when", since="2026-01-01")
    assert points.day.tolist() == [20_785]
    assert report.reasons == (
        "time 'noon' is not a time", "longitude is missing", "time is missing",
    )  # fmt: skip
    assert read_csv(tmp_path, rows)[0].day is None


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8"])
def test_plain_arrays_are_latitude_first(tmp_path, dtype):
    rows = np.array([[52.5, 13.4], [52.51, 13.42]], dtype)
    np.save(tmp_path / "a.npy", rows)
    points = read_points(str(tmp_path / "a.npy"), BERLIN)
    np.testing.assert_array_equal(points.xy, BERLIN.to_xy(*rows.astype(float).T))
    assert points.user is None
    wide = np.column_stack([[3, 4], rows])
    again = read_points(wide, BERLIN, lat=1, lon=2, user=0)
    np.testing.assert_array_equal(again.xy, points.xy)
    assert again.user is not None
    assert again.user.tolist() == [0, 1]


def message(source, **said) -> str:
    with pytest.raises(InputError) as refused:
        read_points(source, PARIS, **said)
    assert "complete?" not in str(refused.value)
    return str(refused.value)


def test_points_in_wkb_without_metadata_are_read_with_point(tmp_path):
    wkb = [struct.pack("<BIdd", 1, 1, 2.35, 48.86), None]
    pq.write_table(pa.table({"geometry": pa.array(wkb, pa.binary())}), tmp_path / "a.parquet")
    assert message(tmp_path / "a.parquet").endswith("give point='geometry'.")
    points, report = read(tmp_path / "a.parquet", point="geometry")
    assert len(points) == 1
    assert "row 1: latitude is missing" in str(report)


def test_points_as_databases_write_them_are_read_and_others_are_quoted(tmp_path):
    hexadecimal = struct.pack("<BIIdd", 1, 0x20000001, 4326, 2.35, 48.86).hex().upper()
    for points in ([hexadecimal, None], ["SRID=4326;POINT (2.35 48.86)", "SRID=2154;POINT (6 7)"]):
        frame = pd.DataFrame({"at": points})
        frame.to_csv(tmp_path / "a.csv", index=False)
        for source in (frame, tmp_path / "a.csv"):
            found, report = read(source, point="at")
            assert (len(found), report.unusable) == (1, 1)
    assert "row 3: point 'SRID=2154;POINT (6 7)' is not a position" in str(report)


def test_what_is_no_frame_is_not_called_incomplete():
    assert "complete" not in message(pd.Series([1, 2]))


@pytest.mark.parametrize("sep", [";", ",", "\t"])
def test_a_line_that_names_the_delimiter_is_no_header(sep, tmp_path):
    rows = [["name", "lat", "lon"], ["a,b;c", "48.86", "2.35"], ["x", "none", "2.35"]]
    text = "\r\n".join([f"sep={sep}", *(sep.join(f'"{v}"' for v in row) for row in rows)])
    (tmp_path / "a.csv").write_bytes(text.encode("utf-8-sig"))
    points, report = read(tmp_path / "a.csv")
    assert len(points) == 1
    assert "row 4: latitude 'none' is not a number" in str(report)
    assert "the header is row 2" in str(report)


def test_a_timeline_of_google_is_pointed_to_the_layouts(tmp_path):
    (tmp_path / "Timeline.json").write_text(json.dumps({"semanticSegments": []}))
    assert "docs/howto/layouts.md" in message(tmp_path / "Timeline.json")


def test_ids_of_the_other_byte_order_are_read():
    ids = np.array([7, 8, 7])
    for kind in (">i8", ">i4", ">u2", ">f8"):
        frame = pd.DataFrame({"lat": [48.86] * 3, "lon": 2.35, "user": ids.astype(kind)})
        user = read_points(frame, PARIS, user="user").user
        assert user is not None
        assert user.tolist() == [0, 1, 0]


def test_old_line_ends_are_read_as_the_message_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_bytes(b"lat,lon\r48.86,2.35\r48.87,2.36\r")
    told = message("a.csv")
    assert "its lines end in CR" in told
    remedy = told.split("pass ")[1].split(", which")[0]
    assert len(read_points(eval(remedy, {"pandas": pd}), PARIS)) == 2


def test_dates_and_spreadsheet_days_are_converted_as_the_message_says():
    frame = pd.DataFrame({"lat": [48.86] * 2, "lon": 2.35})
    for numbers, day in (([20261101.0, 20261102], 20_758), ([46_327.5, 46_328.0], 20_758)):
        told = message(frame.assign(t=numbers), time="t")
        remedy = told.split("convert them with ")[1].removesuffix(".")
        column = eval(remedy, {"pandas": pd, "column": frame.assign(t=numbers)["t"]})
        days = read_points(frame.assign(t=column), PARIS, time="t").day
        assert days is not None
        assert days.tolist() == [day, day + 1]


def test_bad_times_are_not_called_bad_positions():
    frame = pd.DataFrame({"lat": [48.86], "lon": 2.35, "t": ["noon"]})
    told = message(frame, time="t")
    assert "No row has a time that can be read" in told
    assert "degrees" not in told
