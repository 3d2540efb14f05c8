import io
import json

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

import snhkit as snh
from snhkit.data.reading.boxes import read_boxes
from snhkit.experiment.answers import answers_csv, answers_frame, answers_geojson

DEGREES = [(44.9985, 6.9985, 45.0, 7.0), (45.0, 6.999, 45.001, 7.001)]


@pytest.fixture(scope="module")
def releases(records):
    data = snh.PrivateDataset(records, budget=2, unit="record", n_public=True)
    return {
        "Identity": data.release(snh.Identity(cell_m=20), epsilon="0.5"),
        # whose error no theory gives
        "DAWA": data.release(snh.DAWA(order=5), epsilon="0.25"),
    }


@pytest.fixture(scope="module")
def boxes(city):
    return snh.RangeQueries.from_degrees(city, *zip(*DEGREES, strict=True))


def test_a_row_a_box_with_what_each_release_says(releases, boxes):
    table = answers_frame(DEGREES, boxes, releases)
    assert list(table["box"]) == [1, 2]
    assert table[["south", "west", "north", "east"]].to_numpy().tolist() == list(map(list, DEGREES))
    for name, release in releases.items():
        assert list(table[f"{name}_count"]) == pytest.approx(release.answer(boxes), abs=6e-4)
    wanted = releases["Identity"].standard_error(boxes)
    assert list(table["Identity_standard_error"]) == pytest.approx(wanted, abs=6e-4)
    assert table["DAWA_standard_error"].isna().all()
    for name, release in releases.items():
        bounds = table[[f"{name}_low", f"{name}_high"]].to_numpy()
        assert bounds == pytest.approx(release.interval(boxes), abs=6e-4)
    assert set(table["DAWA_epsilon"]) == {0.25}


def test_the_csv_is_the_table_with_gaps_for_what_is_unknown(releases, boxes):
    text = answers_csv(DEGREES, boxes, releases)
    again = pd.read_csv(io.StringIO(text))
    pd.testing.assert_frame_equal(again, answers_frame(DEGREES, boxes, releases))
    assert text.splitlines()[1].split(",")[-3] == ""  # DAWA's standard error


def test_the_geojson_is_read_by_a_gis(releases, boxes):
    text = answers_geojson(DEGREES, boxes, releases)
    assert "NaN" not in text
    assert json.loads(text)["features"][0]["properties"]["DAWA_standard_error"] is None
    frame = gpd.read_file(text)
    assert frame.total_bounds == pytest.approx([6.9985, 44.9985, 7.001, 45.001])
    assert frame["box"].tolist() == [1, 2]


@pytest.mark.parametrize(("suffix", "write"), [("csv", answers_csv), ("geojson", answers_geojson)])
def test_what_was_exported_can_be_asked_again(tmp_path, city, releases, boxes, suffix, write):
    path = tmp_path / f"boxes.{suffix}"
    path.write_text(write(DEGREES, boxes, releases))
    asked, _ = read_boxes(path, city)
    for release in releases.values():
        np.testing.assert_allclose(release.answer(asked), release.answer(boxes), atol=1e-6)
