"""A file of one's own: declared, opened under its ledger, and opened again."""

import dataclasses
import getpass
import html
import shlex
import socket

import geopandas as gpd
import ipywidgets
import numpy as np
import pytest
import shapely
from click.testing import CliRunner

from snhkit.builders import Identity
from snhkit.cli.main import app
from snhkit.data import city, synthetic_points
from snhkit.dataset import PrivateDataset
from snhkit.districts import districts
from snhkit.errors import InputError
from snhkit.geometry import By, RangeQueries, Region
from snhkit.methods import title_of
from snhkit.planning import recommend
from snhkit.privacy import PrivacyUnit
from snhkit.viz.reports.public_page import Imprint
from snhkit.widgets import teaching
from snhkit.widgets.app import explore_app
from snhkit.widgets.opening import explore
from snhkit.widgets.own_file import OwnFile, declared
from snhkit.widgets.session import ReleaseFolder

FARGO = city("fargo").region


@pytest.fixture
def path(tmp_path):
    points = synthetic_points("fargo", 2_003)
    lat, lon = FARGO.to_latlon(points.xy)
    file = tmp_path / "trips.csv"
    np.savetxt(file, np.stack([lat, lon], 1), delimiter=",", header="lat,lon", comments="")
    return file


def own(path, **more) -> OwnFile:
    return OwnFile(str(path), FARGO.lat, FARGO.lon, FARGO.side_m, **more)


def fill(explorer, **texts):
    for name, text in texts.items():
        explorer._opener.fields[name].value = str(text)
    explorer._opener.button.click()


def test_a_file_keeps_its_budget_and_its_releases(path):
    explorer = explore_app(own(path, budget="1"))
    explorer.build("ug")
    boxes = explorer.boxes
    counts = explorer.releases["UG, ε = 0.2"].answer(boxes)
    code = explorer._export._on_screen().code
    assert f"snh.read_points({str(path)!r}, region)" in code
    assert f"ledger={str(path) + '.ledger'!r}" in code
    assert "budget=" not in code  # a fresh budget would forget what was spent
    again = explore_app(own(path))
    assert float(again.dataset.ledger.remaining) == 0.8
    assert list(again.releases) == ["UG, ε = 0.2"]
    np.testing.assert_array_equal(again.releases["UG, ε = 0.2"].answer(boxes), counts)
    assert len(list((path.parent / "trips.csv.releases").iterdir())) == 1
    with pytest.raises(InputError, match="cannot be changed to"):
        explore_app(own(path, budget="2"))


def test_without_a_ledger_a_budget_is_asked_for(path):
    with pytest.raises(InputError, match="give a budget"):
        own(path).session()
    assert not own(path).account.exists()


def test_teaching_mode_is_impossible_for_a_file(path):
    explorer = explore_app(own(path, budget="1"))
    explorer.build("ug")
    assert explorer._controls.teaching.layout.display == "none"
    explorer._controls.teaching.value = True
    explorer._show_all()
    assert explorer._said["banner"].value == ""
    assert "Truth" not in explorer._said["table"].value
    assert "not measured on these records" in explorer._said["verdict"].value
    with pytest.raises(InputError, match="invented records only"):
        explorer._session.truth(explorer.boxes)
    with pytest.raises(InputError, match="number of records is private"):
        _ = explorer.dataset.n
    assert "2003" not in str([html.value for html in explorer._said.values()]).replace(",", "")


def test_the_panel_opens_the_file(path):
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    explorer.build()
    fill(explorer, path=path, center=f"{FARGO.lat}, {FARGO.lon}", side_km="12.43")
    assert "give a budget" in explorer._opener.message.value
    fill(explorer, budget="1")
    assert "trips.csv" in explorer._session.whereabouts
    assert explorer.releases == {}
    explorer.build("ug")
    assert float(explorer.dataset.ledger.remaining) == 0.8
    assert explorer._controls.city.options[0] == ("trips.csv (your file)", f"file:{path}")
    explorer._controls.city.value = "fargo"
    assert explorer._session.invented
    assert explorer._controls.teaching.layout.display == ""
    explorer._controls.city.value = f"file:{path}"
    assert list(explorer.releases) == ["UG, ε = 0.2"]


def test_a_square_is_drawn_or_typed_and_the_map_and_the_fields_say_the_same(path):
    panel = explore(city="fargo", n=1_000, methods=["ug"])._opener
    center, side_km = panel.fields["center"], panel.fields["side_km"]
    assert panel.map is None  # the earth is large
    panel.fields["path"].value = str(path)
    center.value, side_km.value = f"{FARGO.lat}, {FARGO.lon}", f"{FARGO.side_m / 1000}"
    panel.next.click()
    assert panel.map in panel.steps[1].children
    assert panel.map.boxes == [list(FARGO.bounds)]
    side_km.value = "far"
    assert panel.map.boxes == []
    nairobi = Region.around(-1.2864, 36.8172, 9_000)
    panel.map.set_state({"boxes": [list(nairobi.bounds)]})  # as from the browser
    assert (center.value, side_km.value) == ("-1.2864, 36.8172", "9.00")
    assert panel.map.boxes == [list(nairobi.bounds)]  # a person still drags it
    south, west, north, east = nairobi.bounds
    panel.map.set_state({"boxes": [[south, west - 360, north, east - 360]]})
    assert center.value == "-1.2864, 36.8172"
    panel.map.set_state({"boxes": [[-30, 10, 30, 70]]})
    assert "200,000" in panel.message.value
    assert (center.value, side_km.value) == ("", "")
    panel.map.set_state({"boxes": [list(nairobi.bounds)]})
    assert panel.message.value == ""
    panel.map.set_state({"boxes": []})
    assert (center.value, side_km.value) == ("", "")


def test_a_border_is_read_once_and_again_if_it_changed(tmp_path, monkeypatch):
    wards, read = tmp_path / "wards.geojson", []
    frame = gpd.GeoDataFrame(geometry=[shapely.box(-96.9, 46.8, -96.7, 46.9)], crs=4326)
    frame.to_file(wards)
    of = districts.frame_of_file
    monkeypatch.setattr(districts, "frame_of_file", lambda path: read.append(path) or of(path))
    first = [declared(str(wards), text) for text in ("", "1", "12")]
    assert first == first[:1] * 3
    assert len(read) == 1
    frame.translate(1).to_file(wards)
    assert declared(str(wards), "")[1] == pytest.approx(first[0][1] + 1)


def test_a_file_with_districts_is_proposed_to_be_counted_by_district(path, tmp_path):
    south, west, north, east = FARGO.bounds
    wards = tmp_path / "wards.geojson"
    half = shapely.box(west, south, (west + east) / 2, north)
    gpd.GeoDataFrame({"ward": ["West"]}, geometry=[half], crs=4326).to_file(wards)
    explorer = explore(city="fargo", n=1_000, methods=["ug", "identity"])
    place = {"center": f"{FARGO.lat}, {FARGO.lon}", "side_km": "12.43"}
    fill(explorer, path=path, budget="1", districts=wards, label="ward", **place)
    assert explorer._controls.chosen == ["districts"]
    lat, lon, side_m = declared(str(wards), "")  # a public border instead of a typed square
    assert Region.around(lat=lat, lon=lon, side_m=side_m) == Region.covering(half)


def test_questions_come_one_after_another_and_end_in_a_command(path):
    rows = path.read_text(encoding="utf-8").splitlines()
    lines = [f"{row},{k % 400}" for k, row in enumerate(rows[1:])]
    path.write_text("\n".join([rows[0] + ",rider_id", *lines]), encoding="utf-8")
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    panel = explorer._opener

    def shown() -> list[int]:
        return [k for k, step in enumerate(panel.steps) if step.layout.display != "none"]

    def answer(**texts) -> list[int]:
        for name, text in texts.items():
            panel.fields[name].value = text
        panel.next.click()
        return shown()

    assert shown() == [0]
    assert answer(path="nowhere.csv") == [0]
    assert "There is no file" in panel.message.value
    assert answer(path=str(path)) == [1]
    assert panel.fields["user"].value == "rider_id"  # proposed by its name
    assert answer(center=f"{FARGO.lat}, {FARGO.lon}", side_km="12.43") == [2]
    assert answer() == [2]
    assert "Give both" in panel.message.value
    assert panel.command.value == ""  # it would hide records of people who appear twice
    assert answer(most="5", bound_epsilon="0.125") == [3]
    assert "--side-km 12.43 --user rider_id" in " ".join(panel.command.value.split())
    assert panel.invent.disabled
    assert panel.proposal.value == ""
    panel.fields["about"].value = "2000"
    assert recommend(2_000, 0.2, unit="user", max_per_user=5).reason in panel.proposal.value
    assert panel.errors.value.count("<tr>") == 6
    panel.invent.click()
    assert "2,000 invented records in your square" in panel.preview.value
    assert panel.preview.value.count("<img") == 3
    assert not (path.parent / "trips.csv.ledger").exists()
    assert panel.button.layout.display == "none"
    assert answer(budget="1") == [4]
    panel.back.click()
    assert shown() == [3]
    panel.next.click()
    panel.button.click()
    assert shown() == []  # and the controls are near again
    most = explorer.dataset.bought.bound(0.95)
    assert explorer.dataset.unit.max_per_user == most
    assert explorer.dataset.ledger.spent == 0.125
    command = html.unescape(panel.command.value.partition("<pre>")[2].partition("</pre>")[0])
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:3] == ["snhkit", "explore", "--app"]
    told = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snhkit.cli.launch.explore_in_voila", lambda **given: told.update(given))
        done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, done.output
    assert told["file"].unit == PrivacyUnit("user", most)
    assert told["file"].region == explorer.dataset.region


def test_a_copy_of_the_records_continues_their_ledger_once_it_is_named(path):
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    place = {"center": f"{FARGO.lat}, {FARGO.lon}", "side_km": "12.43"}
    fill(explorer, path=path, budget="1", **place)
    copy = path.with_name("copy.csv")
    copy.write_bytes(path.read_bytes())
    fill(explorer, path=copy)
    assert "Continue the first with --ledger" in explorer._opener.message.value
    fill(explorer, ledger=f"{path}.ledger", budget="")
    assert "copy.csv" in explorer._session.whereabouts
    assert f"--ledger {path}.ledger" in " ".join(explorer._opener.command.value.split())


def test_positions_in_columns_of_unusual_names_are_read_once_they_are_named(path):
    text = path.read_text(encoding="utf-8").replace("lat,lon", "start_lat,start_lng", 1)
    path.write_text(text, encoding="utf-8")
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    panel = explorer._opener
    panel.fields["path"].value = str(path)
    panel.next.click()
    assert "Say which it is: Latitude" in panel.message.value
    fill(explorer, lat="start_lat", lon="start_lng", budget="1")
    fill(explorer, center=f"{FARGO.lat}, {FARGO.lon}", side_km="12.43")
    assert "--lat start_lat" in panel.command.value
    explorer.build("ug")
    assert len(explorer.releases) == 1


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({"path": ""}, "Give the path"),
        ({"path": "nowhere.csv"}, "There is no file nowhere.csv"),
        ({"center": "46.9"}, "Centre must be latitude and longitude"),
        ({"center": "46.9, 100.5.2"}, "Centre must be latitude and longitude"),
        ({"center": "146, 3"}, "lat must lie in"),
        ({"center": "4_6, 3"}, "Centre must be latitude and longitude"),
        ({"side_km": "１"}, "Side must be a number of kilometres"),
        ({"side_km": "nan"}, "Side must be a number of kilometres"),
        ({"user": "id", "most": "²"}, "a whole number of at least 1, not"),
        ({"budget": "1_0"}, "the digits 0 to 9"),
        ({"side_km": "wide"}, "Side must be a number of kilometres"),
        ({"side_km": "-3"}, "side_m"),
        ({"budget": "lots"}, "lots"),
        ({"public": "nowhere.csv"}, "There is no file nowhere.csv"),
        ({"tz": "Europe/Paris"}, "name the column under Times"),
        ({"kind": "user-day"}, "name the columns of people and of times"),
        ({"kind": "decade", "user": "id", "most": "2", "time": "at"}, "decade"),
    ],
)
def test_what_cannot_be_opened_is_said_in_words(path, texts, says):
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    usual = {"path": path, "center": f"{FARGO.lat} {FARGO.lon}", "side_km": "12.43", "budget": "1"}
    fill(explorer, **(usual | texts))
    assert says in explorer._opener.message.value
    assert 'role="alert"' in explorer._opener.message.value
    assert explorer._session.invented
    assert not (path.parent / "trips.csv.ledger").exists()
    explorer._opener.fields["label"].value = "x"
    assert explorer._opener.message.value == ""
    assert isinstance(explorer._opener.button, ipywidgets.Button)


def test_a_kept_release_says_that_its_networks_learned_from_a_denoised_grid():
    records = synthetic_points("fargo", 2_003)
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    made = data.release(Identity(cell_m=500), epsilon=1)
    for prior, title in (({"turns": 8}, "SNH (on a denoised grid)"), (None, "SNH")):
        told = dataclasses.replace(made, method="SNH", hyperparameters={"prior": prior})
        assert title_of(told) == title


def test_a_column_that_looks_like_people_is_asked_about(path):
    rows = path.read_text(encoding="utf-8").splitlines()
    text = [f"{row},{k % 40}" for k, row in enumerate(rows[1:])]
    path.write_text("\n".join([rows[0] + ",rider_id", *text]), encoding="utf-8")
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    usual = {"path": path, "center": f"{FARGO.lat} {FARGO.lon}", "side_km": "12.43", "budget": "1"}
    fill(explorer, **usual)
    assert "rider_id&#x27; looks like people" in explorer._opener.message.value
    fill(explorer, user="rider_id")
    assert "Give both" in explorer._opener.message.value
    fill(explorer, most="5")
    assert explorer.dataset.unit.max_per_user == explorer._controls.most.value == 5
    assert "at most 5 records of one person" in explorer._controls.settled.value
    assert "at most 5 records of one person" in explorer._opener.message.value
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    explorer._opener.alone.value = True
    fill(explorer, **(usual | {"path": path.rename(path.with_name("other.csv"))}))
    assert explorer.dataset.unit.kind == "record"


def test_a_column_of_times_offers_maps_by_hour_in_the_zone_and_units_of_days(path):
    rows = path.read_text(encoding="utf-8").splitlines()
    # 23 o'clock in UTC is 1 o'clock in summer in Paris.
    text = [f"{row},{k % 400},2026-07-0{1 + k % 7}T23:00:00Z" for k, row in enumerate(rows[1:])]
    path.write_text("\n".join([rows[0] + ",id,started", *text]), encoding="utf-8")
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    usual = {"path": path, "center": f"{FARGO.lat} {FARGO.lon}", "side_km": "12.43", "budget": "9"}
    fill(explorer, **usual, user="id", most="1", kind="user-day", time="started", tz="Europe/Paris")
    assert explorer.dataset.unit.kind == explorer._controls.unit.value == "user-day"
    assert "one day (Europe/Paris)" in explorer._controls.settled.value
    assert explorer._controls.by.layout.display == ""
    explorer._controls.by.value = By.hour()
    explorer._controls.epsilon.value = 6.0
    explorer.build("identity")
    day = explorer._session.built[next(iter(explorer.releases))].strata
    boxes = explorer._session.region
    whole = RangeQueries(boxes, [0], [0], [boxes.side_m], [boxes.side_m])
    assert max(day, key=lambda hour: day[hour].answer(whole)[0]) == "01"
    code = explorer._export._on_screen().code
    assert "user='id', time='started', tz='Europe/Paris'" in code
    assert 'unit="user-day"' in code


def test_nothing_of_the_owners_machine_is_in_anything_published(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "grace-hopper")
    monkeypatch.setattr("socket.gethostname", lambda: "owners-laptop")
    folder = tmp_path / "home-of-the-owner"
    folder.mkdir()
    points = synthetic_points("fargo", 2_003)
    lat, lon = FARGO.to_latlon(points.xy)
    file = folder / "hiv_patients.csv"
    np.savetxt(file, np.stack([lat, lon], 1), delimiter=",", header="lat,lon", comments="")
    explorer = explore_app(own(file, budget="1"))
    explorer.build("ug")
    seen, name = explorer._export._on_screen(), next(iter(explorer.releases))
    assert (getpass.getuser(), socket.gethostname()) == ("grace-hopper", "owners-laptop")
    told = ["home-of-the-owner", "hiv_patients", "hiv-patients", "grace-hopper", "owners-laptop"]
    for kind in ("release", "page", "report", "csv", "geojson"):
        shown, _, data = seen.file(kind, name, Imprint("Trips"))
        for secret in told:
            assert secret.encode() not in data.lower(), (kind, secret)
            assert secret not in shown
    assert not [s for s in told if s in str(explorer.releases[name].card()).lower()]
    with pytest.raises(InputError, match="needs a title"):
        seen.file("page", name)


def test_a_saved_release_replaces_no_other(tmp_path):
    data = PrivateDataset(synthetic_points("fargo", 500), budget=9, unit="record")
    made = [data.release(Identity(cell_m=5_000), epsilon=1) for _ in range(3)]
    folder = ReleaseFolder(tmp_path / "trips.csv")
    names = [folder.keep("Identity, ε = 1", release).name for release in made]
    assert names == ["identity-1.snh", "identity-1-2.snh", "identity-1-3.snh"]
    found = {release.checksum for release in folder.releases(data.region)}
    assert found == {release.checksum for release in made}


def test_the_preview_is_of_the_square_the_number_and_the_unit_that_were_given():
    square = Region.around(-1.2864, 36.8172, 9_000)
    with pytest.MonkeyPatch.context() as patch:
        made = []
        release = PrivateDataset.release
        patch.setattr(
            PrivateDataset,
            "release",
            lambda self, *a, **k: made.append(self) or release(self, *a, **k),
        )
        teaching.preview(square, 3_000, PrivacyUnit("user", 2))
    assert {(data.region, data.unit.kind, data.unit.max_per_user) for data in made} == {
        (square, "user", 2)
    }
    assert len(made) == 2
