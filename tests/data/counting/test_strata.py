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


def test_records_in_memory_have_the_same_strata(source):
    points = snh.read_points(source, CITY, time="started", tz=ZONE)
    data = snh.PrivateDataset(points, 1, unit="record")
    for by in (snh.By.hour(3), snh.By.weekday_hour(12)):
        assert sizes(data, by) == sizes(opened(source, unit="record"), by)


def test_the_bound_of_a_person_holds_over_all_strata(source, rows):
    data = opened(source, unit="user", max_per_user=2)
    kept = rows["rider"].value_counts().clip(upper=2).sum()
    for by in (snh.By.hour(), KINDS):
        assert sum(sizes(data, by)) == data._source.n() == kept


def test_the_card_tells_the_zone_of_days_and_hours(source, tmp_path):
    given = {"unit": "user-day", "max_per_user": 2}
    points = snh.read_points(source, CITY, time="started", tz=ZONE, user="rider")
    data = snh.PrivateDataset(points, 1, **given, ledger=tmp_path / "a.ledger")
    assert opened(source, **given).unit == data.unit
    made = data.release("identity", epsilon=1, by=snh.By.hour(12))
    made.save(tmp_path / "a.snh")
    card = snh.load(tmp_path / "a.snh").card()
    assert "of one person in one day (Europe/Brussels)" in card["Privacy"]
    assert card["Strata"] == "hour (Europe/Brussels): 00-11, 12-23"
    utc = snh.read_points(source, CITY, time="started", user="rider")
    with pytest.raises(
        snh.InputError, match=r"one day \(Europe/Brussels\); open it with that unit"
    ):
        snh.PrivateDataset(utc, **given, ledger=tmp_path / "a.ledger")
    counts = snh.scan_points(source, CITY, time="started", tz=ZONE)
    made = snh.PrivateDataset(counts, 1, unit="record").release("ug", epsilon=1, by=snh.By.hour(12))
    assert made.card()["Strata"].startswith("hour (Europe/Brussels)")
    assert "Brussels" not in made.card()["Privacy"]
    by_kind = opened(source, unit="record").release("ug", epsilon=1, by=KINDS)
    assert "Brussels" not in str(by_kind)


def test_a_column_that_is_missing_costs_nothing(source):
    data = opened(source, unit="record")
    with pytest.raises(snh.InputError, match="Did you mean 'kind'"):
        data.release("ug", epsilon=1, by=snh.By.column("kinds", ["bike"]))
    untimed = snh.PrivateDataset.scan(source, CITY, 1, unit="record")
    with pytest.raises(snh.InputError, match="need the column of times"):
        untimed.release("ug", epsilon=1, by=snh.By.hour())
    assert data.ledger.spent == 0


def test_an_empty_stratum_is_released_with_noise(source):
    data = opened(source, unit="record")
    made = data.release("ug", epsilon=1, by=snh.By.column("kind", ["bike", "boat"]))
    assert made["boat"].n is not None
    assert float(made["boat"].epsilon) == 1


def test_what_scan_points_returns_is_divided_too(source, rows):
    counts = snh.scan_points(source, CITY, time="started", tz=ZONE)
    data = snh.PrivateDataset(counts, 1, unit="record")
    assert sum(sizes(data, snh.By.hour())) == len(rows)
