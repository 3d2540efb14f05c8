"""Streamed records count as records in memory do, whatever they come from."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snhkit.data import read_points, scan_points
from snhkit.data.sources import delimited, frames
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, Region

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)


def rows(n=3_000, seed=0):
    rng = np.random.default_rng(seed)
    lat, lon = CITY.to_latlon(rng.random((n, 2)) * 14_000 - 400)
    start = np.datetime64("2026-11-01T00:00:00", "us")
    seconds = (rng.integers(0, 10 * 86_400, n) * 1_000_000).astype("timedelta64[us]")
    user = rng.integers(0, 40, n)
    return pd.DataFrame({"user": user, "lat": lat, "lon": lon, "time": start + seconds})


def dirty(frame):
    """Rows as text, some of which cannot be used."""
    text = frame.astype({"lat": object, "lon": object, "user": object}).copy()
    for row, column, value in (
        (3, "lat", ""), (700, "lon", "west"), (701, "lat", "91"), (1_500, "lon", "-200.5"),
        (2_000, "lat", "nan"), (2_900, "lat", " 37.7 "),
    ):  # fmt: skip
        text.loc[row, column] = value
    return text


@pytest.fixture
def frame():
    return rows()


def csv_of(frame, path, **options):
    frame.to_csv(path, index=False, **options)
    return path


@pytest.mark.parametrize("quoting", [0, 1], ids=["plain", "quoted"])
def test_blocks_of_any_size_give_one_report(frame, tmp_path, monkeypatch, quoting):
    path = csv_of(dirty(frame), tmp_path / "a.csv", quoting=quoting)
    lines = path.read_text().splitlines(keepends=True)
    lines[10] = "1,2\n"
    lines[2_500] = lines[2_500].rstrip("\n") + ",\n"
    path.write_text("".join(lines))
    told = []
    for block in (200, 5_000, 2**22):
        monkeypatch.setattr(delimited, "_BLOCK", block)
        monkeypatch.setattr(delimited, "_MAX_ROW", block)
        scan_points(path, CITY, user="user", report=told.append)
    assert told[0].unusable_rows == (5, 11, 702, 703, 1_502)
    assert (told[0].rows, told[0].unusable) == (3_000, 7)
    assert len(set(map(str, told))) == 1


def test_filters_keep_the_rows_of_a_time_and_of_users(frame, tmp_path):
    csv_of(frame, tmp_path / "a.csv")
    frame.to_parquet(tmp_path / "a.parquet")
    wanted = frame[
        (frame.time >= "2026-11-03") & (frame.time < "2026-11-05T12:00") & frame.user.isin([3, 5])
    ]
    points = read_points(wanted, CITY, report=lambda told: None)
    for name in ("a.csv", "a.parquet"):
        streamed = scan_points(
            tmp_path / name,
            CITY,
            time="time",
            since="2026-11-03",
            until="2026-11-05T12:00",
            user="user",
            users=[3, "5"],
            report=lambda told: None,
        )
        assert (streamed.count(Grid(CITY, 99)).counts == Grid(CITY, 99).count(points).counts).all()


def test_unions_of_fine_cells_take_no_pass(frame, tmp_path):
    path = tmp_path / "a.parquet"
    frame.to_parquet(path)
    streamed = scan_points(path, CITY, report=lambda told: None)
    points = read_points(path, CITY, report=lambda told: None)
    path.unlink()  # so that a pass would fail
    even = Partition.split(Grid(CITY, 4), np.arange(16).reshape(4, 4) % 7 + 1)
    cells = Partition.split(Grid(CITY, 4), np.full((4, 4), 8))
    assert (streamed.count(cells).counts == cells.count(points).counts).all()
    tree = Partition.dyadic(CITY, *quarters(11))
    assert (streamed.count(tree).counts == tree.count(points).counts).all()
    with pytest.raises(InputError):
        streamed.count(even)


def quarters(depth):
    """The leaves of a quadtree that is split at its first corner only, to a depth."""
    leaves = [(d, i, j) for d in range(1, depth + 1) for i, j in ((0, 1), (1, 0), (1, 1))]
    return np.array([*leaves, (depth, 0, 0)]).T


def test_a_file_that_changes_is_refused(frame, tmp_path):
    path = tmp_path / "a.parquet"
    frame.to_parquet(path)
    streamed = scan_points(path, CITY, report=lambda told: None)
    frame[:-1].to_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet: the file changed after it was opened"):
        streamed.count(Grid(CITY, 3))


@pytest.mark.parametrize("change", ["delete from kept", "update kept set lat = 0"])
def test_a_relation_that_changes_is_refused(frame, change):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("trips", pa.Table.from_pandas(frame))
    connection.execute("create table kept as from trips")
    streamed = scan_points(connection.table("kept"), CITY, report=lambda told: None)
    connection.execute(f"{change} where user = 3")
    with pytest.raises(InputError, match="the rows changed between two passes"):
        streamed.count(Grid(CITY, 3))


def test_the_first_failure_of_a_thread_is_told(frame, tmp_path):
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet", row_group_size=100)
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    data[2_000:9_000] = bytes(7_000)
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(InputError, match=r"a\.parquet: could not be read as Parquet"):
        scan_points(tmp_path / "a.parquet", CITY)


@pytest.mark.parametrize("rows_at_a_time", [3, 4, 100])
def test_a_report_quotes_the_row_that_it_names(monkeypatch, rows_at_a_time):
    monkeypatch.setattr(frames, "_BATCH", rows_at_a_time)
    texts = pd.DataFrame({"lat": [f"{i} north" if i % 5 == 2 else "37.76" for i in range(20)],
                          "lon": ["-122.43"] * 20})  # fmt: skip
    for source in (texts, texts.to_records(index=False)):
        told = []
        read_points(source, CITY, report=told.append)
        assert told[0].unusable_rows == (2, 7, 12, 17)
        assert [f"{i} north" in why for i, why in zip((2, 7, 12, 17), told[0].reasons, strict=True)
                ] == [True] * 4  # fmt: skip
