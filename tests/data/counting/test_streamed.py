"""Streamed records count as records in memory do, whatever they come from."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from snhkit.data import read_points, scan_points
from snhkit.data.sources import delimited
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries, Region, exact_counts
from snhkit.geometry.dyadic import square_of

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
    data = frame.to_csv(index=False, **options).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def equal(streamed, points):
    """Counts of grids, trees, partitions and boxes are equal."""
    assert streamed.n() == len(points)
    for m in (1, 3, 64, 445, 512):
        assert (streamed.count(Grid(CITY, m)).counts == Grid(CITY, m).count(points).counts).all()
    pieces = np.arange(9).reshape(3, 3) + 1
    cells = Partition.split(Grid(CITY, 3), pieces)
    assert (streamed.count(cells).counts == cells.count(points).counts).all()
    for depth in (0, 5, 12):
        number, count = np.unique(square_of(points, depth), return_counts=True)
        found = streamed.squares(depth)
        assert (found[0] == number).all()
        assert (found[1] == count).all()
    boxes = RangeQueries.sample(CITY, 20, (500, 2_000))
    assert (streamed.boxes(boxes) == exact_counts(points, boxes)).all()


@pytest.mark.parametrize("block", [200, 5_000, 2**22])
@pytest.mark.parametrize("quoted", ["never", "user", "all"])
def test_bad_rows_are_reported_as_by_read_points(frame, tmp_path, monkeypatch, block, quoted):
    monkeypatch.setattr(delimited, "_BLOCK", block)
    text = dirty(frame)
    path = csv_of(text, tmp_path / "a.csv", quoting={"never": 0, "user": 0, "all": 1}[quoted])
    lines = path.read_text().splitlines(keepends=True)
    lines[10] = "1,2\n"
    lines[2_500] = lines[2_500].rstrip("\n") + ",\n"
    if quoted == "user":
        lines[1_000] = '"a, b"' + lines[1_000][lines[1_000].index(",") :]
    path.write_text("".join(lines))
    told, expected = [], []
    points = read_points(path, CITY, user="user", report=expected.append)
    scanned = scan_points(path, CITY, user="user", report=told.append)
    one, other = told[0], expected[0]
    assert str(one).split(" Note")[0] == str(other).split(" Note")[0].replace(
        " For the eyes of the records' owner only.", ""
    ) + ("" if " Note" in str(other) else " For the eyes of the records' owner only.")
    grid = Grid(CITY, 100)
    assert (scanned.count(grid).counts == grid.count(points).counts).all()


def test_folders_patterns_lists_and_addresses_are_one_dataset(frame, tmp_path):
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=2" / "_hidden").mkdir(parents=True)
    parts = [tmp_path / "day=1" / "a.parquet", tmp_path / "day=2" / "b.parquet"]
    frame[:1_000].to_parquet(parts[0])
    frame[1_000:].to_parquet(parts[1])
    frame.to_parquet(tmp_path / "day=2" / "_hidden" / "c.parquet")
    points = read_points(frame, CITY, report=lambda told: None)
    grid = Grid(CITY, 300)
    sources = (tmp_path, parts, f"{tmp_path}/*/?.parquet", f"file://{tmp_path}", ds.dataset(parts))
    for source in sources:
        streamed = scan_points(source, CITY, report=lambda told: None)
        assert (streamed.count(grid).counts == grid.count(points).counts).all()


def test_addresses_of_fsspec_are_read(frame):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://trips/a.parquet", "wb") as file:
        frame.to_parquet(file)
    points = read_points(frame, CITY, report=lambda told: None)
    equal(scan_points("memory://trips/a.parquet", CITY, report=lambda told: None), points)


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
        equal(streamed, points)


def test_a_row_without_a_time_is_told(frame, tmp_path):
    text = frame.astype({"time": str})
    text.loc[7, "time"] = "noon"
    csv_of(text, tmp_path / "a.csv")
    told = []
    scan_points(tmp_path / "a.csv", CITY, time="time", since="2026-01-01", report=told.append)
    assert "row 9: time 'noon' is not a time" in str(told[0])


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


@pytest.mark.parametrize("source", [3, np.zeros((2, 2)), "missing.parquet", "a.txt", []])
def test_what_is_no_source_is_refused(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("lat,lon\n")
    with pytest.raises(InputError):
        scan_points(source, CITY)
