"""`snhkit explore` with a file of records."""

import pandas as pd
import pytest

from snhkit.widgets.own_file import OwnFile


@pytest.fixture
def opened(monkeypatch) -> list[dict]:
    """What the app was opened with."""
    told = []
    monkeypatch.setattr("snhkit.cli.launch.explore_in_voila", lambda **given: told.append(given))
    return told


def test_a_file_to_explore_needs_its_square_and_a_budget_once(run, trips, tmp_path, opened):
    assert "--data needs --center" in run("explore", "--app", "--data", "t.csv")[2]
    assert "Create it by adding --budget" in run("explore", "--app", *trips)[2]
    assert "--budget needs --data" in run("explore", "--app", "--budget", 1)[2]
    assert not opened
    code, _, err = run("explore", "--app", *trips, "--budget", 1)
    assert code == 0, err
    assert opened[0]["file"].path == str(tmp_path / "t.csv")
    assert (tmp_path / "t.csv.ledger").exists()
    assert run("explore", "--app", *trips)[0] == 0  # the ledger holds the budget


def test_people_are_asked_about(run, trips, tmp_path, opened):
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    (tmp_path / "t.csv").write_text(text.replace("bearer", "cab_id"), encoding="utf-8")
    words = ["explore", "--app", *trips, "--budget", 1]
    code, _, err = run(*words)
    assert code == 2
    assert "'cab_id' of t.csv looks like people" in err
    assert "--unit user needs --user" in run(*words, "--unit", "user")[2]
    assert not opened
    assert run(*words, "--unit", "record")[0] == 0
    assert opened[0]["file"].unit.kind == "record"


def test_what_is_typed_reaches_the_explorer(run, trips, wards, tmp_path, opened):
    rows = pd.read_csv(tmp_path / "t.csv").assign(at="2026-05-01 12:00")
    rows.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "p.csv").write_text("lat,lon\n43.0381,-87.9101\n")
    words = ["explore", "--app", *trips[:-1], "2.0005", *wards, "--label", "ward", "--n-public"]
    words += ["--public", "p.csv", "--ledger", "own.ledger", "--budget", "2", "--title", "Rides"]
    words += ["--user", "bearer", "--max-per-user", 3, "--unit", "user-day", "--time", "at"]
    code, _, err = run(*words, "--tz", "UTC")
    assert code == 0, err
    assert opened[0]["file"] == OwnFile(
        str(tmp_path / "t.csv"), 43.038, -87.91, 2_000.5, ledger=str(tmp_path / "own.ledger"),
        budget="2", public=str(tmp_path / "p.csv"), districts=str(tmp_path / "w.geojson"),
        label="ward", columns=(("user", "bearer"), ("time", "at"), ("tz", "UTC")), max_per_user=3,
        kind="user-day", n_public=True, title="Rides",
    )  # fmt: skip


def test_a_class_shows_invented_cities_in_the_app_only(run, trips, opened):
    code, _, err = run("explore", "--app", "--class", *trips, "--budget", 1)
    assert code == 2
    assert "visitors would share the budget of --data" in " ".join(err.split())
    assert "--class needs --app" in run("explore", "--class")[2]
    assert not opened
    assert run("explore", "--app", "--class", "--no-browser")[0] == 0
    assert opened == [{"browser": False, "file": None, "visitors": True, "background": {}}]


def test_a_background_is_for_the_app_and_a_file_of_tiles_has_its_full_path(run, tmp_path, opened):
    assert "--tiles needs --app" in run("explore", "--tiles", "a.mbtiles")[2]
    assert "--attr needs --tiles" in run("explore", "--app", "--attr", "us")[2]
    assert not opened
    (tmp_path / "a.mbtiles").touch()
    assert run("explore", "--app", "--tiles", "a.mbtiles")[0] == 0
    assert opened[0]["background"] == {"tiles": str(tmp_path / "a.mbtiles")}
