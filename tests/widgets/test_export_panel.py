import io
import re

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import snhkit as snh
from snhkit.data import synthetic_points
from snhkit.markup import number
from snhkit.widgets.export_panel import ExportPanel, OnScreen
from snhkit.widgets.opening import explore

BOX = [46.870, -96.800, 46.890, -96.780]


@pytest.fixture
def fargo():
    explorer = explore(city="fargo", n=5_000, methods=["ug", "identity"])
    explorer.build()
    explorer.map.boxes = [BOX]
    return explorer


@pytest.fixture
def pressed(monkeypatch):
    """Presses a button of a panel, and hears what the browser would."""

    def press(panel: ExportPanel, **asked):
        heard = []
        monkeypatch.setattr(panel, "send", lambda told, buffers=(): heard.append((told, buffers)))
        panel._answer(panel, asked, [])
        ((told, buffers),) = heard
        return told, bytes(buffers[0]) if buffers else b""

    return press


def test_a_release_is_saved_as_it_is(fargo, pressed, tmp_path):
    assert set(fargo._export.releases) == {"UG, ε = 0.2", "Identity, ε = 0.2"}
    told, data = pressed(fargo._export, kind="release", release="Identity, ε = 0.2")
    assert told["name"] == "fargo-synthetic-identity-0-2.snh"
    (tmp_path / told["name"]).write_bytes(data)
    again = snh.load(tmp_path / told["name"])
    wanted = fargo.releases["Identity, ε = 0.2"].answer(fargo.boxes)
    np.testing.assert_array_equal(again.answer(fargo.boxes), wanted)


def test_a_page_to_publish_is_of_the_chosen_release_and_its_districts(pressed):
    south, west, north, east = synthetic_points("fargo", 1).region.bounds
    wards = gpd.GeoSeries([shapely.box(west, south, (west + east) / 2, north)], crs=4326)
    explorer = explore(city="fargo", n=5_000, methods=["ug", "identity"], districts=wards)
    explorer.build()
    told, data = pressed(
        explorer._export, kind="page", release="Identity, ε = 0.2", imprint={"title": "Taxis"}
    )
    assert (told["name"], told["mime"]) == ("fargo-synthetic-identity-0-2.html", "text/html")
    page = data.decode()
    assert "Identity" in page
    assert "UniformGrid" not in page
    assert "90 % interval" in page


def test_a_file_of_each_kind_says_nothing_of_the_truth_even_in_teaching_mode(fargo, pressed):
    fargo._controls.teaching.value = True
    count = fargo._session.truth(fargo.boxes)[0]
    # An answer may be right by chance.
    while any(round(r.answer(fargo.boxes)[0]) == count for r in fargo.releases.values()):
        fargo.build(again=True)
    truth = f"{count:,}"
    assert number(count) in fargo._said["table"].value
    for kind in ("geojson", "csv", "report", "code"):
        told, data = pressed(fargo._export, kind=kind, release="UG, ε = 0.2")
        assert re.fullmatch(rf"fargo-synthetic(-boxes)?\.({kind}|html|py)", told["name"])
        assert told["mime"]
        text = data.decode()
        assert ("UG" if kind != "code" else "snh.UniformGrid()") in text
        assert "truth" not in text.lower().replace("snhkit-truth", "")
        assert not re.search(rf"\b{truth}\b|\b{truth.replace(',', '')}\b(?!\.)", text)


def test_what_is_not_there_yet_is_said_in_words(pressed):
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    for kind in ("release", "page", "geojson", "csv", "report"):
        assert "build a method first" in pressed(explorer._export, kind=kind)[0]["text"]
    explorer.build()
    explorer.map.boxes = []
    assert "draw one on the map" in pressed(explorer._export, kind="csv")[0]["text"]
    assert (
        "must not be published" in pressed(explorer._export, kind="release", release="?")[0]["text"]
    )


def test_what_carries_a_warning_is_not_offered(fargo):
    data, seen = fargo.dataset, OnScreen.of(fargo._session, ("fargo", 5_000), [])
    seen.releases["Seeded"] = data.release(snh.UniformGrid(), epsilon="0.1", seed=1)
    assert list(seen.publishable) == ["UG, ε = 0.2", "Identity, ε = 0.2"]


def test_boxes_of_a_map_scrolled_around_the_world_are_where_they_were(fargo):
    fargo.map.boxes = [BOX, [BOX[0], BOX[1] - 720, BOX[2], BOX[3] - 720]]
    seen = OnScreen.of(fargo._session, ("fargo", 5_000), fargo.map.boxes)
    assert seen.degrees[1] == tuple(seen.degrees[0]) == tuple(BOX)
    np.testing.assert_allclose(seen.boxes.x, fargo.boxes.x, atol=1e-6)


def test_somebodys_records_are_read_from_a_file_in_the_code():
    points = synthetic_points("fargo", 1_000)
    explorer = explore(points, budget=1, methods=["ug"])
    seen = OnScreen.of(explorer._session, explorer._controls.place, [])
    assert "snh.read_points('records.csv', region)" in seen.code
    assert "n_public" not in seen.code
    assert "synthetic" not in seen.code


def test_the_release_with_the_least_expected_error_comes_first(fargo, pressed):
    fargo._controls.epsilon.value = 1.0
    fargo.build("identity")
    seen = fargo._export._on_screen()
    assert next(iter(seen.releases)) == "Identity, ε = 1" == fargo._export.releases[0]
    for epsilon in ("0.2", "1"):
        name = f"Identity, ε = {epsilon}"
        assert f'"{name}": data.release(snh.Identity(), epsilon="{epsilon}"' in seen.code
        told, _ = pressed(fargo._export, kind="release", release=name)
        assert told["name"] == f"fargo-synthetic-identity-{epsilon.replace('.', '-')}.snh"
    table = pd.read_csv(io.BytesIO(seen.file("csv")[2]))
    assert list(table.release.unique()) == list(seen.releases)
    for name, release in seen.releases.items():
        found = table[table.release == name]["count"]
        assert found.tolist() == pytest.approx(release.answer(fargo.boxes), abs=6e-4)
