"""Strata of records that stay in their files: the counts of pandas, for each kind of source."""

import numpy as np
import pandas as pd
import pytest

import snhkit as snh

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


@pytest.fixture(params=["frame", "csv", "parquet"])
def source(request, rows, tmp_path):
    if request.param == "frame":
        return rows
    file = tmp_path / f"trips.{request.param}"
    if request.param == "csv":
        rows.to_csv(file, index=False)
    else:
        rows.to_parquet(file)
    return file


def opened(source, **how):
    return snh.PrivateDataset.scan(source, CITY, 1, time="started", tz=ZONE, user="rider", **how)


def sizes(data, by):
    return [stratum.n() for stratum in data._source.strata(by)()]


def test_records_are_counted_in_their_stratum(source, rows):
    data, local = opened(source, unit="record"), rows["started"].dt.tz_convert(ZONE)
    hours = local.dt.hour.value_counts().reindex(range(24), fill_value=0)
    assert sizes(data, snh.By.hour()) == hours.tolist()
    assert sizes(data, snh.By.weekday()) == [
        (local.dt.day_name() == day).sum()
        for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    ]
    kinds = [(rows["kind"] == kind).sum() for kind in ("bike", "scooter")]
    assert sizes(data, KINDS) == [*kinds, len(rows) - sum(kinds)]
    assert sizes(data, snh.By.column("kind", ["bike", "scooter"], other=False)) == kinds


def test_the_bound_of_a_person_holds_over_all_strata(source, rows):
    data = opened(source, unit="user", max_per_user=2)
    kept = rows["rider"].value_counts().clip(upper=2).sum()
    for by in (snh.By.hour(), KINDS):
        assert sum(sizes(data, by)) == data._source.n() == kept
