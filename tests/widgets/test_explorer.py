import asyncio
import re
from dataclasses import replace
from fractions import Fraction

import ipywidgets
import numpy as np
import pytest

from snhkit.data import city, synthetic_points
from snhkit.dataset import PrivateDataset
from snhkit.errors import BudgetExceeded, InputError
from snhkit.geometry import By, Points, RangeQueries, exact_counts
from snhkit.markup import number
from snhkit.methods import METHODS
from snhkit.privacy import Budget, PrivacyUnit, read_ledger
from snhkit.widgets import session
from snhkit.widgets.opening import explore

BOX = [46.870, -96.800, 46.890, -96.780]
QUICK, UG = ("ug", "identity"), "UG, ε = 0.2"
PLACES = Points(city("fargo").region, [[1.0, 1.0]])
UNIT = (ipywidgets.Dropdown, "Hides"), (ipywidgets.BoundedIntText, "Records ≤")


def walk(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from walk(child)


def text_of(explorer) -> str:
    """All that the explorer has said to the browser, pictures and random names left out."""
    said = []
    for widget in walk(explorer):
        state = {k: v for k, v in widget.get_state().items() if k not in ("_html", "_esm")}
        said.append(str({**state, "layers": ""}))
    return re.sub(r"IPY_MODEL_[0-9a-f]+", "", "\n".join(said))


def find(explorer, kind, description):
    (found,) = (
        widget
        for widget in walk(explorer)
        if isinstance(widget, kind) and widget.description == description
    )
    return found


def table(explorer) -> list[list[str]]:
    (found,) = (
        widget.value
        for widget in walk(explorer)
        if isinstance(widget, ipywidgets.HTML)
        and "snhkit-answers" in widget.value
        and "<table" in widget.value
    )
    return [
        [cell.partition("<small>")[0] for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", found)
    ]


def shown(explorer) -> list[str]:
    """What lies on each map."""
    return [layer["legend"]["title"] for layer in explorer.map.layers if layer]


def enter(text):
    text._handle_custom_msg({"event": "submit"}, [])


def press(explorer, description):
    find(explorer, ipywidgets.Button, description).click()


@pytest.fixture
def fargo():
    return explore(city="fargo", n=5_000, methods=QUICK)


@pytest.fixture
def owned():
    """Somebody's records: the explorer cannot know that these are invented."""
    points = synthetic_points("fargo", 5_003)
    return explore(Points(points.region, points.xy), budget=1, methods=["ug"])


def test_build_answer_and_pay(fargo):
    press(fargo, "Build")
    assert list(fargo.releases) == ["UG, ε = 0.2", "Identity, ε = 0.2"]
    assert fargo.dataset.ledger.spent == Fraction(4, 10)
    assert shown(fargo) == ["UG, ε = 0.2", "Truth"]
    fargo.map.boxes = [BOX, [46.86, -96.81, 46.87, -96.80]]
    told = {name: release.answer(fargo.boxes) for name, release in fargo.releases.items()}
    truth = fargo._session.truth(fargo.boxes)
    head, *rows = table(fargo)
    assert head == ["Box", "Size in metres", "Truth", UG]  # that of the map
    assert [row[0] for row in rows] == ["2", "1"]  # the newest first
    fargo.every.value = True
    head, *rows = table(fargo)
    assert head[2:] == ["Truth", UG, "Identity, ε = 0.2"]
    for row, k in zip(rows, (1, 0), strict=True):
        assert row[2:] == [number(truth[k]), *(number(counts[k]) for counts in told.values())]
    fargo.every.value = False
    find(fargo, ipywidgets.Dropdown, "On the map").value = "Identity, ε = 0.2"
    assert table(fargo)[0][2:] == ["Truth", "Identity, ε = 0.2"]
    fargo.map.boxes = []
    assert "No box yet" in table(fargo)[1][0]


def test_what_is_given_reaches_the_explorer(tmp_path):
    points = synthetic_points("fargo", 2_000)
    public = synthetic_points("fargo", 500, "public")
    explorer = explore(
        points, title="Trips in May", public=public, budget=Budget(3), unit="user",
        max_per_user=4, ledger=tmp_path / "a.ledger", epsilon="0.5", methods=["identity"],
        sizes_m=(40, 700), height=640, tiles="https://tiles.example/{z}/{x}/{y}.png",
        attr="The Example",
    )  # fmt: skip
    made, controls = explorer._session, explorer._controls
    assert (made.title, made.public) == ("Trips in May", public)
    assert explorer.dataset.unit == PrivacyUnit("user", 4)
    assert explorer.dataset.ledger.total == 3
    assert (tmp_path / "a.ledger").exists()
    assert (controls.sizes_m, controls.chosen) == ((40, 700), ["identity"])
    assert explorer.layout.height == "640px"
    assert "tiles.example" in explorer.map._html
    assert "The Example" in explorer.map._html
    explorer.build()
    assert list(explorer.releases) == ["Identity, ε = 0.5"]


def test_boxes_are_where_they_were_drawn(fargo):
    fargo.map.boxes = [BOX]
    south, west, north, east = BOX
    wanted = RangeQueries.from_degrees(fargo.dataset.region, south, west, north, east)
    assert fargo.boxes.x == pytest.approx(wanted.x, abs=1e-6)
    assert fargo.boxes.height == pytest.approx(wanted.height, abs=1e-6)
    fargo.map.boxes = [[south, west - 360, north, east - 360]]  # a map scrolled once around
    assert fargo.boxes.x == pytest.approx(wanted.x, abs=1e-6)


def test_a_boxs_card_is_sent_before_its_table_is_made(fargo):
    press(fargo, "Build")
    fargo.map.boxes = []

    async def drawn():
        fargo.map.boxes = [BOX]
        assert len(fargo.map.cards) == 1
        assert "No box yet" in table(fargo)[1][0]
        while len(table(fargo)[1]) == 1:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(drawn(), 60))
    (card,) = fargo.map.cards
    assert table(fargo)[1][2:] == [card["truth"], card["rows"][0][1]]


def test_a_box_too_wide_is_refused_in_words(fargo):
    fargo.map.boxes = [BOX, [0, -100, 1, 150]]
    assert "Box 2 was removed" in text_of(fargo)
    assert fargo.map.boxes == [BOX]
    fargo.map.boxes = [BOX, [10, 10, 11, 11], [12, 12, 13, 13]]
    assert "2 boxes were removed" in text_of(fargo)
    assert fargo.map.boxes == [BOX]
    press(fargo, "Clear")
    assert "were removed" not in text_of(fargo)


def test_a_spent_budget_refuses_with_its_reason():
    explorer = explore(city="fargo", n=1_000, budget=0.3, methods=QUICK)
    explorer.build("ug")
    assert list(explorer.releases) == [UG]
    press(explorer, "Build")  # of Identity, since UG is there
    assert "Nothing was spent" in text_of(explorer)
    assert explorer.dataset.ledger.spent == Fraction(2, 10)
    assert not find(explorer, ipywidgets.Button, "Build").disabled
    with pytest.raises(BudgetExceeded, match=r"0\.1 is left"):
        explorer.build("ug", again=True)


def test_the_price_is_said_before(fargo):
    assert "spends ε = 0.4 of the 3 left" in text_of(fargo)
    find(fargo, ipywidgets.Checkbox, "Identity").value = False
    fargo._controls.epsilon.value = 0.8
    assert "spends ε = 0.8 of the 3 left" in text_of(fargo)
    assert "4.95 times as likely" in text_of(fargo)  # n is public: e^1.6


def test_what_is_not_installed_cannot_be_ticked_and_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("snhkit.builders.base.find_spec", lambda name: None)
    explorer = explore(city="fargo", n=1_000, methods=QUICK)
    tick = find(explorer, ipywidgets.Checkbox, 'PGM: pip install "snhkit[pgm]"')
    assert tick.disabled
    assert not find(explorer, ipywidgets.Checkbox, "UG").disabled
    with pytest.raises(InputError, match=r"snhkit\[pgm\]"):
        explore(city="fargo", n=1_000, methods=["ug", "pgm"])


def test_the_first_budget_holds_all_methods_once():
    explorer = explore(city="fargo", n=1_000, methods=list(METHODS))
    assert 0.2 * len(METHODS) <= explorer.dataset.ledger.remaining
    assert explorer._controls.epsilon.value == 0.2


def test_nothing_ticked(fargo):
    for name in ("UG", "Identity"):
        find(fargo, ipywidgets.Checkbox, name).value = False
    press(fargo, "Build")
    assert "tick at least one. Nothing was spent." in text_of(fargo)
    with pytest.raises(InputError, match="tick at least one"):
        fargo.build()
    assert fargo.dataset.ledger.spent == 0


def test_the_truth_is_shown_in_teaching_mode_only(fargo):
    teaching = find(fargo, ipywidgets.Checkbox, "Teaching mode: show the truth")
    assert teaching.value  # the records are invented, and the banner says so
    teaching.value = False
    fargo.build()
    fargo.map.boxes = [BOX]
    truth = number(exact_counts(synthetic_points("fargo", 5_000), fargo.boxes)[0])
    assert int(truth.replace(",", "")) > 100
    assert "Truth" not in text_of(fargo)
    assert f">{truth}<" not in text_of(fargo)
    teaching.value = True
    assert table(fargo)[1][2] == truth
    assert "only because these records are invented" in text_of(fargo)
    assert shown(fargo) == ["UG, ε = 0.2", "Truth"]
    teaching.value = False
    assert "Truth" not in text_of(fargo)
    assert shown(fargo) == ["UG, ε = 0.2"]


def test_somebodys_truth_is_never_shown(owned):
    owned.build()
    owned.map.boxes = [BOX]
    with pytest.raises(ValueError, match=r"\(1|not enough values"):
        find(owned, ipywidgets.Checkbox, "Teaching mode: show the truth")
    owned._controls.teaching.value = True  # as a person might who edits the page
    owned._show_all()
    assert "Truth" not in text_of(owned)
    assert "not measured on these records" in text_of(owned)
    with pytest.raises(InputError, match="invented records only"):
        owned._session.truth(owned.boxes)
    with pytest.raises(InputError, match="invented records only"):
        _ = owned._session.true_surface
    assert "5003" not in text_of(owned).replace(",", "")
    with pytest.raises(InputError, match="number of records is private"):
        _ = owned.dataset.n
    assert owned.releases[UG].spends[0].what == "number of records"
    assert "ynthetic" not in text_of(owned)


def test_another_city_is_another_data_set_and_coming_back_forgives_nothing(fargo):
    fargo.build("ug")
    fargo.map.boxes = [BOX]
    first = fargo.dataset
    city = find(fargo, ipywidgets.Dropdown, "City")
    city.value = "tulsa"
    assert fargo.dataset.ledger.spent == 0
    assert fargo.releases == {}
    assert (fargo.map.boxes, fargo.map.layers) == ([], [{}])
    assert "Tulsa, synthetic" in text_of(fargo)
    city.value = "fargo"
    assert fargo.dataset is first
    assert fargo.dataset.ledger.spent == Fraction(1, 5)
    fargo.map.boxes = [BOX]
    find(fargo, ipywidgets.Dropdown, "Records").value = 10_000
    assert fargo.map.boxes == [BOX]
    assert fargo.dataset.ledger.spent == 0


def test_boxes_can_be_typed_and_removed(fargo):
    typed = find(fargo, ipywidgets.Text, "Type a box")
    typed.value = ", ".join(map(str, BOX))
    enter(typed)
    assert fargo.map.boxes == [BOX]
    assert typed.value == ""
    typed.value = "46.89, -96.8, 46.87, -96.78"
    enter(typed)
    assert "must be less than north" in text_of(fargo)
    assert fargo.map.boxes == [BOX]
    typed.value = "46.86 -96.81 46.87 -96.80"
    enter(typed)
    assert "must be less than north" not in text_of(fargo)
    both = fargo.map.boxes
    press(fargo, "Remove")
    assert fargo.map.boxes == [BOX]
    fargo.map.boxes, fargo.map.picked = both, 0
    press(fargo, "Remove")  # the picked one
    assert (fargo.map.boxes, fargo.map.picked) == (both[1:], -1)
    fargo.map.picked = 1  # of boxes that are gone, so the last one is removed
    press(fargo, "Remove")
    assert fargo.map.boxes == []


def test_a_broken_method_says_its_kind_and_nothing_of_the_data(fargo, monkeypatch, caplog):
    def broken(self, key, epsilon, sizes_m, by):
        raise ZeroDivisionError("row 17 is at 46.87654")

    monkeypatch.setattr(session.Session, "build", broken)
    monkeypatch.setattr(
        "traitlets.config.Application.initialized", lambda: False
    )  # of another test
    press(fargo, "Build")
    assert "Traceback" in caplog.text  # ipywidgets writes what a button raises to the log
    assert "The build failed with ZeroDivisionError" in text_of(fargo)
    assert "46.87654" not in text_of(fargo)
    assert not find(fargo, ipywidgets.Button, "Build").disabled


def test_what_is_hidden_can_be_chosen_until_something_was_spent(fargo):
    unit, most = (find(fargo, kind, name) for kind, name in UNIT)
    assert not unit.disabled
    assert most.layout.display == "none"
    unit.value = "user"
    most.value = 4
    assert fargo.dataset.unit.max_per_user == 4
    assert "of one person" in text_of(fargo)
    fargo.build("ug")
    assert unit.disabled
    assert most.disabled
    assert fargo.releases[UG].unit.max_per_user == 4
    assert "cannot be changed after the first build" in text_of(fargo)
    with pytest.raises(InputError, match="cannot be changed"):
        fargo._session.under(PrivacyUnit("record"))


def test_another_unit_of_private_records_keeps_their_number_private():
    records = synthetic_points("fargo", 1_000)
    owned = explore(records, budget=1, methods=["ug"])
    for seen, public in ((owned, False), (explore(city="fargo", n=1_000, methods=["ug"]), True)):
        made = seen._session.under(PrivacyUnit("user", 2))
        assert (made.dataset.unit.kind, made.dataset.unit.n_public) == ("user", public)


def test_a_ledger_in_a_file_is_not_left_for_another_by_a_change_of_unit(tmp_path):
    ledger = tmp_path / "fargo.ledger"
    seen = explore(synthetic_points("fargo", 1_000), budget=1, methods=["ug"], ledger=ledger)
    assert seen._session.units == []
    with pytest.raises(InputError, match="cannot be changed"):
        seen._session.under(PrivacyUnit("record"))
    assert read_ledger(ledger).budget == seen.dataset.ledger.budget


def test_a_data_set_keeps_its_own_unit_and_ledger():
    points = synthetic_points("fargo", 1_000)
    dataset = PrivateDataset(points, budget=1, unit="user", max_per_user=3)
    explorer = explore(dataset, methods=["ug"])
    assert explorer.dataset is dataset
    assert "of one person" in text_of(explorer)


def test_records_without_users_hide_records_only(owned):
    assert find(owned, *UNIT[0]).disabled
    assert "have no user ids" in text_of(owned)


def test_maps_lie_side_by_side_on_one_scale_and_an_epsilon_can_be_compared(fargo):
    fargo.build("ug")
    assert shown(fargo) == ["UG, ε = 0.2", "Truth"]
    fargo._controls.epsilon.value = 1.0
    fargo.build("ug")
    assert shown(fargo) == ["UG, ε = 1", "Truth"]  # the newest epsilon is on the map
    assert list(fargo.releases) == [UG, "UG, ε = 1"]  # both stay
    beside = find(fargo, ipywidgets.Dropdown, "beside it")
    assert beside.options == ("—", "UG, ε = 1", "UG, ε = 0.2", "Truth")
    beside.value = "UG, ε = 0.2"
    assert shown(fargo) == ["UG, ε = 1", "UG, ε = 0.2"]
    one, other = fargo.map.layers
    assert "colours" not in one["legend"]
    assert len(other["legend"]["colours"]) == 16
    assert one["bounds"] == other["bounds"]
    assert one["image"] != other["image"]
    find(fargo, ipywidgets.Checkbox, "Outline the cells").value = True
    assert "equal cells of" in fargo.map.layers[0]["legend"]["note"]
    assert len(fargo.map.layers[0]["cells"]["corners"]) % 4 == 0
    find(fargo, ipywidgets.Dropdown, "On the map").value = "No picture"
    assert shown(fargo) == ["UG, ε = 0.2"]


def test_figures_follow_the_boxes_and_those_of_errors_need_teaching_mode(fargo):
    figures = next(one for one in walk(fargo) if isinstance(one, ipywidgets.ToggleButtons))
    teaching = find(fargo, ipywidgets.Checkbox, "Teaching mode: show the truth")
    teaching.value = False
    assert figures.options == ("Counts in the boxes",)
    assert not fargo._plots.picture.value  # nothing is drawn into a closed drawer
    fargo._drawers.buttons["Figures"].value = True
    assert "Build a release to draw the figure here" in text_of(fargo)
    fargo.build("ug")
    fargo.map.boxes = []
    assert "Draw a box on the map to draw its counts here" in text_of(fargo)
    fargo.map.boxes = [BOX]
    drawn = fargo._plots.picture.value
    assert 'aria-label="Counts in the boxes"' in drawn
    fargo.map.boxes = [BOX, BOX]
    assert fargo._plots.picture.value != drawn
    teaching.value = True
    assert len(figures.options) == 4
    for name in figures.options:
        figures.value = name
        assert f'aria-label="{name}"' in fargo._plots.picture.value
    teaching.value = False
    assert figures.options == ("Counts in the boxes",)
    assert 'aria-label="Counts in the boxes"' in fargo._plots.picture.value


def test_box_sizes_reach_the_methods_that_prepare_for_them(fargo):
    find(fargo, ipywidgets.BoundedFloatText, "Boxes of").value = 40
    fargo.build("dawa")
    made = fargo._session.built["DAWA, ε = 0.2"]
    assert made.release.hyperparameters["sizes_m"] == [40, 100]
    others = made.release.hyperparameters | {"sizes_m": [40, 200]}
    fargo._session.keep(replace(made, release=replace(made.release, hyperparameters=others)))
    assert list(fargo.releases) == ["DAWA, ε = 0.2", "DAWA, ε = 0.2, 40 to 200 m"]
    spent = fargo.dataset.ledger.spent
    find(fargo, ipywidgets.BoundedFloatText, "to").value = 30
    press(fargo, "Build")
    assert "box size, 40 m, must not exceed the largest, 30 m. Nothing was spent." in text_of(fargo)
    assert fargo.dataset.ledger.spent == spent


def test_nothing_is_built_if_one_of_the_methods_is_unknown(fargo):
    with pytest.raises(InputError, match="no method 'ugg'"):
        fargo.build("ug", "ugg")
    assert fargo.dataset.ledger.spent == 0


def test_each_method_is_explained_at_its_tick_box_and_the_slow_one_is_marked(fargo):
    ticks = [one for one in walk(fargo) if isinstance(one, ipywidgets.Checkbox)]
    told = {one.description: one.tooltip for one in ticks}
    for key, method in METHODS.items():
        assert method.about.endswith(".")
        assert len(method.about) <= 100
        name = f"{method.title}, slow" if key == "snh-paper" else method.title
        assert told[name] == method.about
        assert f"<dd>{method.about}</dd>" in text_of(fargo)
    assert [key for key, method in METHODS.items() if method.slow] == ["snh-paper"]


def test_every_control_has_a_tooltip(fargo):
    """A description without one makes ipywidgets show the word null."""
    described = [one for one in walk(fargo) if getattr(one, "description", "")]
    assert len(described) > 20
    assert [one.description for one in described if not one.tooltip] == []


def test_five_methods_are_ticked_at_first_and_only_networks_are_called_snh():
    explorer = explore(city="fargo", n=1_000)
    chosen = explorer._controls.chosen
    assert sorted(chosen) == sorted(["ug", "privtree", "identity", "snh", "denoised"])
    ticked = [METHODS[key] for key in chosen]
    named = {method.title: type(method.builder()).__name__ for method in ticked}
    assert named["SNH"] == "SNH"
    assert named["Denoised grid"] == "DenoisedGrid"
    assert "spends ε = 1 of the 3 left" in text_of(explorer)
    mine = explore(synthetic_points("fargo", 10), budget=1)  # a build costs real budget
    assert mine._controls.chosen == ["denoised"]


def test_a_frame_is_read_in_its_declared_region():
    geopandas = pytest.importorskip("geopandas")
    places = geopandas.points_from_xy([-96.79, -96.8, 0], [46.88, 46.87, 0])
    frame = geopandas.GeoDataFrame(geometry=places, crs="EPSG:4326")
    region = synthetic_points("fargo", 10).region
    with pytest.warns(UserWarning, match="1 outside the region"):
        explorer = explore(frame, region=region, budget=1, methods=["ug"])
    explorer.build()
    assert explorer.dataset._source.n() == 2
    with pytest.raises(InputError, match="give region="):
        explore(frame, budget=1)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"methods": ["ugg"]}, "no method 'ugg'"),
        ({"methods": "ug"}, "must be a list of short names, not 'ug'"),
        ({"methods": 5}, "must be a list of short names"),
        ({"points": PLACES, "region": "boston"}, "region must be a Region.*not 'boston'"),
        ({"points": PLACES.region, "budget": 1}, "must be records, not a Region"),
        ({"points": PLACES, "public": "gowalla.csv", "budget": 1}, "gowalla.csv.* does not exist"),
        ({"points": PLACES, "public": 7, "budget": 1}, "public must be Points"),
        ({"sizes_m": (500, 100)}, r"\(smallest, largest\), not \(500, 100\)"),
        ({"sizes_m": 100}, r"must be two numbers, such as \(100, 400\), not 100"),
        ({"sizes_m": (0, 100)}, "must be a positive number of metres, not 0"),
        ({"epsilon": 0}, "epsilon must be greater than 0"),
        ({"epsilon": "small"}, "not 'small'"),
        ({"height": "tall"}, "height must be a whole number"),
        ({"n": "many"}, "n must be a whole number"),
        ({"city": "atlantis"}, "no city is called 'atlantis'"),
        ({"n": 0}, "n must be a whole number"),
        ({"public": synthetic_points("fargo", 10)}, "leave it out for a synthetic city"),
        ({"ledger": "a.ledger"}, "ledger is for your own points"),
        ({"points": synthetic_points("fargo", 10)}, "give budget="),
        (
            {
                "points": PrivateDataset(
                    synthetic_points("fargo", 10), budget=1, unit="record", n_public=True
                ),
                "budget": 1,
            },
            "has a budget already",
        ),
        (
            {
                "points": PrivateDataset(
                    synthetic_points("fargo", 10), budget=1, unit="record", n_public=True
                ),
                "unit": "user",
                "max_per_user": 2,
            },
            "has a unit already",
        ),
    ],
)
def test_wrong_arguments_are_named(wrong, says):
    with pytest.raises(InputError, match=says):
        explore(**wrong)


def test_releases_cannot_be_slipped_in(fargo):
    fargo.releases["mine"] = None
    assert fargo.releases == {}
    assert isinstance(fargo.boxes, type(None))
    assert np.size(fargo.map.boxes) == 0


def test_a_second_build_of_the_same_asks_before_it_charges(fargo):
    fargo.build("ug")
    press(fargo, "Build")
    assert "UG, ε = 0.2 is built already" in text_of(fargo)
    assert "spends another ε = 0.2. Nothing was spent yet" in text_of(fargo)
    assert fargo.dataset.ledger.spent == Fraction(1, 5)
    again = find(fargo, ipywidgets.Button, "Build again")
    assert again.layout.display == ""
    find(fargo, ipywidgets.Checkbox, "UG").value = False  # the question goes with its cause
    assert again.layout.display == "none"
    assert "built already" not in text_of(fargo)
    press(fargo, "Build")
    assert list(fargo.releases) == [UG, "Identity, ε = 0.2"]
    press(fargo, "Build")
    again.click()
    assert list(fargo.releases) == [UG, "Identity, ε = 0.2", "Identity, ε = 0.2 (2)"]
    assert fargo.dataset.ledger.spent == Fraction(3, 5)
    with pytest.raises(InputError, match="built already"):
        fargo.build("ug")


def test_an_alert_goes_when_its_cause_goes(fargo):
    low = find(fargo, ipywidgets.BoundedFloatText, "Boxes of")
    low.value = 500
    assert "smallest box size must not exceed the largest" in text_of(fargo)
    press(fargo, "Build")
    assert "Nothing was spent" in text_of(fargo)
    low.value = 25
    assert "must not exceed the largest" not in text_of(fargo)
    assert fargo.dataset.ledger.spent == 0


def test_the_first_build_opens_on_plain_learned_and_truth_with_boxes_of_the_sizes(fargo):
    made = fargo._session.build("ug", 0.2, (25.0, 100.0))
    for title in ("Denoised grid", "UG"):
        fargo._keep(fargo._session, replace(made, title=title))
    assert shown(fargo) == [UG, "Denoised grid, ε = 0.2", "Truth"]
    assert len(fargo.map.boxes) == 12
    sides = np.stack([fargo.boxes.width, fargo.boxes.height])
    assert sides.min() > 24
    assert sides.max() < 101
    south, west, north, east = fargo.map.view
    middles = [((s + n) / 2, (w + e) / 2) for s, w, n, e in fargo.map.boxes]
    assert all(south < lat < north and west < lon < east for lat, lon in middles)
    find(fargo, ipywidgets.Dropdown, "beside it").value = "—"
    fargo.build("identity")
    assert shown(fargo) == [UG, "Truth"]  # what a person chose stays


def test_a_hundred_boxes_are_sampled_by_what_is_public_only():
    points = synthetic_points("fargo", 5_000)
    mine = explore(points, budget=1, methods=["ug"])
    press(mine, "Sample 100 boxes")
    assert "build a method first" in text_of(mine)
    mine.build()
    press(mine, "Sample 100 boxes")
    assert len(mine.map.boxes) == 100
    assert "build a method first" not in text_of(mine)


def test_the_line_above_the_maps_says_what_was_built_and_what_it_cost(fargo):
    assert "Nothing is built yet" in text_of(fargo)
    fargo.build()
    assert re.search(r"<b>2 releases in \d", fargo._said["built"].value)
    assert "spent 0.4, left 2.6" in fargo._said["built"].value
    verdict = fargo._said["verdict"].value
    assert re.search(r"<b>[\d.]+ %</b><small>expected [\d.]+ % \([\d.]+ % to", verdict)
    errors = re.findall(r"<b>([\d.]+) %</b>", verdict)
    assert len(errors) == 2
    assert list(map(float, errors)) == sorted(map(float, errors))
    find(fargo, ipywidgets.Checkbox, "Teaching mode: show the truth").value = False
    assert "not measured on these records" in fargo._said["verdict"].value


def test_a_budget_with_a_delta_is_not_for_the_screen():
    records = synthetic_points("fargo", 100)
    budget = Budget(1, delta="1e-6")
    data = PrivateDataset(records, budget, unit="record")
    with pytest.raises(InputError, match="the explorer spends pure epsilon only"):
        explore(data)


def test_builds_whose_sum_exceeds_what_is_left_charge_nothing():
    explorer = explore(city="fargo", n=1_000, methods=["ug", "identity"], budget=0.8, epsilon=0.5)
    with pytest.raises(BudgetExceeded, match=r"ε = 1, and 0\.8 is left"):
        explorer.build()
    explorer._desk.build.click()
    assert "Nothing was spent" in explorer._desk.message.value
    assert not explorer.dataset.ledger.entries


def test_the_truth_goes_before_anything_is_computed(fargo, monkeypatch):
    fargo.build()
    fargo.map.boxes = [[46.870, -96.800, 46.890, -96.780]]
    seen = []

    def slow(session, sizes_m, *, truth):
        parts = [html.value for html in fargo._said.values()]
        seen.append((truth, "snhkit-truth" in str(parts), "Truth" in str(fargo.map.layers)))
        return ""

    monkeypatch.setattr("snhkit.widgets.explorer.verdict", slow)
    fargo._controls.teaching.value = False
    assert seen[-1] == (False, False, False)


def test_maps_by_hour_are_built_at_one_epsilon_and_chosen_by_a_slider(fargo):
    slider, hour = fargo._strata, By.hour()
    assert slider.labels == []
    find(fargo, ipywidgets.Dropdown, "Maps").value = hour
    fargo.build("ug")
    name = "UG by hour, ε = 0.2"
    assert fargo.dataset.ledger.spent == Fraction(2, 10)
    assert slider.labels == ["all", *hour.labels]
    assert shown(fargo) == [name, "Truth"]
    slider.value = 9
    assert shown(fargo) == [f"{name} · 08", "Truth · 08"]
    fargo.map.boxes = [BOX]
    ((line,),) = (card["lines"] for card in fargo.map.cards)
    counts = fargo._session.built[name].strata.estimate(fargo.boxes)["count"].to_numpy()
    places = np.array(line["places"])
    assert places[:, 0] / places[:, 0].max() == pytest.approx(counts / counts.max(), abs=0.01)
    in_box = RangeQueries.from_degrees(PLACES.region, *BOX)
    at_eight = hour.of_points(records := fargo._session.records) == 8
    true = exact_counts(Points(records.region, records.xy[at_eight]), in_box)[0]
    total = exact_counts(records, in_box)[0]
    truth = np.array(line["truth"])
    assert truth[8] / truth.sum() == pytest.approx(true / total, abs=0.01)
    with pytest.raises(InputError, match="built already"):
        fargo.build("ug")
    find(fargo, ipywidgets.Dropdown, "Maps").value = ""
    fargo.build("ug")  # one map is another release
    assert shown(fargo) == ["UG, ε = 0.2", "Truth"]
    assert slider.labels == []


def test_records_without_times_are_not_divided(owned):
    choice = find(owned, ipywidgets.Dropdown, "Maps")
    assert choice.layout.display == "none"


def test_the_truth_of_strata_is_of_invented_records_only():
    points = synthetic_points("fargo", 2_000)
    mine = explore(points, budget=1, methods=["identity"])
    mine._controls.by.value = By.weekday()
    mine.build()
    mine.map.boxes = [BOX]
    assert "truth" not in mine.map.cards[0]["lines"][0]
    with pytest.raises(InputError, match="invented records only"):
        mine._session.true_surfaces(By.weekday())
