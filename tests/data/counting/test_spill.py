"""Temporary files of records are private, and go with the records."""

import gc
from functools import partial

import numpy as np
import pandas as pd
import pytest

from snhkit.data.counting.scan import Scan
from snhkit.data.counting.spill import bucket_count
from snhkit.data.sources.columns import rules_of
from snhkit.data.sources.opening import open_source
from snhkit.geometry import Region
from snhkit.privacy.unit import kept_records

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
CHOOSE = partial(kept_records, most=3, key=np.array([17, 2**63 + 5], np.uint64))


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 4_000
    lat, lon = CITY.to_latlon(np.round(rng.random((n, 2)) * 14_000 - 400, -2))  # many alike
    return pd.DataFrame({"user": rng.integers(0, 99, n), "lat": lat, "lon": lon})


def scan(path, **options):
    return Scan(open_source(path, rules_of(people="needed")), CITY, lambda told: None, **options)


def test_files_are_private_and_go_with_the_records(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    spill = tmp_path / "spill"
    spill.mkdir()
    source = scan(tmp_path / "a.csv", spill=spill).bounded(CHOOSE)
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
        scan(tmp_path / "a.csv", spill=tmp_path).bounded(fail)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_people_whose_ids_are_numbers_of_days_stay_apart(tmp_path):
    """If two people on two days were one, a person would change what is kept of another."""
    person, day = (axis.ravel() for axis in np.meshgrid(np.arange(20_710, 20_750), np.arange(40)))
    time = (20_720 - 3 + day) * 86_400 + 43_200
    rows = pd.DataFrame({"lat": 37.7637, "lon": -122.4337, "user": person, "time": time})
    rules = rules_of(user="user", time="time", people="needed")
    scan = Scan(open_source(rows, rules), CITY, lambda _: None)
    np.testing.assert_array_equal(scan.of_people(window_days=1), np.ones(1_600))


def test_the_number_of_files_suits_the_size():
    assert [bucket_count(size) for size in (9, 2**29, 2**30, 2**60)] == [16, 16, 32, 1024]
