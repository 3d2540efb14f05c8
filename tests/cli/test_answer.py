"""`snhkit answer`: the boxes that it reads and the counts that it writes."""

import json

import geopandas as gpd
import pandas as pd
import pytest
import shapely

import snhkit as snh
from snhkit.cli.main import app
from snhkit.defaults import DEFAULT_LEVEL
from snhkit.release.estimates import ADDED


def test_answer_gives_csv_rows_back_with_counts(run, released, tmp_path, monkeypatch):
    text = 'id,South, west ,north,east,note\n007,43.03,-87.92,43.04,-87.91,"a, b"\n'
    text += "8,43.038,-87.911,43.0385,-87.910,\n"
    (tmp_path / "b.csv").write_text(text)
    code, out, err = run("answer", "t.snh", "--boxes", "b.csv")
    assert (code, err) == (0, "")
    boxes = snh.RangeQueries.from_degrees(
        released.region, [43.03, 43.038], [-87.92, -87.911], [43.04, 43.0385], [-87.91, -87.910]
    )
    found = (
        released.estimate(boxes)[list(ADDED)].round(3).assign(area_m2=lambda f: f.area_m2.round(1))
    )
    a, b = (",".join(map(str, row)) for row in found.to_numpy())
    assert out == (
        "id,South, west ,north,east,note,count,noise_sd,low,high,area_m2\n"
        f'007,43.03,-87.92,43.04,-87.91,"a, b",{a}\n'
        f"8,43.038,-87.911,43.0385,-87.91,,{b}\n"
    )
    assert run("answer", "t.snh", "--boxes", "b.csv", "--out", "c.csv") == (0, "", "")
    assert (tmp_path / "c.csv").read_text() == out
    monkeypatch.setattr("snhkit.release.estimates.meaning", lambda *_, **__: "not known: why")
    assert run("answer", "t.snh", "--boxes", "b.csv") == (0, out, "not known: why\n")


def test_answer_gives_geojson_back_with_counts(run, released, tmp_path):
    square = shapely.box(-87.92, 43.03, -87.91, 43.04)
    feature = {
        "type": "Feature", "id": "x1", "properties": {"n": 1, "gap": None},
        "geometry": shapely.geometry.mapping(square),
    }  # fmt: skip
    other = feature | {"id": "x2", "properties": None}
    document = {"type": "FeatureCollection", "name": "mine", "features": [feature, other]}
    (tmp_path / "b.geojson").write_text(json.dumps(document))
    code, out, err = run("answer", "t.snh", "--boxes", "b.geojson")
    assert (code, err) == (0, "")
    (row,) = released.estimate([square])[list(ADDED)].round(3).to_dict("records")
    count = row["count"]
    told = row | {"area_m2": round(row["area_m2"], 1)}
    back = json.loads(out)
    assert [f["id"] for f in back["features"]] == ["x1", "x2"]
    assert [f["properties"] for f in back["features"]] == [
        {"n": 1, "gap": None} | told,
        {"n": None, "gap": None} | told,
    ]
    assert back["features"][0]["geometry"] == json.loads(json.dumps(feature["geometry"]))
    assert run("answer", "t.snh", "--boxes", "b.geojson", "--out", "c.geojson") == (0, "", "")
    assert (tmp_path / "c.geojson").read_text() == out
    assert gpd.read_file(tmp_path / "c.geojson")["count"].tolist() == [count, count]
    assert run("answer", "t.snh", "--boxes", "b.geojson", "--out", "c.csv")[0] == 0
    table = pd.read_csv(tmp_path / "c.csv")
    assert table["count"].tolist() == [count, count]
    assert table[["south", "west", "north", "east"]].iloc[0].tolist() == [
        43.03, -87.92, 43.04, -87.91,
    ]  # fmt: skip


@pytest.mark.usefixtures("released")
def test_answer_says_how_many_boxes_reach_out_of_the_region(run, tmp_path):
    (tmp_path / "b.csv").write_text(
        "south;west;north;east\n43.03;-87.92;43.04;-87.91\n10;10;11;11\n43;-89;43.04;-87.91\n"
    )
    code, out, err = run("answer", "t.snh", "--boxes", "b.csv")
    assert code == 0
    assert out.splitlines()[2] == "10.0,10.0,11.0,11.0,0.0,0.0,0.0,0.0,0.0"
    assert " ".join(err.split()) == (
        "b.csv: 1 of 3 boxes lie outside the region of 2000 m around (43.038, -87.91), so their "
        "counts are 0 (boxes 1, counted from 0). 2 of 3 boxes or polygons reach outside the "
        "region; the part outside counts as 0."
    )
    (tmp_path / "b.csv").write_text("south,west,north,east\n-87.92,43.03,-87.91,43.04\n")
    code, out, err = run("answer", "t.snh", "--boxes", "b.csv")
    assert (code, out) == (2, "")
    assert "are latitude and longitude swapped?" in err


BOXES = {
    "column missing": ("south,west,north\n1,2,3\n", "no column east; it has south, west, north."),
    "no number": (
        "south,west,north,east\n43,-88,43.1,-87\n43,x,43.1,-87\n", "box 1: west = 'x'",
    ),
    "no number at all": (
        "south,west,north,east\n43,-88,43.1,\n", "box 0: east = ''",
    ),
    "upside down": (
        "south,west,north,east\n43,-88,43.1,-87\n43.2,-88,43.1,-87\n",
        "box 1: south = 43.2, must be no greater than north",
    ),
    "no latitude": ("south,west,north,east\n-88,43,-87,43.1\n-98,43,-97,43.1\n", "south = -98"),
    "a low already": (
        "south,west,north,east,low\n43,-88,43.1,-87,tidal flat\n", "a column 'low'",
    ),
    "a count already": ("south,west,north,east,count\n43,-88,43.1,-87,5\n", "a column 'count'"),
    "not text": ("\x00\x01", "no column south"),
}  # fmt: skip


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize(("text", "told"), BOXES.values(), ids=BOXES)
def test_boxes_that_are_none_are_named(run, tmp_path, text, told, listed):
    (tmp_path / "b.csv").write_text(text)
    before = listed(tmp_path)
    code, out, err = run("answer", "t.snh", "--boxes", "b.csv", "--out", "c.csv")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "b.csv: " in err
    assert told in err
    assert listed(tmp_path) == before


def test_json_is_for_pipes_and_answers_say_the_noise(run, released, tmp_path):
    (tmp_path / "b.csv").write_text("south,west,north,east\n43.03,-87.92,43.04,-87.91\n")
    code, out, _ = run("answer", "t.snh", "--boxes", "b.csv", "--json")
    (row,) = json.loads(out)
    assert code == 0
    assert row["noise_sd"] > 0
    assert row["low"] <= row["count"] <= row["high"]
    _, table, _ = run("answer", "t.snh", "--boxes", "b.csv")
    head, line = table.splitlines()
    assert head == "south,west,north,east,count,noise_sd,low,high,area_m2"
    assert line.split(",")[4:-1] == [str(float(row[name])) for name in ADDED[:-1]]
    _, out, _ = run("ledger", "t.csv.ledger", "--json")
    assert json.loads(out)["entries"][0]["state"] == "settled"
    _, out, _ = run("cities", "--json")
    assert json.loads(out)[0]["key"] == "fargo"


def test_the_help_names_the_level_of_the_intervals():
    text = " ".join((app.commands["answer"].help or "").split())
    assert f"about {100 * DEFAULT_LEVEL:g} % of cases" in text


@pytest.mark.usefixtures("released")
def test_no_file_that_is_read_is_written(run, tmp_path):
    (tmp_path / "b.csv").write_text("south,west,north,east\n43.03,-87.92,43.04,-87.91\n")
    before = {name: (tmp_path / name).read_bytes() for name in ("t.snh", "b.csv")}
    given = ["answer", "t.snh", "--boxes", "b.csv"]
    for more in (
        ["--out", "t.snh"], ["--out", "b.csv"], ["--raster", "t.snh"], ["--raster", "./b.csv"],
        ["--out", "c.csv", "--raster", "c.csv"],
    ):  # fmt: skip
        code, out, err = run(*given, *more)
        assert (code, out) == (2, "")
        assert "are the same file" in err
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert not (tmp_path / "c.csv").exists()
