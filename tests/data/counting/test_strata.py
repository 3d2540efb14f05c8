"""Strata of records that stay in their files: the counts of pandas, for each kind of source."""

import numpy as np
import pandas as pd
import pytest

import snhkit as snh
from snhkit.geometry import Grid
from snhkit.privacy.count_source import PointSource

CITY = snh.Region.around(lat=50.85, lon=4.35, side_m=4_000)
ZONE = "Europe/Brussels"
KINDS = snh.By.column("kind", ["bike", "scooter"])
# The clocks of the zone are set forward in the first week, and back in the last.
DAYS = pd.to_datetime(["2026-03-27", "2026-10-23"], utc=True)


@pytest.fixture(scope="module")
def rows():
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
def opened(request, rows, tmp_path):
    """Open the rows as a dataset; each way has to divide them alike."""
    way, source, read = request.param, rows, {"time": "started", "tz": ZONE, "user": "rider"}
    if way not in ("memory", "frame"):
        kind = "csv" if way == "csv" else "parquet"
        source = tmp_path / f"trips.{kind}"
        getattr(rows, f"to_{kind}")(source, index=False)
    if way == "Dask":
        pytest.importorskip("distributed")
        read["client"] = request.getfixturevalue("client")

    def dataset(strata=None, **how):
        if way != "memory":
            return snh.PrivateDataset.scan(source, CITY, 1, **read, **how)
        points = snh.read_points(source, CITY, **read, report=lambda told: None)
        return snh.PrivateDataset(points, 1, **how)

    return dataset


def sizes(data, by):
    return [stratum.n() for stratum in data._source.strata(by)()]


def test_records_are_counted_in_their_stratum(opened, rows):
    data, local = opened(unit="record"), rows["started"].dt.tz_convert(ZONE)
    hours = local.dt.hour.value_counts().reindex(range(24), fill_value=0)
    assert sizes(data, snh.By.hour()) == hours.tolist()
    assert sizes(data, snh.By.weekday()) == [
        (local.dt.day_name() == day).sum()
        for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    ]
    if isinstance(data._source, PointSource):
        return  # records in memory have no other columns
    kinds = [(rows["kind"] == kind).sum() for kind in ("bike", "scooter")]
    assert sizes(data, KINDS) == [*kinds, len(rows) - sum(kinds)]
    assert sizes(data, snh.By.column("kind", ["bike", "scooter"], other=False)) == kinds


def test_the_bound_of_a_person_holds_over_all_strata(opened, rows):
    data = opened(unit="user", max_per_user=2)
    kept = rows["rider"].value_counts().clip(upper=2).sum()
    for by in (snh.By.hour(), *([] if isinstance(data._source, PointSource) else [KINDS])):
        assert sum(sizes(data, by)) == data._source.n() == kept


def test_strata_have_the_cells_of_their_sum(opened):
    source, cells = opened(unit="record")._source, Grid(CITY, 30)
    counts = [part.count(cells).counts for part in source.strata(snh.By.hour(6))()]
    assert len(counts) == 4
    np.testing.assert_array_equal(np.sum(counts, axis=0), source.count(cells).counts)


def test_all_strata_take_one_pass(rows, tmp_path):
    rows.to_csv(path := tmp_path / "trips.csv", index=False)
    data = snh.PrivateDataset.scan(path, CITY, 1, unit="record", time="started")
    strata = list(data._source.strata(snh.By.hour())())
    path.unlink()  # so that a second pass would fail
    assert sum(part.count(Grid(CITY, 9)).counts.sum() for part in strata) == len(rows)
