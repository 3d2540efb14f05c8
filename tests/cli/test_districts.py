"""The options --districts and --label."""

import geopandas as gpd
import pytest
import shapely

import snhkit as snh


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
