"""Scanned records count as records in memory do, in strata and on a cluster too."""

import gc
import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import snhkit as snh
from snhkit.data import read_points, scan_points
from snhkit.data.counting.passes import Cluster, thread_count
from snhkit.data.counting.scan import Scan
from snhkit.data.counting.spill import bucket_count
from snhkit.data.sources import delimited, frames
from snhkit.data.sources.columns import rules_of
from snhkit.data.sources.opening import open_source
from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import Grid, Partition, RangeQueries, Region
from snhkit.privacy.count_source import PointSource
from snhkit.privacy.unit import kept_records

pytestmark = pytest.mark.usefixtures("coarse_scans")
CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
CHOOSE = partial(kept_records, most=3, key=np.array([17, 2**63 + 5], np.uint64))
TOWN = snh.Region.around(lat=50.85, lon=4.35, side_m=4_000)
ZONE = "Europe/Brussels"
KINDS = snh.By.column("kind", ["bike", "scooter"])
# The clocks of the zone are set forward in the first week, and back in the last.
DAYS = pd.to_datetime(["2026-03-27", "2026-10-23"], utc=True)


@pytest.fixture
def frame():
    n, rng = 3_000, np.random.default_rng(0)
    lat, lon = CITY.to_latlon(rng.random((n, 2)) * 14_000 - 400)
    later = rng.integers(0, 10 * 86_400, n) * np.timedelta64(1_000_000, "us")
    user, time = rng.integers(0, 40, n), np.datetime64("2026-11-01T00:00:00", "us") + later
    return pd.DataFrame({"user": user, "lat": lat, "lon": lon, "time": time})


def dirty(frame):
    """Rows as text, some of which cannot be used."""
    text = frame.astype({"lat": object, "lon": object, "user": object}).copy()
    for row, column, value in (
        (3, "lat", ""), (700, "lon", "west"), (701, "lat", "91"), (1_500, "lon", "-200.5"),
        (2_000, "lat", "nan"), (2_900, "lat", " 37.7 "),
    ):  # fmt: skip
        text.loc[row, column] = value
    return text


@pytest.mark.parametrize("quoting", [0, 1], ids=["plain", "quoted"])
def test_blocks_of_any_size_give_one_report(frame, tmp_path, monkeypatch, quoting):
    dirty(frame).to_csv(path := tmp_path / "a.csv", index=False, quoting=quoting)
    lines = path.read_text().splitlines(keepends=True)
    lines[10] = "1,2\n"
    lines[2_500] = lines[2_500].rstrip("\n") + ",\n"
    path.write_text("".join(lines))
    told = []
    for block in (1_000, 5_000, 2**22):
        monkeypatch.setattr(delimited, "_BLOCK", block)
        monkeypatch.setattr(delimited, "_MAX_ROW", block)
        scan_points(path, CITY, user="user", report=told.append)
    assert told[0].unusable_rows == (5, 11, 702, 703, 1_502)
    assert (told[0].rows, told[0].unusable) == (3_000, 7)
    assert len(set(map(str, told))) == 1


def test_filters_keep_the_rows_of_a_time_and_of_users(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    wanted = frame[
        (frame.time >= "2026-11-03") & (frame.time < "2026-11-05T12:00") & frame.user.isin([3, 5])
    ]
    points = read_points(wanted, CITY, report=lambda told: None)
    rules = {"time": "time", "since": "2026-11-03", "until": "2026-11-05T12:00", "user": "user"}
    for name in ("a.csv", "a.parquet"):
        streamed = scan_points(
            tmp_path / name, CITY, users=[3, "5"], report=lambda told: None, **rules
        )
        assert (streamed.count(Grid(CITY, 99)).counts == Grid(CITY, 99).count(points).counts).all()


def test_unions_of_fine_cells_take_no_pass(frame, tmp_path, monkeypatch):
    monkeypatch.undo()  # the fine grid that users have
    path = tmp_path / "a.parquet"
    frame.to_parquet(path)
    streamed = scan_points(path, CITY, report=lambda told: None)
    points = read_points(path, CITY, report=lambda told: None)
    path.unlink()  # so that a pass would fail
    even = Partition.split(Grid(CITY, 4), np.arange(16).reshape(4, 4) % 7 + 1)
    cells = Partition.split(Grid(CITY, 4), np.full((4, 4), 8))
    assert (streamed.count(cells).counts == cells.count(points).counts).all()
    leaves = [(d, i, j) for d in range(1, 12) for i, j in ((0, 1), (1, 0), (1, 1))]
    tree = Partition.dyadic(CITY, *np.transpose([*leaves, (11, 0, 0)]))  # split at one corner only
    assert (streamed.count(tree).counts == tree.count(points).counts).all()
    with pytest.raises(InputError):
        streamed.count(even)


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


def scan(path, client=None, report=lambda told: None, spill=None, **rules):
    source = open_source(path, rules_of(**rules))
    return Scan(source, CITY, report, None if client is None else Cluster(client, source), spill)


def test_files_are_private_and_go_with_the_records(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    spill = tmp_path / "spill"
    spill.mkdir()
    source = scan(tmp_path / "a.csv", spill=spill, people="needed").bounded(CHOOSE)
    (folder,) = spill.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    assert {path.suffix for path in folder.iterdir()} == {".kept"}
    assert sum(path.stat().st_size for path in folder.iterdir()) == 16 * source.n()
    del source
    gc.collect()
    assert not list(spill.iterdir())


def test_a_failure_leaves_no_files(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)

    def fail(person, xy):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        scan(tmp_path / "a.csv", spill=tmp_path, people="needed").bounded(fail)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_people_whose_ids_are_numbers_of_days_stay_apart(tmp_path):
    """If two people on two days were one, a person would change what is kept of another."""
    person, day = (axis.ravel() for axis in np.meshgrid(np.arange(20_710, 20_750), np.arange(40)))
    time = (20_720 - 3 + day) * 86_400 + 43_200
    rows = pd.DataFrame({"lat": 37.7637, "lon": -122.4337, "user": person, "time": time})
    people = scan(rows, user="user", time="time", people="needed")
    np.testing.assert_array_equal(people.of_people(window_days=1), np.ones(1_600))


def test_the_number_of_files_suits_the_size():
    assert [bucket_count(size) for size in (9, 2**29, 2**30, 2**60)] == [16, 16, 32, 1024]


@pytest.fixture(scope="module")
def trips():
    rng, n = np.random.default_rng(4), 3_000
    later = pd.to_timedelta(rng.integers(0, 4 * 86_400, n), unit="s")
    return pd.DataFrame(
        {
            "lat": 50.85 + rng.uniform(-0.01, 0.01, n),
            "lon": 4.35 + rng.uniform(-0.01, 0.01, n),
            "started": DAYS[rng.integers(0, 2, n)] + later,
            "rider": rng.integers(0, 700, n),
            "kind": rng.choice(["bike", "scooter", "tram", None], n),
        }
    )


@pytest.fixture(params=["memory", "frame", "csv", "parquet", "Dask"])
def opened(request, trips, tmp_path):
    """Open the rows as a dataset; each way has to divide them alike."""
    way, source, read = request.param, trips, {"time": "started", "tz": ZONE, "user": "rider"}
    if way not in ("memory", "frame"):
        kind = "csv" if way == "csv" else "parquet"
        source = tmp_path / f"trips.{kind}"
        getattr(trips, f"to_{kind}")(source, index=False)
    if way == "Dask":
        pytest.importorskip("distributed")
        read["client"] = request.getfixturevalue("client")

    def dataset(strata=None, **how):
        if way != "memory":
            return snh.PrivateDataset.scan(source, TOWN, 1, **read, **how)
        points = snh.read_points(source, TOWN, **read, report=lambda told: None)
        return snh.PrivateDataset(points, 1, **how)

    return dataset


def sizes(data, by):
    return [stratum.n() for stratum in data._source.strata(by)()]


def test_records_are_counted_in_their_stratum(opened, trips):
    data, local = opened(unit="record"), trips["started"].dt.tz_convert(ZONE)
    hours = local.dt.hour.value_counts().reindex(range(24), fill_value=0)
    assert sizes(data, snh.By.hour()) == hours.tolist()
    assert sizes(data, snh.By.weekday()) == [
        (local.dt.day_name() == day).sum()
        for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    ]
    if isinstance(data._source, PointSource):
        return  # records in memory have no other columns
    kinds = [(trips["kind"] == kind).sum() for kind in ("bike", "scooter")]
    assert sizes(data, KINDS) == [*kinds, len(trips) - sum(kinds)]
    assert sizes(data, snh.By.column("kind", ["bike", "scooter"], other=False)) == kinds


def test_the_bound_of_a_person_holds_over_all_strata(opened, trips):
    data = opened(unit="user", max_per_user=2)
    kept = trips["rider"].value_counts().clip(upper=2).sum()
    for by in (snh.By.hour(), *([] if isinstance(data._source, PointSource) else [KINDS])):
        assert sum(sizes(data, by)) == data._source.n() == kept


def test_strata_have_the_cells_of_their_sum(opened):
    source, cells = opened(unit="record")._source, Grid(TOWN, 30)
    counts = [part.count(cells).counts for part in source.strata(snh.By.hour(6))()]
    assert len(counts) == 4
    np.testing.assert_array_equal(np.sum(counts, axis=0), source.count(cells).counts)


def test_all_strata_take_one_pass(trips, tmp_path):
    trips.to_csv(path := tmp_path / "trips.csv", index=False)
    data = snh.PrivateDataset.scan(path, TOWN, 1, unit="record", time="started")
    strata = list(data._source.strata(snh.By.hour())())
    path.unlink()  # so that a second pass would fail
    assert sum(part.count(Grid(TOWN, 9)).counts.sum() for part in strata) == len(trips)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A folder of eight files, of enough records that sending them would be seen."""
    pytest.importorskip("distributed")
    lat, lon = CITY.to_latlon(np.random.default_rng(0).random((8, 5_000, 2)) * 14_000 - 400)
    lat[[0, 4], [5, 1]] = np.nan
    folder = tmp_path_factory.mktemp("trips")
    for at in range(8):
        pd.DataFrame({"lat": lat[at], "lon": lon[at]}).to_parquet(folder / f"{at}.parquet")
    return folder


def sent(client):
    """The bytes that workers sent to each other and to the scheduler."""

    def of(dask_worker):
        return dask_worker.transfer_outgoing_bytes_total

    return sum(client.run(of).values())


def test_counts_are_equal_and_points_never_move(parts, client):
    told, expected = [], []
    here, there = scan(parts, None, expected.append).all(), scan(parts, client, told.append).all()
    assert str(told[0]) == str(expected[0])
    cells = Partition.split(Grid(CITY, 5), np.arange(1, 26).reshape(5, 5))
    for what in (Grid(CITY, 30), Grid(CITY, 64), cells):
        assert (there.count(what).counts == here.count(what).counts).all()
    boxes = RangeQueries.sample(CITY, 9)
    assert (there.boxes(boxes) == here.boxes(boxes)).all()
    before = sent(client)
    there.count(Grid(CITY, 30))
    moved = sent(client) - before
    assert moved < 20 * 30**2 * 8 < 16 * here.n()  # counts of a few tasks; all points are far more


def test_a_worker_that_dies_changes_nothing(parts, client):
    here = scan(parts).all()
    there = scan(parts, client).all()
    workers = client.run(os.getpid)
    boxes = RangeQueries.sample(CITY, 60_000)
    killed = threading.Event()

    def kill():
        while not any(client.processing().values()):
            time.sleep(0.01)
        os.kill(next(iter(workers.values())), signal.SIGKILL)
        killed.set()

    thread = threading.Thread(target=kill)
    thread.start()
    counts = there.boxes(boxes)
    thread.join()
    assert killed.is_set()
    assert (counts == here.boxes(boxes)).all()


def test_a_lost_scheduler_is_told_in_one_line(parts):
    from distributed.client import FutureCancelledError

    class Lost:
        scheduler = None

        def scheduler_info(self, n_workers):
            return {"workers": {}}

        def get_executor(self, **options):
            raise FutureCancelledError("count", "scheduler-connection-lost")

    with pytest.raises(SnhkitError, match="the Dask scheduler was lost before the counts") as told:
        scan(parts, Lost()).all()
    assert "\n" not in str(told.value)


def test_what_only_this_process_has_is_refused():
    table = pa.table({"lat": [37.76], "lon": [-122.43]})
    with pytest.raises(InputError, match="exists in this process only, so workers cannot read it"):
        scan(table, object())


def test_a_pass_has_a_thread_for_each_core_up_to_eight(monkeypatch):
    for cores, threads in ((3, 3), (64, 8)):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda _, n=cores: set(range(n)), raising=False
        )
        assert thread_count() == threads
