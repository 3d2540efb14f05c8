"""What is written in each format is read back."""

import tempfile
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit.data import read_points
from snhkit.geometry import Region

CITY = Region.around(lat=52.5, lon=13.4, side_m=9_000)
metres = st.floats(0.01, 8_999.9)
rows = st.lists(
    st.tuples(metres, metres, st.text(st.characters(categories=["L", "N"]), min_size=1)),
    min_size=1,
    max_size=30,
)


def geoframe(frame):
    points = gpd.points_from_xy(frame["lon"], frame["lat"], crs=4326)
    return gpd.GeoDataFrame(frame[["user"]], geometry=points)


def structured(frame):
    kinds = [("user", "U99"), ("lon", "<f8"), ("lat", "<f8")]
    return np.array(list(frame[["user", "lon", "lat"]].itertuples(index=False)), dtype=kinds)


def saved(write, name):
    """A function that writes a frame to a file and gives its path."""

    def save(frame, folder):
        write(frame, folder / name)
        return folder / name

    return save


FORMATS = {
    "csv": saved(lambda f, p: f.to_csv(p, index=False), "a.csv"),
    "csv.gz": saved(lambda f, p: f.to_csv(p, index=False), "a.csv.gz"),
    "tsv": saved(lambda f, p: f.to_csv(p, index=False, sep="\t"), "a.TSV"),
    "semicolons": saved(lambda f, p: f.to_csv(p, index=False, sep=";"), "a.csv"),
    "windows": saved(
        lambda f, p: f.to_csv(p, index=False, encoding="utf-8-sig", lineterminator="\r\n"), "a.csv"
    ),
    "quoted": saved(lambda f, p: f.to_csv(p, index=False, quoting=1), "a.csv"),
    "parquet": saved(lambda f, p: f.to_parquet(p), "a.parquet"),
    "categories": saved(lambda f, p: f.astype({"user": "category"}).to_parquet(p), "a.parquet"),
    "npy": saved(lambda f, p: np.save(p, structured(f)), "a.npy"),
    "geojson": saved(lambda f, p: geoframe(f).to_file(p), "a.geojson"),
    "gpkg": saved(lambda f, p: geoframe(f).to_crs(25833).to_file(p), "a.gpkg"),
    "geoparquet": saved(lambda f, p: geoframe(f).to_parquet(p), "a.parquet"),
    "frame": lambda frame, _: frame,
    "geoframe": lambda frame, _: geoframe(frame).to_crs(3857),
    "array": lambda frame, _: structured(frame),
}


@pytest.mark.parametrize("form", FORMATS)
@settings(deadline=None, max_examples=12)
@given(rows=rows)
def test_round_trip(form, rows):
    x, y, who = zip(*rows, strict=True)
    lat, lon = CITY.to_latlon(np.column_stack([x, y]))
    # Not "NA": a spreadsheet's word for nothing is nobody's name.
    frame = pd.DataFrame({"lat": lat, "lon": lon, "user": [f"u{w}" for w in who]})
    with tempfile.TemporaryDirectory() as folder:
        points = read_points(FORMATS[form](frame, Path(folder)), CITY)
    np.testing.assert_allclose(points.xy, np.column_stack([x, y]), atol=0.01)
    expected = np.unique(frame["user"], return_inverse=True)[1]
    assert points.user is not None
    same = points.user[:, None] == points.user
    np.testing.assert_array_equal(same, expected[:, None] == expected)
    assert set(points.user) == set(range(len(set(who))))


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8"])
def test_plain_arrays_are_latitude_first(tmp_path, dtype):
    rows = np.array([[52.5, 13.4], [52.51, 13.42]], dtype)
    np.save(tmp_path / "a.npy", rows)
    points = read_points(str(tmp_path / "a.npy"), CITY)
    np.testing.assert_array_equal(points.xy, CITY.to_xy(*rows.astype(float).T))
    assert points.user is None
    wide = np.column_stack([[3, 4], rows])
    again = read_points(wide, CITY, lat=1, lon=2, user=0)
    np.testing.assert_array_equal(again.xy, points.xy)
    assert again.user is not None
    assert again.user.tolist() == [0, 1]


def test_numbers_as_text_and_decimals_are_numbers(tmp_path):
    frame = pd.DataFrame({"lat": [" 52.5", "north", None], "lon": ["13.4 ", "13.4", "13.4"]})
    for source in (frame, tmp_path / "a.parquet", tmp_path / "a.csv"):
        frame.to_parquet(tmp_path / "a.parquet")
        frame.to_csv(tmp_path / "a.csv", index=False)
        reports = []
        assert len(read_points(source, CITY, report=reports.append)) == 1
        assert reports[0].unusable == 2


def test_large_user_numbers_stay_apart(tmp_path):
    who = [2**60, 2**60 + 1, 2**60 + 1]
    frame = pd.DataFrame({"lat": 52.5, "lon": 13.4, "uid": who})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (frame, tmp_path / "a.parquet", tmp_path / "a.csv"):
        user = read_points(source, CITY).user
        assert user is not None
        assert user.tolist() == [0, 1, 1]
