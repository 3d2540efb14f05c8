"""The command line as a person meets it: what is typed, printed, written and refused."""

import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import snhkit as snh
from snhkit.cli.main import main
from snhkit.experiment import OWNER_ONLY

CENTER = (43.038, -87.91)
WHERE = ["--center", "43.038,-87.91", "--side-km", "2"]
REGION = snh.Region.around(*CENTER, side_m=2_000)
COLUMNS = [
    "method", "epsilon", "rel_error", "abs_error", "abs_error_anywhere", "adds_up", "build_s",
    "query_us", "bytes", "sizes", "warning",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trips(tmp_path):
    rng = np.random.default_rng(3)
    lat, lon = REGION.to_latlon(rng.normal(1_000, 300, (500, 2)))
    users = rng.integers(0, 50, 500)
    pd.DataFrame({"lat": lat, "lon": lon, "user": users}).to_csv(tmp_path / "t.csv", index=False)
    return ["--data", "t.csv", *WHERE]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Type a line; get the exit code, standard output and standard error."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path.parent / "jax"))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "9")

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["snhkit", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        told = capsys.readouterr()
        return code, told.out, told.err

    return typed


@pytest.fixture
def released(run, trips, tmp_path):
    code, _, err = run(
        "release", *trips, "--method", "identity", "--epsilon", "1", "--budget", "9",
        "--cell-m", "50", "--out", "t.snh",
    )  # fmt: skip
    assert code == 0, err
    return snh.load(tmp_path / "t.snh")


def _files(folder):
    """All names, temporary and hidden ones too."""
    return sorted(path.name for path in folder.rglob("*"))


def test_compare_writes_a_table_for_people_and_one_for_programs_and_a_page(run, trips, tmp_path):
    code, out, _ = run(
        "compare", *trips, "--methods", "ug,identity", "--epsilon", "0.5,1", "--queries", 30,
        "--json", "rows.json",
    )  # fmt: skip
    assert code == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [(row["method"], row["epsilon"]) for row in rows] == [
        ("ug", 0.5), ("identity", 0.5), ("ug", 1.0), ("identity", 1.0),
    ]  # fmt: skip
    assert all(list(row) == COLUMNS for row in rows)
    assert all(math.isfinite(row[name]) for row in rows for name in COLUMNS[1:-2])
    assert [[band["size"] for band in row["sizes"]] for row in rows] == [
        ["25-100 m", "100-300 m", "300-1,000 m"]
    ] * 4
    assert all(row["rel_error"] > 0 and row["bytes"] > 0 for row in rows)
    page = (tmp_path / "snhkit-report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert f"{rows[0]['rel_error']:.3f}" in out
    assert "snhkit explore" in out
    tables = out.partition("centred on records.")[2].partition(OWNER_ONLY)[0]
    assert max(map(len, tables.splitlines())) <= 80
    assert _files(tmp_path) == ["rows.json", "snhkit-report.html", "t.csv"]


def test_compare_thins_the_records(run, trips, tmp_path):
    words = ["compare", *trips, "--methods", "ug", "--queries", 5, "--seed", 3, "--json", "a.json"]
    code, out, _ = run(*words, "--n", 100)
    assert code == 0
    assert "Thinned to 100 records." in " ".join(out.split())
    # UG: ceil(sqrt(100 * 0.2 / 10)) = 2 cells a side.
    assert json.loads((tmp_path / "a.json").read_text())[0]["bytes"] < 1_400
    code, _, err = run(*words, "--n", 501)
    assert code == 2
    assert "n = 501 is more than the number of records; give a smaller n" in err


def test_whatever_compare_shows_says_that_it_is_for_the_owner(run, trips, tmp_path):
    _, out, err = run(
        "compare", *trips, "--methods", "ug", "--queries", 5, "--json", "a.json", "--report", "a"
    )
    assert OWNER_ONLY in " ".join(out.split())
    rows = json.loads((tmp_path / "a.json").read_text())
    assert [row["warning"] for row in rows] == [OWNER_ONLY]
    assert "For the owner&#39;s eyes" in (tmp_path / "a").read_text(encoding="utf-8")
    assert "500 of 500 rows kept. For the eyes of the records' owner only." in err
    command = "snhkit explore --app --data t.csv --center 43.038,-87.91 --side-km 2 \\\n"
    assert out.endswith(f"\nReport: a\nNext: {command}    --budget 1\n")


def test_all_means_those_that_can_be_built_here(run, trips, tmp_path, monkeypatch):
    from snhkit.experiment import METHODS

    kept = {"ug": METHODS["ug"], "pgm": METHODS["pgm"]}
    monkeypatch.setattr("snhkit.experiment.methods.METHODS", kept)
    monkeypatch.setattr("snhkit.builders.base.find_spec", lambda name: None)
    words = ["compare", *trips, "--queries", 5, "--json", "a.json", "--methods"]
    code, _, err = run(*words, "all")
    assert code == 0
    assert 'Left out: pgm; pip install "snhkit[pgm]" installs it.' in err
    assert [row["method"] for row in json.loads((tmp_path / "a.json").read_text())] == ["ug"]
    code, _, err = run(*words, "ug,pgm")
    assert code == 2
    assert 'mbi is not installed: pip install "snhkit[pgm]".' in err


def test_a_seed_repeats_the_errors_exactly_and_is_told(run, trips, tmp_path):
    def errors(*seed):
        words = ["compare", *trips, "--methods", "identity", "--queries", 20, "--json", "r.json"]
        out = run(*words, *seed)[1]
        return [r["rel_error"] for r in json.loads((tmp_path / "r.json").read_text())], out

    first, told = errors("--seed", 5)
    assert first == errors("--seed", 5)[0]
    assert first != errors("--seed", 6)[0]
    assert errors()[0] != errors()[0]  # 400 cells of fresh noise: equal with chance < 1e-50
    assert "--seed" in told
    assert "--seed" not in errors()[1]


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


@pytest.fixture
def wards(tmp_path):
    """Two districts that leave a fifth of the region outside."""
    halves = [shapely.box(-1_000, -1_000, 0, 600), shapely.box(0, -1_000, 1_000, 600)]
    frame = gpd.GeoDataFrame({"ward": ["west", "east"]}, geometry=halves, crs=REGION.crs)
    frame.to_crs(4326).to_file(tmp_path / "w.geojson")
    return ["--districts", "w.geojson"]


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


def test_compare_counts_the_districts_of_a_file(run, trips, wards, tmp_path):
    words = ["compare", *trips, *wards, "--methods", "ug", "--queries", 5, "--json", "a.json"]
    code, out, err = run(*words)
    assert code == 0, err
    rows = json.loads((tmp_path / "a.json").read_text())
    assert [row["method"] for row in rows] == ["ug", "Districts"]
    assert "Districts" in out
    assert "Districts" in (tmp_path / "snhkit-report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("wards")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "give either --method M or --districts FILE"),
        (["--method", "ug", "--districts", "w.geojson"], "give either --method M or --districts"),
        (["--method", "ug", "--label", "ward"], "--label goes with --districts"),
        (["--districts", "w.geojson", "--label", "wrd"], "no column 'wrd'; it has ward, geometry"),
        (["--districts", "t.csv"], "data and districts are the same file"),
        (["--districts", "none.geojson"], "none.geojson"),
    ],
)  # fmt: skip
def test_districts_that_cannot_be_counted_cost_nothing(run, trips, tmp_path, words, told):
    before = _files(tmp_path)
    code, _, err = run(
        "release", *trips, *words, "--epsilon", "1", "--budget", "1", "--out", "d.snh"
    )
    assert code == 2
    assert told in err
    assert len(err.splitlines()) == 1
    assert _files(tmp_path) == before


def test_release_can_hide_users(run, trips, tmp_path):
    words = [
        "release",
        *trips,
        "--method",
        "ug",
        "--epsilon",
        "1",
        "--budget",
        "1",
        "--out",
        "u.snh",
    ]
    code, _, err = run(*words, "--user", "user", "--max-per-user", 3)
    assert code == 0, err
    unit = snh.load(tmp_path / "u.snh").unit
    assert (unit.kind, unit.max_per_user) == ("user", 3)


def test_answer_gives_csv_rows_back_with_counts(run, released, tmp_path):
    text = 'id,South, west ,north,east,note\n007,43.03,-87.92,43.04,-87.91,"a, b"\n'
    text += "8,43.038,-87.911,43.0385,-87.910,\n"
    (tmp_path / "b.csv").write_text(text)
    code, out, err = run("answer", "t.snh", "--boxes", "b.csv")
    assert (code, err) == (0, "")
    boxes = snh.RangeQueries.from_degrees(
        REGION, [43.03, 43.038], [-87.92, -87.911], [43.04, 43.0385], [-87.91, -87.910]
    )
    a, b = np.round(released.answer(boxes), 3)
    e, f = np.round(released.standard_error(boxes), 3)
    (g, h), (i, j) = np.round(released.interval(boxes), 3)
    assert out == (
        "id,South, west ,north,east,note,count,low,high,standard_error\n"
        f'007,43.03,-87.92,43.04,-87.91,"a, b",{a},{g},{h},{e}\n'
        f"8,43.038,-87.911,43.0385,-87.910,,{b},{i},{j},{f}\n"
    )
    assert run("answer", "t.snh", "--boxes", "b.csv", "--out", "c.csv") == (0, "", "")
    assert (tmp_path / "c.csv").read_text() == out


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
    boxes = snh.RangeQueries.from_degrees(REGION, 43.03, -87.92, 43.04, -87.91)
    count = round(float(released.answer(boxes)[0]), 3)
    low, high = np.round(released.interval(boxes)[0], 3)
    noise = round(float(released.standard_error(boxes)[0]), 3)
    told = {"count": count, "low": low, "high": high, "standard_error": noise}
    back = json.loads(out)
    assert [f["properties"] for f in back["features"]] == [
        {"n": 1, "gap": None, **told},
        told,
    ]
    for f in back["features"]:
        for name in told:
            f["properties"].pop(name)
    other["properties"] = {}
    assert back == json.loads(json.dumps(document))
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
    assert out.splitlines()[2] == "10,10,11,11,0.0,0.0,0.0,0.0"
    assert " ".join(err.split()) == (
        "b.csv: 1 of 3 boxes lie outside the region of 2000 m around (43.038, -87.91), so their "
        "counts are 0 (boxes 1, counted from 0). 2 of 3 boxes or polygons reach outside the "
        "region; the part outside counts as 0."
    )
    (tmp_path / "b.csv").write_text("south,west,north,east\n-87.92,43.03,-87.91,43.04\n")
    code, out, err = run("answer", "t.snh", "--boxes", "b.csv")
    assert (code, out) == (2, "")
    assert "are latitude and longitude swapped?" in err


def test_advice_on_columns_is_given_in_options(run, tmp_path):
    lat, lon = REGION.to_latlon(np.full((9, 2), 1_000.0))
    np.save(tmp_path / "swapped.npy", np.stack([lon, lat], axis=1))
    words = ["compare", "--data", "swapped.npy", *WHERE, "--methods", "ug", "--queries", 5]
    code, _, err = run(*words)
    assert code == 2
    assert "look swapped" in err
    assert "pass --lat 1, --lon 0." in err
    assert run(*words, "--lat", 1, "--lon", 0)[0] == 0


def test_cities_are_listed(run):
    code, out, _ = run("cities")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(snh.CITIES)


@pytest.mark.parametrize("words", [[], ["-h"], ["compare", "--help"], ["answer", "-h"]])
def test_help_is_short_of_80_columns_and_ends_well(run, words):
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert out.startswith("Usage: snhkit")
    assert max(map(len, out.splitlines())) <= 80


REFUSED = {
    "no command of that name": (["relese"], "Did you mean 'release'?"),
    "no option of that name": (["compare", "--metods", "ug"], "Did you mean '--methods'?"),
    "centre missing": (["compare", "--data", "t.csv", "--side-km", "2"], "--center LAT,LON"),
    "side missing": (["compare", "--data", "t.csv", "--center", "43,-87"], "--side-km KM"),
    "side zero": (
        ["compare", "--data", "t.csv", "--center", "43,-87", "--side-km", "0"],
        "0.0 is not in the range x>0",
    ),
    "side not a number": (
        ["compare", "--data", "t.csv", "--center", "43,-87", "--side-km", "nan"], "side_m",
    ),
    "centre of words": (["compare", "--center", "Milwaukee"], "'Milwaukee' is not LAT,LON"),
    "centre swapped": (
        ["compare", "--data", "t.csv", "--center", "-91.5,43", "--side-km", "2"],
        "are latitude and longitude swapped?",
    ),
    "centre without data": (["compare", "--center", "43,-87"], "go with --data"),
    "city with data": (["compare", "--data", "t.csv", *WHERE, "--city", "chicago"], "--city"),
    "epsilon 0": (["compare", "--epsilon", "0"], "epsilon must be greater than 0, not 0"),
    "epsilon abc": (["compare", "--epsilon", "abc"], "not 'abc'"),
    "epsilon -1": (["compare", "--epsilon", "-1"], "not -1"),
    "epsilon nan": (["compare", "--epsilon", "nan"], "not nan"),
    "epsilon empty": (["compare", "--epsilon", "0.1,"], "not ''"),
    "epsilon twice": (["compare", "--epsilon", "0.1,1/10"], "names an epsilon twice"),
    "methods": (["compare", "--methods", "xyz"], "no method 'xyz'; there are ug, identity, ag"),
    "sides": (["compare", "--sizes-m", "100,25"], "'100,25' is not L,U in metres"),
    "sides too large": (["compare", "--sizes-m", "25,1e9"], "sizes_m must be"),
    "queries": (["compare", "--queries", "0"], "0 is not in the range"),
    "cell": (["compare", "--methods", "ug", "--cell-m", "-5"], "'-5' is not a number"),
    "city": (["compare", "--city", "chicgo"], "did you mean chicago?"),
    "no file": (["compare", "--data", "u.csv", *WHERE], "'u.csv' does not exist"),
    "no public file": (["compare", "--data", "t.csv", "--public", "p.csv", *WHERE], "'p.csv'"),
    "a folder": (["compare", "--data", ".", *WHERE], "'.' is not a file"),
    "private as public": (
        ["compare", "--data", "t.csv", "--public", "./t.csv", *WHERE],
        "data and public are the same file",
    ),
    "over its records": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--epsilon", "1",
         "--out", "t.csv"],
        "data and out are the same file",
    ),
    "elsewhere": (
        ["compare", "--data", "t.csv", "--center", "10,10", "--side-km", "2"],
        "no row lies in the region",
    ),
    "release without data": (
        ["release", "--method", "ug", "--epsilon", "1", "--out", "x"], "Missing option '--data'",
    ),
    "release without epsilon": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--out", "x"],
        "Missing option '--epsilon'",
    ),
    "release of two": (
        ["release", "--data", "t.csv", *WHERE, "--method", "all", "--epsilon", "1", "--out", "x"],
        "--method takes one value here",
    ),
    "release of a demonstration": (
        ["release", "--data", "t.csv", *WHERE, "--method", "dpsgd", "--epsilon", "1", "--out", "x"],
        "a demonstration, not to publish",
    ),
    "users without bound": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--epsilon", "1", "--out", "x",
         "--user", "user"],
        "--user and --max-per-user go together",
    ),
    "release to the ledger's stream": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--epsilon", "1", "--out", "x",
         "--budget", "1", "--ledger", "-"],
        "--ledger is read again later",
    ),
    "cell of words": (["compare", "--cell-m", "wide"], "greater than 0, bought or auto"),
    "answer no release": (["answer", "t.csv", "--boxes", "t.csv"], "are the same file"),
    "answer a table": (["answer", "t.csv", "--boxes", "other.csv"], "not a safetensors file"),
}  # fmt: skip


@pytest.mark.usefixtures("trips")
@pytest.mark.parametrize(("words", "told"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_ends_in_one_clear_line_and_code_2(run, tmp_path, words, told):
    (tmp_path / "other.csv").write_text("south,west,north,east\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("snhkit: ")
    assert told in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("nowhere/x", "there is no folder 'nowhere'"),
        ("locked/x", "the folder 'locked' is read-only"),
        (".", "'.' is a directory"),
        ("kept.csv", "kept.csv: cannot be written (the file is read-only)"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--json"],
        ["compare", "--report"],
        ["release", "--method", "ug", "--epsilon", "1", "--budget", "1", "--out"],
        ["answer", "t.csv", "--boxes", "t.csv", "--out"],
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_where_nothing_can_be_written_nothing_is_begun(
    run, trips, tmp_path, monkeypatch, words, place, told
):
    (tmp_path / "locked").mkdir()
    (tmp_path / "kept.csv").write_text("")
    (tmp_path / "kept.csv").chmod(0o400)
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "locked" and allowed(path, mode)
    )
    begun = []
    monkeypatch.setattr("snhkit.data.read_points", lambda *a, **k: begun.append(a))
    monkeypatch.setattr("snhkit.loading.load", begun.append)
    monkeypatch.setattr("snhkit.data.synthetic_points", lambda *a, **k: begun.append(a))
    records = [] if words[0] == "answer" else trips
    code, _, err = run(*words, place, *records)
    assert code == 2
    assert words[-1] in err
    assert told in err
    assert not begun
    assert _files(tmp_path) == ["kept.csv", "locked", "t.csv"]


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
    "a count already": ("south,west,north,east,count\n43,-88,43.1,-87,5\n", "'count' already"),
    "not text": ("\x00\x01", "no column south"),
}  # fmt: skip


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize(("text", "told"), BOXES.values(), ids=BOXES)
def test_boxes_that_are_none_are_named(run, tmp_path, text, told):
    (tmp_path / "b.csv").write_text(text)
    before = _files(tmp_path)
    code, out, err = run("answer", "t.snh", "--boxes", "b.csv", "--out", "c.csv")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "b.csv: " in err
    assert told in err
    assert _files(tmp_path) == before


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--methods", "ug", "--queries", "5", "--json", "a.json"],
        ["release", "--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "a.snh"],
    ],
    ids=lambda words: words[0],
)
def test_ctrl_c_while_building_leaves_nothing(run, trips, tmp_path, monkeypatch, words):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("snhkit.privacy.measurements.noisy_histogram", interrupted)
    code, out, err = run(*words, *trips)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "snhkit: interrupted; no file is left half-written."
    assert "Traceback" not in err
    kept = ["t.csv", "t.csv.ledger", "t.csv.ledger.key"] if words[0] == "release" else ["t.csv"]
    assert _files(tmp_path) == kept


def test_ctrl_c_while_writing_leaves_no_temporary_file(run, trips, tmp_path, monkeypatch):
    replace = Path.replace

    def interrupted(written, target):
        if target.name == "a.snh":
            raise KeyboardInterrupt
        return replace(written, target)

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    assert (
        run(
            "release", *trips, "--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "a.snh"
        )[0]
        == 130
    )
    assert _files(tmp_path) == ["t.csv", "t.csv.ledger", "t.csv.ledger.key"]


@pytest.mark.parametrize("command", ["", "compare", "release", "answer", "explore"])
def test_help_waits_for_no_large_library(command):
    code = (
        "import sys; from snhkit.cli.main import app\n"
        f"app.main({[command, '--help'] if command else ['--help']}, standalone_mode=False)\n"
        "print(sorted({'jax', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    told = subprocess.run(  # the interpreter of this test
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert told.splitlines()[-1] == "[]"
    assert "\\b" not in told  # click's mark for lines to be left alone


class TestLedger:
    WORDS = ("--method", "ug", "--epsilon", "0.4", "--n-public")

    def test_the_budget_is_said_once_and_refuses_later_releases(self, run, trips, tmp_path):
        words = ["release", *trips, *self.WORDS]
        code, _, err = run(*words, "--out", "a.snh")
        assert code == 2
        assert "Set its total with --budget E" in err
        assert run(*words, "--budget", "0.7", "--out", "a.snh")[0] == 0
        code, _, err = run(*words, "--out", "b.snh")
        assert code == 2
        assert "asked 0.4, left 0.3, short by 0.1. Nothing was looked at." in err
        assert not (tmp_path / "b.snh").exists()
        code, out, _ = run("ledger", "t.csv.ledger")
        assert code == 0
        assert out.startswith("Privacy budget: epsilon 0.7, spent 0.4, left 0.3\n")

    def test_an_earlier_release_is_replaced_only_on_request(self, run, trips, tmp_path):
        words = ["release", *trips, *self.WORDS, "--budget", "2", "--out", "a.snh"]
        assert run(*words)[0] == 0
        before = (tmp_path / "a.snh").read_bytes()
        code, _, err = run(*words)
        assert code == 2
        assert "--force replaces it. Nothing was spent." in err
        assert (tmp_path / "a.snh").read_bytes() == before
        code, _, err = run(*words, "--force")
        assert code == 0
        assert "spent 0.8, left 1.2" in err

    def test_a_ledger_may_lie_elsewhere(self, run, trips, tmp_path):
        (tmp_path / "kept").mkdir()
        words = ["release", *trips, *self.WORDS, "--budget", "1", "--out", "a.snh"]
        assert run(*words, "--ledger", "kept/trips.ledger")[0] == 0
        assert _files(tmp_path / "kept") == ["trips.ledger", "trips.ledger.key"]
        assert not (tmp_path / "t.csv.ledger").exists()


def test_a_dash_is_standard_output(run, released, trips, tmp_path):
    (tmp_path / "b.csv").write_text("south,west,north,east\n43.03,-87.92,43.04,-87.91\n")
    words = ["answer", "t.snh", "--boxes", "b.csv"]
    assert run(*words, "--out", "-") == run(*words)
    code, out, err = run(
        "compare", *trips, "--methods", "ug", "--queries", 5, "--json", "-", "--report", "r.html"
    )
    assert code == 0
    assert [row["method"] for row in json.loads(out)] == ["ug"]
    assert "Next: snhkit explore" in err
    assert not (tmp_path / "-").exists()


def test_a_release_goes_to_standard_output_whole(trips, tmp_path):
    words = ["release", *trips, "--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "-"]
    code = f"import sys; from snhkit.cli.main import main; sys.argv[1:] = {words}; main()"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path.parent)}
    done = subprocess.run(  # the interpreter of this test
        [sys.executable, "-c", code], capture_output=True, check=True, env=environment
    )
    (tmp_path / "piped.snh").write_bytes(done.stdout)
    assert snh.load(tmp_path / "piped.snh").method == "UniformGrid"
    assert not (tmp_path / "-").exists()


@pytest.mark.usefixtures("released")
def test_counts_go_into_a_pipe_or_a_device_and_a_file_keeps_its_permissions(run, tmp_path):
    (tmp_path / "b.csv").write_text("south,west,north,east\n43.03,-87.92,43.04,-87.91\n")
    words = ["answer", "t.snh", "--boxes", "b.csv", "--out"]
    (tmp_path / "c.csv").write_text("")
    (tmp_path / "c.csv").chmod(0o600)
    assert run(*words, "c.csv")[0] == 0
    assert stat.S_IMODE((tmp_path / "c.csv").stat().st_mode) == 0o600
    assert run(*words, "/dev/null")[0] == 0
    code, _, err = run(*words, "/dev/full")
    assert code == 2
    assert err == "snhkit: /dev/full: cannot be written (No space left on device).\n"


def test_a_full_disk_or_a_closed_pipe_behind_standard_output_is_one_line(tmp_path):
    code = "import sys; from snhkit.cli.main import main; sys.argv[1:] = {}; main()"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") as full:
        for words, stream in ((["cities"], full), (["cities"], writer), (["--help"], full)):
            done = subprocess.run(
                [sys.executable, "-c", code.format(words)],
                stdout=stream, stderr=subprocess.PIPE, text=True, env=environment, check=False,
            )  # fmt: skip
            assert done.returncode == 2
            (line,) = done.stderr.splitlines()
            assert line.startswith("snhkit: standard output: ")
    os.close(writer)


def test_what_is_printed_fits_80_columns(run, trips):
    long = ["--methods", "ug,hb2d", "--epsilon", "0.05,10", "--queries", 5, "--seed", 1]
    _, out, _ = run("compare", *trips, *long)
    assert "Mean errors of the squares around records" in out
    for words in (["cities"], ["ledger", "t.csv.ledger"]):
        if words[0] == "ledger":
            code, _, err = run(
                "release", *trips, "--method", "dawa", "--epsilon", "1", "--budget", "1",
                "--out", "t.snh",
            )  # fmt: skip
            assert code == 0, err
            out += err
        code, told, _ = run(*words)
        assert code == 0
        out += told
    assert {line for line in out.splitlines() if len(line) > 80} == set()


def test_districts_are_counted_one_by_one(run, trips, tmp_path):
    shapes = [shapely.box(-87.93, 43.0, -87.91, 43.1), shapely.box(-87.91, 43.0, -87.89, 43.1)]
    wards = gpd.GeoDataFrame({"ward": ["west", "east"]}, geometry=shapes, crs=4326)
    wards.to_file(tmp_path / "wards.geojson")
    words = ["release", *trips, "--districts", "wards.geojson", "--label", "ward"]
    words += ["--epsilon", "9", "--budget", "9", "--out", "w.snh"]
    code, _, err = run(*words)
    assert code == 0, err
    made = snh.load(tmp_path / "w.snh")
    assert made.method == "Tessellation"
    # 500 records and two counts with geometric noise: off by 40 with chance < 1e-100.
    assert made.answer(wards).sum() == pytest.approx(500, abs=40)
    code, _, err = run(*words, "--method", "ug")
    assert code == 2
    assert "either --method M or --districts FILE" in err


def test_json_is_for_pipes_and_answers_say_the_noise(run, released, tmp_path):
    (tmp_path / "b.csv").write_text("south,west,north,east\n43.03,-87.92,43.04,-87.91\n")
    code, out, _ = run("answer", "t.snh", "--boxes", "b.csv", "--json")
    (row,) = json.loads(out)
    assert code == 0
    assert row["standard_error"] > 0
    assert row["low"] <= row["count"] <= row["high"]
    _, table, _ = run("answer", "t.snh", "--boxes", "b.csv")
    head, line = table.splitlines()
    assert head == "south,west,north,east,count,low,high,standard_error"
    names = ("count", "low", "high", "standard_error")
    assert line.split(",")[-4:] == [str(row[name]) for name in names]
    _, out, _ = run("ledger", "t.csv.ledger", "--json")
    assert json.loads(out)["entries"][0]["state"] == "settled"
    _, out, _ = run("cities", "--json")
    assert json.loads(out)[0]["key"] == "fargo"


def test_a_page_to_publish_is_written_beside_the_release(run, trips, tmp_path):
    words = ["--method", "ug", "--epsilon", 1, "--budget", 2, "--out", "p.snh"]
    code, out, _ = run("release", *trips, *words, "--page", "p.html", "--json")
    assert code == 0
    assert json.loads(out)["Method"] == "UniformGrid"
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "What was not measured" in page
    code, _, err = run("release", *trips, *words, "--force", "--page", "p.html")
    assert code == 0, err
    code, _, err = run("release", *trips, *words[:-1], "q.snh", "--page", "p.html")
    assert "--force replaces it. Nothing was spent" in err


def test_a_file_to_explore_needs_its_square_and_a_budget_once(run, trips, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("snhkit.cli.launch.explore_in_voila", lambda **told: opened.append(told))
    assert "--data needs --center" in run("explore", "--app", "--data", "t.csv")[2]
    assert "Set its total with --budget" in run("explore", "--app", *trips)[2]
    assert "--budget goes with --data" in run("explore", "--app", "--budget", 1)[2]
    assert not opened
    code, _, err = run("explore", "--app", *trips, "--budget", 1)
    assert code == 0, err
    assert opened[0]["file"].path == str(tmp_path / "t.csv")
    assert (tmp_path / "t.csv.ledger").exists()
    assert run("explore", "--app", *trips)[0] == 0  # the ledger holds the budget
