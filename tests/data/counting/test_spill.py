"""A bounded number of records of each person is kept, the same however the records are read."""

import gc
from functools import partial

import numpy as np
import pandas as pd
import pytest

from snhkit.data.counting.exact import Scan
from snhkit.data.counting.spill import bucket_count
from snhkit.data.sources.columns import rules_of
from snhkit.data.sources.opening import open_source
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.geometry.points import windows
from snhkit.privacy.bounding import kept_records

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
GRID = Grid(CITY, 99)
DAY = 86_400_000_000
KEY = np.array([17, 2**63 + 5], np.uint64)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 4_000
    lat, lon = CITY.to_latlon(np.round(rng.random((n, 2)) * 14_000 - 400, -2))  # many alike
    start = np.datetime64("2026-11-01T00:00:00", "us")
    seconds = (rng.integers(0, 4 * 86_400, n) * 1_000_000).astype("timedelta64[us]")
    user = [f"u{int(k)}" for k in rng.exponential(8, n)]
    text = pd.DataFrame({"user": user, "lat": lat, "lon": lon, "time": start + seconds})
    text.loc[[5, 99], "user"] = [None, "NULL"]
    text.loc[7, "lat"] = np.nan
    return text


def bounded(path, most, window_days=None, **options):
    rules = rules_of(user="user", time="time" if window_days else None, people="needed")
    choose = partial(kept_records, most=most, key=KEY)
    scan = Scan(open_source(path, rules), CITY, lambda told: None, **options)
    return scan.bounded(choose, window_days=window_days)


def expected(frame, most, window_days=None):
    """The counts of the records that are kept in memory."""
    frame = frame[frame.user.notna() & (frame.user != "NULL") & frame.lat.notna()]
    xy = CITY.to_xy(frame.lat.to_numpy(), frame.lon.to_numpy())
    inside = CITY.contains(xy)
    unit = frame.user
    if window_days:
        unit = unit + " " + windows(frame.time.astype("int64") // DAY, window_days).astype(str)
    person = np.unique(unit.to_numpy(str)[inside], return_inverse=True)[1]
    kept = kept_records(person, xy[inside], most, KEY)
    return GRID.count(Points(CITY, xy[inside][kept])).counts, np.bincount(person).clip(max=most)


def test_a_record_needs_both_a_user_and_a_time_where_windows_are_hidden(frame):
    lost = frame.head(40).reset_index(drop=True).assign(lat=CITY.lat, lon=CITY.lon, user="u")
    lost.loc[[1, 2], "user"] = None
    lost.loc[[2, 3, 4], "time"] = pd.NaT
    assert bounded(lost, 99, 1).n() == 36


@pytest.mark.parametrize("window_days", [None, 1, 2])
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_what_is_kept_of_a_person_is_what_is_kept_in_memory(frame, tmp_path, name, window_days):
    path = tmp_path / name
    if name == "a.csv":
        frame.to_csv(path, index=False)
    else:
        frame.astype({"time": "datetime64[us]"}).to_parquet(path, row_group_size=300)
    counts, kept = expected(frame, 20, window_days)
    source = bounded(path, 20, window_days)
    assert source.n() == kept.sum()
    assert (source.count(GRID).counts == counts).all()


def test_files_are_private_and_go_with_the_records(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    spill = tmp_path / "spill"
    spill.mkdir()
    source = bounded(tmp_path / "a.csv", 3, spill=spill)
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

    rules = rules_of(user="user", people="needed")
    scan = Scan(open_source(tmp_path / "a.csv", rules), CITY, print, spill=tmp_path)
    with pytest.raises(RuntimeError):
        scan.bounded(fail)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_windows_need_times(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    rules = rules_of(user="user", people="needed")
    choose = partial(kept_records, most=2, key=KEY)
    with pytest.raises(InputError, match="the time of each record"):
        Scan(open_source(tmp_path / "a.csv", rules), CITY, print).bounded(choose, window_days=1)


def test_the_number_of_files_suits_the_size():
    assert [bucket_count(size) for size in (0, 2**29, 2**30, 2**60)] == [16, 16, 32, 1024]
