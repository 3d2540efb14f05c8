"""Going on after a reload: what the browser keeps, and what is opened and built from it."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from snhkit.data import city, synthetic_points
from snhkit.widgets.app import explore_app, fields, orders
from snhkit.widgets.own_file import OwnFile

FARGO = city("fargo").region
BOX = [46.870, -96.800, 46.890, -96.780]
GOOD = {
    "title": "<b>Fargo", "place": ["fargo", 1_000], "file": None, "epsilon": 1, "sizes": [25, 100],
    "boxes": [], "built": [],
}  # fmt: skip


@pytest.fixture
def app():
    made = explore_app()
    made._controls.choose("fargo", 1_000)
    return made


def test_nothing_is_kept_before_there_is_something_to_go_on_with(app):
    assert app._saved.browser.state == ""
    app.map.boxes = [BOX]
    assert json.loads(app._saved.browser.state)["boxes"] == [BOX]


def test_a_city_goes_on_with_its_boxes_and_both_epsilons(app):
    app.build("ug")
    app._controls.epsilon.value = 1.0
    app.build("ug", "ag")
    app.map.boxes = [BOX]
    again = explore_app()
    again._saved.browser.stored = app._saved.browser.state
    assert "<b>Fargo, synthetic</b> open, with 3 releases and 1 boxes" in again._saved.words.value
    assert again._saved._offer.layout.display == ""
    again._saved.buttons[0].click()
    assert list(again.releases) == ["UG, ε = 0.2", "UG, ε = 1", "AG, ε = 1"]
    assert again.map.boxes == [BOX]
    assert again.dataset.n == 1_000
    assert again._controls.epsilon.value == 1.0
    assert again._saved._offer.layout.display == "none"


def test_a_file_goes_on_with_what_was_spent_and_builds_nothing(tmp_path):
    points = synthetic_points("fargo", 2_000)
    lat, lon = FARGO.to_latlon(points.xy)
    path = tmp_path / "trips.csv"
    np.savetxt(path, np.stack([lat, lon], 1), delimiter=",", header="lat,lon", comments="")
    file = OwnFile(str(path), FARGO.lat, FARGO.lon, FARGO.side_m, budget="1")
    app = explore_app(file)
    assert app._controls.chosen == ["denoised"]  # a click spends one price of a real budget
    app.build("ug")
    counts = app.releases["UG, ε = 0.2"].answer(app.boxes)
    again = explore_app()
    again._saved.browser.stored = app._saved.browser.state
    again._saved.buttons[0].click()
    assert float(again.dataset.ledger.remaining) == 0.8
    np.testing.assert_array_equal(again.releases["UG, ε = 0.2"].answer(again.boxes), counts)
    ledger = tmp_path / "trips.csv.ledger"
    ledger.unlink()  # a visit that goes on must not begin a second budget
    third = explore_app()
    third._saved.browser.stored = app._saved.browser.state
    third._saved.buttons[0].click()
    assert "does not exist yet" in third._desk.message.value
    assert not ledger.exists()


def test_starting_anew_forgets_the_visit(app):
    app._saved.browser.stored = json.dumps(GOOD)
    app._saved.buttons[1].click()
    assert app._saved.browser.state == ""
    assert app._saved._offer.layout.display == "none"


@pytest.mark.parametrize(
    "stored",
    [
        "{",
        "[]",
        "[" * 100_000,
        "{}",
        "x" * 200_001,
        json.dumps(GOOD | {"boxes": 7}),
        json.dumps(GOOD | {"place": []}),
    ],
)
def test_what_is_no_state_is_not_offered(app, stored):
    app._saved.browser.stored = stored
    assert app._saved._offer.layout.display == "none"


@pytest.mark.parametrize(
    "changed",
    [
        {"place": ["atlantis", 1_000]},
        {"boxes": [["south"]]},
        {"built": [["ugg", "1", [25, 100]]]},
        {"built": [["ug", "lots", [25, 100]]]},
        {"sizes": ["a", "b"]},
        {"sizes": [10**400, 10**400]},
        {"file": {"path": "/nowhere.csv"}},
    ],
)
def test_a_state_that_cannot_be_opened_is_said_in_words(app, changed):
    app._saved.browser.stored = json.dumps(GOOD | changed)
    assert "&lt;b&gt;Fargo" in app._saved.words.value
    app._saved.buttons[0].click()
    assert "The earlier visit cannot be opened" in app._desk.message.value
    assert app.releases == {}


def test_going_on_spends_nothing():
    file = OwnFile("trips.csv", 46.9, -96.8, 1_000, max_per_user=5)
    crafted = {"file": asdict(replace(file, budget="9", bound_epsilon="1"))}
    assert OwnFile(**fields(crafted)) == file


def test_visitors_of_a_class_open_no_files(tmp_path, monkeypatch):
    (fold,) = folds(explore_app())
    assert list(fold.buttons) == ["Open a file of your own"]
    (tmp_path / "trips.csv").write_text("lat,lon\n46.88,-96.79\n")
    file = OwnFile(str(tmp_path / "trips.csv"), FARGO.lat, FARGO.lon, FARGO.side_m, budget="1")
    # A hidden panel would still hear the messages of a visitor's browser.
    monkeypatch.setattr("snhkit.widgets.explorer.OpenPanel", lambda *_: pytest.fail("made"))
    shared = explore_app(opens_files=False)
    assert folds(shared) == []
    slow = shared._controls.ticks["snh-paper"]
    slow.value = True  # as a message of a visitor's browser may do
    assert slow.disabled
    assert "snh-paper" not in shared._controls.chosen
    shared._saved.browser.stored = json.dumps(GOOD | {"file": asdict(file)})
    shared._saved.buttons[0].click()
    assert "visitors of a shared server cannot open files" in shared._desk.message.value
    assert shared._session.invented
    crafted = GOOD | {"built": [["snh-paper", "0.5", [25, 100]], ["ug", "0.5", [25, 100]]]}
    (order,) = orders(shared._session, shared._controls, crafted)
    assert order.methods == ("ug",)


def folds(app) -> list:
    (side,) = (box for box in app._body.children if "snhkit-side" in box._dom_classes)
    return [part for part in side.children if "snhkit-fold" in part._dom_classes]
