"""The options that name the records and their columns; large files, folders and clusters."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import snhkit as snh
from snhkit import Region, load
from snhkit.cli.main import app
from snhkit.data.sources import files
from snhkit.errors import LedgerWarning

PLACE = ["--center", "43.038,-87.91", "--side-km", "2"]


def test_advice_on_columns_is_given_in_options(run, tmp_path):
    region = snh.Region.around(43.038, -87.91, side_m=2_000)
    lat, lon = region.to_latlon(np.full((9, 2), 1_000.0))
    np.save(tmp_path / "swapped.npy", np.stack([lon, lat], axis=1))
    words = ["compare", "--data", "swapped.npy", *PLACE, "--methods", "ug", "--queries", 5]
    code, _, err = run(*words)
    assert code == 2
    assert "look swapped" in err
    assert "pass --lat '1', --lon '0'." in err
    assert run(*words, "--lat", 1, "--lon", 0)[0] == 0


CITY = Region.around(lat=37.76, lon=-122.43, side_m=10_000)
WHERE = ["--center", "37.76,-122.43", "--side-km", "10", "--method", "ug", "--epsilon", "0.5"]


def test_compare_counts_a_large_file_as_it_lies_with_the_same_errors(frame, tmp_path, monkeypatch):
    frame.rename(columns={"lat": "up", "lon": "across"}).to_csv(tmp_path / "a.csv", index=False)
    command = ["compare", "--data", str(tmp_path / "a.csv"), *WHERE[:4], "--methods", "ug,identity"]
    command += ["--lat", "up", "--lon", "across"]
    command += ["--seed", "1", "--queries", "50", "--report", str(tmp_path / "a.html"), "--json"]
    for name, large in (("memory", 2**28), ("files", 1_000)):
        monkeypatch.setattr(files, "_LARGE", large)
        done = CliRunner().invoke(app, [*command, str(tmp_path / f"{name}.json")])
        assert done.exit_code == 0, (done.output, done.exception)
    one, other = (
        pd.read_json(tmp_path / f"{name}.json").drop(columns=["build_s", "query_us"])
        for name in ("memory", "files")
    )
    pd.testing.assert_frame_equal(one, other)
    refused = CliRunner().invoke(app, [*command, "-", "--n", "100"])
    assert "counted as they are read" in refused.output


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    lat, lon = CITY.to_latlon(rng.random((2_000, 2)) * 10_000)
    hours = rng.integers(0, 240, 2_000).astype("timedelta64[h]")
    time = np.datetime64("2026-11-01T00:00:00", "us") + hours
    return pd.DataFrame({"lat": lat, "lon": lon, "who": rng.integers(0, 99, 2_000), "at": time})


def release(data, folder, *more, code=0):
    out, ledger = folder / "out.snh", folder / "out.ledger"
    command = ["release", "--data", str(data), *WHERE, "--out", str(out), "--ledger", str(ledger)]
    done = CliRunner().invoke(app, [*command, "--budget", "1", "--n-public", *more])
    assert done.exit_code == code, (done.output, done.exception)
    return load(out) if not code else done


def test_hours_are_those_of_the_zone(frame, tmp_path):
    frame["at"] = pd.Timestamp("2026-11-01T22:30:00", tz="UTC")
    frame.to_csv(tmp_path / "a.csv", index=False)
    told = ["--by", "hour", "--time", "at"]
    for zone, hour in (([], "22"), (["--tz", "Europe/Brussels"], "23")):
        made = release(tmp_path / "a.csv", tmp_path, *told, *zone, "--force")
        assert max(made, key=lambda label: made[label].n) == hour
        (tmp_path / "out.ledger").unlink()
        (tmp_path / "out.ledger.key").unlink()
    (tmp_path / "b.csv").write_text("south,west,north,east\n" + "37.7,-122.5,37.8,-122.4\n" * 2)
    asked = ["answer", str(tmp_path / "out.snh"), "--boxes", str(tmp_path / "b.csv"), "--json"]
    rows = json.loads(CliRunner().invoke(app, asked).stdout)
    assert [(row["row"], row["hour"]) for row in rows] == [
        (k, hour) for hour in made for k in (1, 2)
    ]
    refused = release(tmp_path / "a.csv", tmp_path, *told, "--tz", "Mars/Base", "--force", code=1)
    assert "Mars/Base" in str(refused.exception)


def test_a_folder_is_released(frame, tmp_path):
    (tmp_path / "trips").mkdir()
    frame[:1_500].to_parquet(tmp_path / "trips" / "a.parquet")
    frame[1_500:].to_parquet(tmp_path / "trips" / "b.parquet")
    assert release(tmp_path / "trips", tmp_path).n == 2_000


def test_a_large_file_is_counted_in_place_and_a_small_one_is_not(frame, tmp_path, monkeypatch):
    from snhkit.dataset import PrivateDataset

    frame.to_csv(tmp_path / "a.csv", index=False)
    calls = []
    scan = PrivateDataset.scan

    def watched(*args, **options):
        calls.append(args)
        return scan(*args, **options)

    monkeypatch.setattr(PrivateDataset, "scan", watched)
    assert release(tmp_path / "a.csv", tmp_path).n == 2_000
    assert not calls
    monkeypatch.setattr(files, "_LARGE", 1_000)
    assert release(tmp_path / "a.csv", tmp_path, "--force").n == 2_000
    assert len(calls) == 1


def test_times_and_users_are_options(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    wanted = (frame["at"] >= "2026-11-03") & (frame["at"] < "2026-11-05")
    window = ["--time", "at", "--since", "2026-11-03", "--until", "2026-11-05"]
    assert release(tmp_path / "a.csv", tmp_path, *window).n == wanted.sum()
    users = ["--user", "who", "--max-per-user", "1", "--spill", str(tmp_path)]
    other = tmp_path / "other"
    other.mkdir()
    with pytest.warns(LedgerWarning, match=r"already have a ledger, .*out\.ledger"):
        kept = release(tmp_path / "a.csv", other, *window, *users)
    assert kept.n == frame.who[wanted].nunique()
    assert kept.unit.max_per_user == 1


def test_errors_name_options(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = release(tmp_path / "a.csv", tmp_path, "--since", "2026-11-03", code=1)
    assert "give --time ..., the name of the column" in str(done.exception)


def test_either_a_scheduler_or_workers(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    both = ["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"]
    assert "give either" in release(tmp_path / "a.csv", tmp_path, *both, code=2).output


def test_a_cluster_counts_and_its_dashboard_is_said(frame, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    (tmp_path / "trips").mkdir()
    frame.to_parquet(tmp_path / "trips" / "a.parquet")
    threads = partial(distributed.LocalCluster, processes=False)  # of processes: tests/data
    monkeypatch.setattr(distributed, "LocalCluster", threads)
    command = [
        "release",
        "--data",
        str(tmp_path / "trips"),
        *WHERE,
        "--out",
        str(tmp_path / "a.snh"),
    ]
    more = ["--budget", "1", "--n-public", "--workers", "2"]
    done = CliRunner().invoke(app, [*command, *more])
    assert done.exit_code == 0, done.output
    assert re.search(r"Dask: 2 workers; dashboard http://\S+/status", done.stderr)
    assert load(tmp_path / "a.snh").n == 2_000


def test_a_scheduler_that_is_not_there_costs_nothing(frame, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("snhkit.cli.records._TIMEOUT_S", 0.5)
    frame.to_csv(tmp_path / "a.csv", index=False)
    told = release(tmp_path / "a.csv", tmp_path, "--scheduler", "tcp://127.0.0.1:9", code=2)
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in " ".join(told.output.split())
    assert not (tmp_path / "out.ledger").exists()
