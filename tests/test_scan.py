"""A dataset of scanned files gives the releases of the same records in memory."""

from fractions import Fraction
from functools import partial

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

import snhkit as snh
from snhkit.data import scan_points
from snhkit.errors import BudgetExceeded, InputError, SnhkitError
from snhkit.privacy import PointSource, SystemEntropy
from snhkit.privacy.fingerprint import fingerprint

CITY = snh.Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
HALVES = gpd.GeoDataFrame(
    geometry=[shapely.box(-6_000, -6_000, 0, 3_000), shapely.box(0, -6_000, 5_000, 3_000)],
    index=["west", "east"],
    crs=CITY.crs,
)
BUILDERS = [
    snh.UniformGrid(),
    snh.Identity(),
    snh.Identity(100),
    snh.AdaptiveGrid(),
    snh.PrivTree(max_depth=12),
    snh.QuadTree(),
    snh.HierarchicalGrid(),
    snh.DAWA(order=7, sizes_m=(500, 2_000)),
    snh.Privelet(),
    snh.HDMM(),
    snh.Tessellation(HALVES),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 20_000
    lat, lon = CITY.to_latlon(rng.normal(6_600, 2_500, (n, 2)))
    frame = pd.DataFrame({"user": rng.integers(0, 1_500, n), "lat": lat, "lon": lon})
    frame.loc[3, "lat"] = np.nan
    frame.loc[4, "lat"] = 95
    path = tmp_path_factory.mktemp("trips") / "trips.csv"
    frame.to_csv(path, index=False)
    return path


quiet = {"report": lambda told: None}


@pytest.fixture(scope="module")
def memory(path):
    return snh.read_points(path, CITY, user="user", **quiet)


def scanned(path, **changes):
    terms = {"unit": "record", "n_public": False, "budget": 100, **quiet} | changes
    return snh.PrivateDataset.scan(path, CITY, **terms)


@pytest.fixture(scope="module")
def both(path, memory):
    known = snh.PrivateDataset(memory, 100, unit="record")
    return known, scanned(path, user="user")


@pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: type(builder).__name__)
def test_releases_are_equal_to_the_last_bit(both, builder):
    one, other = (data.release(builder, epsilon=0.5, seed=3) for data in both)
    assert one.spends == other.spends
    assert one.to_bytes() == other.to_bytes()


def test_ledgers_are_equal(both):
    known, streamed = (data.ledger.entries for data in both)
    assert [(e.who, e.epsilon, e.spends) for e in known] == [
        (e.who, e.epsilon, e.spends) for e in streamed
    ]


def test_a_deeper_tree_ends_at_the_fine_grid():
    table = pa.table({"lat": [37.7637] * 200, "lon": [-122.4337] * 200})
    data = snh.PrivateDataset.scan(table, CITY, 100_000, unit="record", n_public=True)
    release = data.release(snh.PrivTree(max_depth=14), epsilon=100_000)
    narrow = min(
        shape.bounds[2] - shape.bounds[0] for shape in release.cells().to_crs(CITY.crs).geometry
    )
    assert narrow == pytest.approx(CITY.side_m / 2**12, rel=1e-3)


def test_a_ledger_knows_the_records_however_they_are_read(path, memory, tmp_path):
    ledger = tmp_path / "trips.ledger"
    known = snh.PrivateDataset(memory, 1, unit="record", n_public=True, ledger=ledger)
    known.release(snh.UniformGrid(), epsilon=0.5)
    again = scanned(path, user="user", budget=None, n_public=True, ledger=ledger)
    assert again.ledger.spent == Fraction(1, 2)
    with pytest.raises(BudgetExceeded):
        again.release(snh.UniformGrid(), epsilon=0.6)
    one_less = snh.Points(CITY, memory.xy[1:])
    with pytest.raises(InputError, match="other records"):
        snh.PrivateDataset(one_less, 1, unit="record", n_public=True, ledger=ledger)


def test_a_fingerprint_needs_its_key_and_no_order(path, memory):
    streamed = scan_points(path, CITY, user="user", **quiet)
    turned = PointSource(snh.Points(CITY, memory.xy[::-1]))
    assert fingerprint(streamed, b"k") == fingerprint(turned, b"k")
    assert fingerprint(streamed, b"k") != fingerprint(streamed, b"l")


@pytest.mark.parametrize("stored", [False, True])
def test_records_of_a_user_are_bounded_as_in_memory(path, memory, tmp_path, monkeypatch, stored):
    words = partial(np.arange, 1, dtype=np.uint64)
    monkeypatch.setattr(SystemEntropy, "words", lambda self, count: words(count + 1))
    terms = {"unit": "user", "max_per_user": 5, "n_public": False, "budget": 1}
    known = snh.PrivateDataset(memory, **terms)
    ledger = {"ledger": tmp_path / "a.ledger"} if stored else {}
    told = []
    streamed = scanned(path, **terms, **ledger, report=told.append)
    one, other = (data.release(snh.Identity(200), epsilon=1, seed=2) for data in (known, streamed))
    assert one.to_bytes() == other.to_bytes()
    assert len(told) == 1
    assert "row 5: latitude is missing" in str(told[0])


def test_a_unit_of_users_needs_users(tmp_path):
    (tmp_path / "a.csv").write_text("lat,lon\n37.76,-122.43\n")
    with pytest.raises(InputError, match="unit='user' needs the user of each record"):
        scanned(tmp_path / "a.csv", unit="user", max_per_user=2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": "some"}, "n is now n_public"),
        ({"budget": None}, "budget is missing"),
        ({"unit": "city"}, "unit must be"),
        ({"since": "2026-11-01"}, "filters since and until need the column of times"),
        ({"lat": "north"}, "no column is called 'north'"),
    ],
)
def test_wrong_arguments_are_refused(path, changes, message):
    with pytest.raises(InputError, match=message):
        scanned(path, **changes)


def test_points_are_not_scanned_nor_files_points(path, memory):
    with pytest.raises(InputError, match="pass the result of read_points to PrivateDataset"):
        scanned(memory)
    with pytest.raises(InputError, match=r"PrivateDataset\.scan"):
        snh.PrivateDataset(path, 1, unit="record", n_public=True)  # pyright: ignore


def test_a_lost_scheduler_leaves_no_charge_or_a_failed_one(path, monkeypatch):
    from snhkit.data.counting.passes import Cluster

    calls = []

    def lost_at(call):
        def completed(self, tasks):
            calls.append(tasks)
            if len(calls) == call:
                raise SnhkitError("tcp://10.0.0.1:8786: the Dask scheduler was lost")
            return [task() for task in tasks]

        return completed

    monkeypatch.setattr(Cluster, "tasks", lambda self: 2)
    monkeypatch.setattr(Cluster, "completed", lost_at(1))
    with pytest.raises(SnhkitError, match="scheduler was lost"):
        scanned(path, client=object())  # before there is a ledger
    calls.clear()
    monkeypatch.setattr(Cluster, "completed", lost_at(2))
    data = scanned(path, client=object())
    with pytest.raises(SnhkitError, match="scheduler was lost"):
        data.release(snh.Identity(100), epsilon=1)
    (entry,) = data.ledger.entries
    assert (entry.state, data.ledger.spent) == ("failed", 1)
    assert data.release(snh.Identity(100), epsilon=1).epsilon == 1


@pytest.mark.parametrize("unit", ["user-day", "user-week", "user-2-days"])
def test_windows_of_a_person_are_bounded_as_in_memory(tmp_path, monkeypatch, unit):
    rng = np.random.default_rng(1)
    n = 4_000
    xy = rng.random((n, 2)) * CITY.side_m
    lat, lon = CITY.to_latlon(xy)
    xy = CITY.to_xy(lat, lon)
    user, day = rng.integers(0, 60, n), rng.integers(20_000, 20_020, n)
    hours = day.astype("datetime64[D]") + rng.integers(0, 24, n).astype("timedelta64[h]")
    frame = pd.DataFrame({"lat": lat, "lon": lon, "user": user, "when": hours.astype("M8[us]")})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=500)
    key = partial(np.arange, 1, dtype=np.uint64)
    monkeypatch.setattr(SystemEntropy, "words", lambda self, count: key(count + 1))
    terms = {"unit": unit, "max_per_user": 3, "n_public": False, "budget": 1}
    known = snh.PrivateDataset(
        snh.Points(CITY, xy, user, hours.astype("M8[s]").astype(np.int64)), **terms
    )
    streamed = scanned(tmp_path / "a.parquet", **terms, time="when")
    one, other = (data.release(snh.Identity(200), epsilon=1, seed=2) for data in (known, streamed))
    assert one.to_bytes() == other.to_bytes()
    with pytest.raises(InputError, match="the time of each record"):
        scanned(tmp_path / "a.parquet", **terms)
