"""The options --districts and --label."""

import pytest


@pytest.mark.usefixtures("wards")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "give either --method M or --districts FILE"),
        (["--method", "ug", "--districts", "w.geojson"], "give either --method M or --districts"),
        (["--method", "ug", "--label", "ward"], "--label needs --districts"),
        (["--districts", "w.geojson", "--label", "wrd"], "no column 'wrd'; it has ward, geometry"),
        (["--districts", "t.csv"], "data and districts are the same file"),
        (["--districts", "none.geojson"], "none.geojson"),
    ],
)  # fmt: skip
def test_districts_that_cannot_be_counted_cost_nothing(run, trips, tmp_path, words, told, listed):
    before = listed(tmp_path)
    code, _, err = run(
        "release", *trips, *words, "--epsilon", "1", "--budget", "1", "--out", "d.snh"
    )
    assert code == 2
    assert told in err
    assert len(err.splitlines()) == 1
    assert listed(tmp_path) == before
