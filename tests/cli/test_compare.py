"""`snhkit compare`: the tables, the page and the districts that it writes."""

import json
import math

import pytest

from snhkit.experiment import OWNER_ONLY

COLUMNS = [
    "method", "epsilon", "rel_error", "abs_error", "abs_error_anywhere", "adds_up", "build_s",
    "query_us", "bytes", "sizes", "warning",
]  # fmt: skip


def test_compare_writes_a_table_for_people_and_one_for_programs_and_a_page(
    run, trips, tmp_path, listed
):
    code, out, err = run(
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
    assert listed(tmp_path) == ["rows.json", "snhkit-report.html", "t.csv"]
    assert OWNER_ONLY in " ".join(out.split())
    assert {row["warning"] for row in rows} == {OWNER_ONLY}
    assert OWNER_ONLY in page
    assert "500 of 500 rows kept. For the eyes of the records' owner only." in err
    command = "snhkit explore --app --data t.csv --center 43.038,-87.91 --side-km 2 \\\n"
    assert out.endswith(f"\nReport: snhkit-report.html\nNext: {command}    --budget 1\n")


@pytest.fixture
def _no_page(monkeypatch):
    """Leave out the page of a comparison, whose figures take seconds to draw."""
    monkeypatch.setattr("snhkit.viz.reports.report.report_html", lambda *_, **__: "a page")


@pytest.mark.usefixtures("_no_page")
def test_compare_thins_the_records(run, trips, tmp_path):
    words = ["compare", *trips, "--methods", "ug", "--queries", 5, "--seed", 3, "--json", "a.json"]
    code, out, _ = run(*words, "--n", 100)
    assert code == 0
    assert "Thinned to 100 records." in " ".join(out.split())
    # UG: ceil(sqrt(100 * 0.2 / 10)) = 2 cells a side.
    assert json.loads((tmp_path / "a.json").read_text())[0]["bytes"] < 1_400
    code, _, err = run(*words, "--n", 501)
    assert code == 2
    assert "n = 501 is more than the number of points; give a smaller n" in err


@pytest.mark.usefixtures("_no_page")
def test_all_means_those_that_can_be_built_here(run, trips, tmp_path, monkeypatch):
    from snhkit.methods import METHODS

    kept = {"ug": METHODS["ug"], "pgm": METHODS["pgm"]}
    monkeypatch.setattr("snhkit.methods.METHODS", kept)
    monkeypatch.setattr("snhkit.builders.base.find_spec", lambda name: None)
    words = ["compare", *trips, "--queries", 5, "--json", "a.json", "--methods"]
    code, _, err = run(*words, "all")
    assert code == 0
    assert 'Left out: pgm; pip install "snhkit[pgm]" installs it.' in err
    assert [row["method"] for row in json.loads((tmp_path / "a.json").read_text())] == ["ug"]
    code, _, err = run(*words, "ug,pgm")
    assert code == 2
    assert 'mbi is not installed: pip install "snhkit[pgm]".' in err


@pytest.mark.usefixtures("_no_page")
def test_a_seed_repeats_the_errors_exactly_and_is_told(run, trips, tmp_path):
    def errors(*seed):
        words = ["compare", *trips, "--methods", "identity", "--queries", 20, "--json", "r.json"]
        out = run(*words, *seed)[1]
        return [r["rel_error"] for r in json.loads((tmp_path / "r.json").read_text())], out

    (first, told), (fresh, silent) = errors("--seed", 5), errors()
    assert first == errors("--seed", 5)[0] != fresh
    assert "--seed" in told
    assert "--seed" not in silent


def test_compare_counts_the_districts_of_a_file(run, trips, wards, tmp_path):
    words = ["compare", *trips, *wards, "--methods", "ug", "--queries", 5, "--json", "a.json"]
    code, out, err = run(*words)
    assert code == 0, err
    rows = json.loads((tmp_path / "a.json").read_text())
    assert [row["method"] for row in rows] == ["ug", "Districts"]
    assert "Districts" in out
    assert "Districts" in (tmp_path / "snhkit-report.html").read_text(encoding="utf-8")
