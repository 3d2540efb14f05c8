"""`snhkit release`: what it prints and which files it writes."""

import json
import stat
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import snhkit as snh
from snhkit.cli.main import app
from snhkit.privacy import read_ledger, written

REGION = snh.Region.around(lat=43.038, lon=-87.91, side_m=2_000)


def test_release_prints_only_what_was_paid_for_or_is_for_the_owner(run, trips, tmp_path):
    code, out, err = run(
        "release", *trips, "--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "u.snh"
    )
    card = str(snh.load(tmp_path / "u.snh"))
    assert code == 0
    assert out.split() == card.split()  # to publish: nothing else stands beside the card
    told = [
        "t.csv: 500 of 500 rows kept. For the eyes of the records' owner only.",
        "Written to u.snh",
        "Ledger t.csv.ledger: Privacy budget: epsilon 1, spent 1, left 0",
    ]
    assert err.split() == " ".join(told).split()  # long lines are broken between words
    assert "0.05 for number of records" in card
    assert "hides" in card
    assert stat.S_IMODE((tmp_path / "u.snh").stat().st_mode) & 0o444


def test_release_counts_the_districts_of_a_file(run, trips, wards, tmp_path):
    words = ["release", *trips, *wards, "--epsilon", "1", "--budget", "1", "--out", "d.snh"]
    code, out, err = run(*words, "--label", "ward")
    assert code == 0, err
    assert "records lie in no district (a noisy count with standard error 1.36)" in out
    made = snh.load(tmp_path / "d.snh")
    assert made.method == "Tessellation"
    frame = gpd.read_file(tmp_path / "w.geojson")
    counts = made.answer(frame)
    assert counts.tolist() == counts.round().tolist()
    run("answer", "d.snh", "--boxes", "w.geojson", "--out", "c.geojson")
    told = json.loads((tmp_path / "c.geojson").read_text())["features"]
    assert [one["properties"]["count"] for one in told] == counts.tolist()


def test_a_column_that_looks_like_people_is_asked_about(run, trips, tmp_path):
    rows = pd.read_csv(tmp_path / "t.csv").rename(columns={"bearer": "riderId"})
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = ["release", *trips, "--method", "ug", "--epsilon", 1, "--budget", 1, "--out", "a.snh"]
    code, _, err = run(*words)
    assert code == 2
    assert "'riderId' of t.csv looks like people" in err
    assert "--user riderId and --max-per-user N, or --unit record" in err
    assert not (tmp_path / "t.csv.ledger").exists()
    assert run(*words, "--unit", "record")[0] == 0
    assert snh.load(tmp_path / "a.snh").unit.kind == "record"
    (tmp_path / "t.csv.ledger").unlink()
    assert run(*words, "--force", "--user", "riderId", "--max-per-user", 2)[0] == 0


def test_release_can_hide_users(run, trips, tmp_path):
    words = ["release", *trips, "--method", "ug", "--epsilon", 1, "--budget", 1, "--out", "u.snh"]
    code, _, err = run(*words, "--user", "bearer", "--max-per-user", 3)
    assert "at most 3 records of one person" in " ".join(err.split())
    assert "how many were left out was not measured" in " ".join(err.split())
    assert code == 0, err
    unit = snh.load(tmp_path / "u.snh").unit
    assert (unit.kind, unit.max_per_user) == ("user", 3)


def test_a_bound_is_bought_from_the_records_once(run, trips, tmp_path):
    words = ["release", *trips, "--method", "ug", "--epsilon", 0.5, "--out", "u.snh"]
    bought = ["--user", "bearer", "--max-per-user", 64, "--bound-epsilon", 0.25]
    assert run(*words, "--budget", 1, *bought[4:])[0] == 2  # of nobody's records
    code, _, err = run(*words, "--budget", 1, *bought)
    assert code == 0, err
    unit, ledger = snh.load(tmp_path / "u.snh").unit, read_ledger(tmp_path / "t.csv.ledger")
    assert unit.max_per_user < 64
    assert 0 <= unit.dropped <= 1
    assert [entry.who for entry in ledger.entries] == ["NoisyQuantile", "UniformGrid"]
    assert ledger.spent == 0.75
    assert f"--max-per-user {unit.max_per_user} without" in err
    assert "by a noisy estimate" in err


def test_a_release_goes_to_standard_output_whole(trips, tmp_path):
    words = ["release", *trips, "--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "-"]
    done = CliRunner().invoke(app, words)
    (tmp_path / "piped.snh").write_bytes(done.stdout_bytes)
    assert snh.load(tmp_path / "piped.snh").method == "UniformGrid"
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--page-districts", "b.geojson"], "b.geojson"),
        (["--owner", "x" * 301], "owner: at most 300 characters"),
    ],
)
def test_what_a_page_shows_is_read_before_epsilon_is_spent(run, trips, tmp_path, given, said):
    (tmp_path / "b.geojson").write_text('{"type": "FeatureCollection", "features": [')
    words = ["--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "u.snh"]
    page = ["--page", "p.html", "--title", "Trips"]
    code, _, err = run("release", *trips, *words, *page, *given)
    assert code != 0
    assert said in err
    code, out, _ = run("ledger", "t.csv.ledger")
    assert "spent 0" in out
    assert not (tmp_path / "u.snh").exists()


def test_a_page_to_publish_is_written_beside_the_release(run, trips, tmp_path):
    words = ["--method", "ug", "--epsilon", 1, "--budget", 2, "--out", "p.snh"]
    code, out, _ = run("release", *trips, *words, "--page", "p.html", "--title", "Trips", "--json")
    assert code == 0
    assert json.loads(out)["Method"] == "UniformGrid"
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "What you may and may not conclude" in page
    assert "'p.snh' exists; --force replaces it" in run("release", *trips, *words)[2]
    code, _, err = run("release", *trips, *words, "--force", "--page", "p.html", "--title", "Trips")
    assert "Written to p.snh and p.html" in err
    code, _, err = run(
        "release", *trips, *words[:-1], "q.snh", "--page", "p.html", "--title", "Trips"
    )
    assert "--force replaces it. Nothing was spent" in err


def test_what_the_owner_says_is_on_the_page_and_the_card(run, trips, wards, tmp_path):
    rows = pd.read_csv(tmp_path / "t.csv").rename(columns={"lat": "north", "lon": "east"})
    days = pd.Timestamp("2026-05-01 12:00") + pd.to_timedelta(np.arange(500) % 10, unit="D")
    rows.assign(at=days).to_csv(tmp_path / "t.csv", index=False)
    said = {
        "--title": "Rides by day", "--subject": "ride on a bicycle", "--owner": "Office of Rides",
        "--period": "Early May", "--contact": "mail@example.org",
    }  # fmt: skip
    words = [
        "release", *trips, "--lat", "north", "--lon", "east", "--method", "identity",
        "--cell-m", 1_000, "--epsilon", 10**6, "--budget", 10**7, "--out", "p.snh",
        "--user", "bearer", "--max-per-user", 5, "--unit", "user-day", "--whose", "household",
        "--time", "at", "--tz", "UTC", "--since", "2026-05-03", "--until", "2026-05-07",
        "--spill", tmp_path, "--page", "p.html", "--page-districts", "w.geojson", "--label", "ward",
        *(word for pair in said.items() for word in pair),
    ]  # fmt: skip
    code, out, err = run(*words)
    assert code == 0, err
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    for text in (*said.values(), "household", ">west<", ">east<"):
        assert text in page
    assert "at most 5) records of one household in one day (UTC)" in " ".join(out.split())
    release = snh.load(tmp_path / "p.snh")
    assert (release.unit.kind, release.unit.whose, release.unit.tz) == (
        "user-day", "household", "UTC",
    )  # fmt: skip
    inside = REGION.contains(REGION.to_xy(rows.north, rows.east))
    four = days.isin(pd.to_datetime([f"2026-05-0{day} 12:00" for day in (3, 4, 5, 6)]))
    assert release.cells()["count"].sum() == (inside & four).sum() > 100


def test_gaussian_noise_needs_a_budget_with_a_delta(run, trips):
    words = ["release", *trips, "--method", "identity", "--epsilon", "0.5", "--delta", "1e-6"]
    code, _, told = run(*words, "--budget", "1", "--ledger", "pure.ledger", "--out", "x.snh")
    assert code == 2
    assert "--budget 1 --budget-delta 1e-6. Nothing was spent." in " ".join(told.split())
    Path("pure.ledger").unlink()
    code, told, owner = run(*words, "--budget", "1", "--budget-delta", "1e-6", "--out", "x.snh")
    assert code == 0
    assert "delta = 0.000001 (zCDP with rho = 0.00664152435)" in " ".join(told.split())
    assert "epsilon 1 at delta 0.000001, spent 0.5" in " ".join(owner.split())
    code, told, _ = run("ledger", "t.csv.ledger", "--json")
    assert (json.loads(told)["delta"], json.loads(told)["entries"][0]["delta"]) == ("0.000001",) * 2
    left = written(snh.privacy.read_ledger("t.csv.ledger").remaining)
    assert json.loads(told)["left"] == left != "0.5"
    assert run("verify", "x.snh", "--ledger", "t.csv.ledger")[0] == 0
    code, _, told = run(*words, "--budget-delta", "1e-6", "--out", "y.snh")
    assert (code, "--budget-delta needs --budget" in told) == (2, True)
    code, _, told = run(*words[:-1], "0", "--out", "y.snh")
    assert (code, "delta must be greater than 0" in told) == (2, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_release_that_cannot_be_written_tells_what_was_spent(run, trips, tmp_path):
    """As on a disk that fills up in between: epsilon is spent when the file is written."""
    words = ["release", *trips, "--method", "ug", "--epsilon", "1", "--budget", "9"]
    code, out, err = run(*words, "--out", "/dev/full")
    told = " ".join(err.split())
    assert (code, out) == (2, "")
    lost = "The epsilon of the release is spent, and the release is lost."
    assert f"No space left on device). {lost}" in told
    assert "Ledger t.csv.ledger: Privacy budget: epsilon 9, spent 1, left 8" in told
    code, _, err = run(*words, "--out", "a.snh", "--page", "/dev/full", "--title", "Trips")
    assert (code, (tmp_path / "a.snh").exists()) == (2, True)
    assert "The epsilon of the release is spent, and a.snh was written." in " ".join(err.split())
