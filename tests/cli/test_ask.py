"""`snhkit release --ask`: the questions, and the command that they lead to."""

import re
import shlex

import geopandas as gpd
import pandas as pd
import pytest
import shapely
from click.testing import CliRunner

import snhkit as snh
from snhkit.cli.main import app


@pytest.fixture
def people(trips, tmp_path):
    rows = pd.read_csv(tmp_path / "t.csv").rename(columns={"bearer": "rider_id"})
    rows.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


def asked(*answers: str) -> str:
    done = CliRunner().invoke(app, ["release", "--ask"], input="\n".join([*answers, ""]))
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def command(said: str) -> list[str]:
    (line,) = (line for line in said.splitlines() if line.startswith("snhkit release "))
    return shlex.split(line)[1:]


def test_the_answers_lead_to_a_command_that_works(people):
    said = asked(
        "none.csv", "t.csv", "43.038, -87.91", "2", "", "0", "3", "", "1000", "", "0.5", "boxes",
        "300,1000", "ug", "out.snh", "Trips, May 2026", "y",
    )  # fmt: skip
    for part in (
        "Columns: lat, lon, rider_id",
        "Column of people, or nobody [rider_id]",
        "whole number of at least 1, not '0'",
        "at most 3 records of one person",
        "The noise grows with this number",
        "https://desfontain.es/blog/real-world-differential-privacy.html",
        "Expected relative errors",
        "Proposed: ",
    ):
        assert part in " ".join(said.split()), part
    assert re.search(r"  43\.0\d{4}, -87\.\d{5}\n", said)
    made = snh.load(people / "out.snh")
    assert (made.unit.kind, made.unit.max_per_user, float(made.epsilon)) == ("user", 3, 0.5)
    assert "Trips, May 2026" in (people / "t.html").read_text(encoding="utf-8")
    (people / "t.csv.ledger").unlink()
    again = CliRunner().invoke(app, [*command(said), "--force"])
    assert again.exit_code == 0, again.output


def test_columns_of_positions_are_asked_for_if_their_names_are_unusual(people):
    rows = pd.read_csv(people / "t.csv").rename(columns={"lat": "start_lat", "lon": "start_lng"})
    rows.to_csv(people / "t.csv", index=False)
    said = asked(
        "t.csv", "start", "start_lng", "t.csv", "start_lat", "start_lng", "43.038, -87.91", "2", "",
        "3", "", "1000", "1", "0.5", "boxes", "", "ug", "", "", "n",
    )  # fmt: skip
    assert "no column is called 'start'" in " ".join(said.split())
    words = command(said)
    assert words[3:7] == ["--lat", "start_lat", "--lon", "start_lng"]
    assert CliRunner().invoke(app, words).exit_code == 0


def test_nothing_is_spent_without_a_yes_and_districts_are_counted_directly(people):
    box = shapely.box(-87.92, 43.03, -87.90, 43.045)
    gpd.GeoDataFrame({"name": ["W"]}, geometry=[box], crs=4326).to_file(people / "w.geojson")
    said = asked(
        "t.csv", "w.geojson", "nobody", "1000", "1", "0.5", "districts", "w.geojson", "nmae",
        "name", "", "", "n",
    )  # fmt: skip
    assert "Columns: name" in said
    assert "no column 'nmae'; it has name" in " ".join(said.split())
    words = command(said)
    assert words[words.index("--districts") + 1] == "w.geojson"
    assert words[words.index("--unit") + 1] == "record"
    assert not (people / "t.csv.ledger").exists()
    assert CliRunner().invoke(app, words).exit_code == 0
    assert (people / "t.snh").exists()


def test_the_name_of_a_column_sends_no_commands_to_the_terminal(people):
    text = (people / "t.csv").read_text(encoding="utf-8")
    evil = "\x9b2~rider\u202e_id"
    (people / "t.csv").write_text(text.replace("rider_id", evil, 1), encoding="utf-8")
    said = asked(
        "t.csv", "43.038, -87.91", "2", "", "3", "lots", "0.1", "1000", "1", "0.5", "boxes", "",
        "ug", "", "", "n",
    )  # fmt: skip
    assert "--max-per-user 3 --bound-epsilon 0.1" in said
    assert "2~rider" in said
    assert not set("\x9b\u202e") & set(said)
