"""DrawMap's two scripts in Chromium, with a notebook's widget model played by the page."""

import numpy as np
import pytest
from on_page import MapOnPage

from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.privacy import PrivacyUnit
from snhkit.viz.maps.maps import BOX_STYLE, base_map, compare_map, to_html
from snhkit.viz.maps.surface import ColourScale, Surface, surface_overlay
from snhkit.widgets.draw_map import DrawMap
from snhkit.widgets.tables import cards

pytestmark = [
    pytest.mark.browser,
    # Playwright's pipes and sockets are closed when its garbage is collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
CITY = Region.around(lat=37.76, lon=-122.43, side_m=12_000)
TWO = [[37.74, -122.46, 37.76, -122.44], [37.77, -122.46, 37.78, -122.42]]
HOST = """<body style="margin: 0; --jp-layout-color2: rgb(1, 2, 3)"><div id="view"></div></body>"""
# get, set, on, off and save_changes are all that the widget's script uses of a model.
START = """async ([code, values, id]) => {
  const listeners = {};
  const model = {
    saved: [],
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; },
    save_changes: () => { model.saved.push(JSON.stringify(values.boxes)); },
    on: (name, f) => (listeners[name] ||= []).push(f),
    off: (name, f) => { listeners[name] = listeners[name].filter((g) => g !== f); },
    fromPython: (name, value) => {
      values[name] = value;
      (listeners["change:" + name] || []).forEach((f) => f());
    },
    listening: () => Object.values(listeners).flat().length,
  };
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  model.stop = widget.render({ model, el: document.getElementById(id) });
  (window.models ||= {})[id] = model;
}"""
MAP = (
    "const map = window[Object.keys(window).find((k) => /^map_[0-9a-f]{32}$/.test(k))];"
    " const numbers = [...document.querySelectorAll('.snhkit-number')].map((e) => e.innerText);"
)


class Driven(MapOnPage):
    """A DrawMap on the page."""

    def __init__(self, window, boxes=(), place="view", region=CITY, **more):
        draw = DrawMap(base_map(region), boxes=list(boxes), **more)
        names = (
            "_html",
            "_token",
            "boxes",
            "layers",
            "height",
            "view",
            "cards",
            "picked",
        )
        values = {name: getattr(draw, name) for name in names}
        self.token, self.place = draw._token, place
        window.evaluate(START, [str(draw._esm), values, place])
        super().__init__(window, window.locator(f"#{place}"))
        self.hold()

    def model(self, what, *args):
        return self.window.evaluate(f"(args) => models.{self.place}.{what}(...args)", list(args))

    @property
    def boxes(self):
        return self.model("get", "boxes")

    def wait(self, count):
        self.window.wait_for_function(
            f"() => models.{self.place}.get('boxes').length === {count}", timeout=20_000
        )
        self.frame.wait_for_function(
            f"""() => document.querySelectorAll("path[stroke='{BOX_STYLE["color"]}']").length"""
            f" === {count}",
            timeout=20_000,
        )

    def middle(self, which):
        at = self.frame.locator(which).first.bounding_box()
        return at["x"] + at["width"] / 2, at["y"] + at["height"] / 2

    def changed(self, old):
        """Wait until the notebook has other boxes, and return these."""
        self.window.wait_for_function(
            f"(old) => JSON.stringify(models.{self.place}.get('boxes')) !== JSON.stringify(old)",
            arg=old,
            timeout=10_000,
        )
        self.window.wait_for_timeout(100)  # the last step of a drag
        return self.boxes

    def map(self, what):
        return self.frame.evaluate(f"() => {{ {MAP} return {what}; }}")

    def until(self, what):
        self.frame.wait_for_function(f"() => {{ {MAP} return {what}; }}", timeout=20_000)


@pytest.fixture
def window(shared_window):
    """A page that all tests share, without what an earlier one left on it."""
    shared_window.set_viewport_size({"width": 1280, "height": 800})
    shared_window.goto("about:blank")
    return shared_window


@pytest.fixture
def host(window):
    window.set_content(HOST)
    return window


def test_drawn_edited_and_deleted_boxes_arrive(host):
    draw = Driven(host)
    draw.draw((0.35, 0.3), (0.6, 0.6))
    draw.wait(1)
    (first,) = draw.boxes
    shown = draw.map("[map.getSize().x, map.getBounds().getWest(), map.getBounds().getEast()]")
    west = shown[1] + 0.35 * (shown[2] - shown[1])
    assert first[1] == pytest.approx(west, abs=(shown[2] - shown[1]) / shown[0] * 2)

    assert draw.model("get", "picked") == 0
    assert draw.frame.locator("path.snhkit-grip").count() == 4
    x, y = draw.middle("path.snhkit-grip >> nth=2")  # south east
    draw.drag((x, y), (x + 20, y + 15), (x + 40, y + 30))
    (sized,) = draw.changed([first])
    assert sized[1:3] == pytest.approx(first[1:3], abs=1e-6)  # its other corner stayed
    assert sized[0] < first[0]
    assert sized[3] > first[3]
    x, y = draw.middle("path.snhkit-box")
    view = draw.map("map.getCenter().lng")
    draw.drag((x, y), (x - 20, y), (x - 40, y))
    (moved,) = draw.changed([sized])
    assert moved[3] - moved[1] == pytest.approx(sized[3] - sized[1], abs=1e-6)
    assert moved[1] < sized[1]
    assert draw.map("map.getCenter().lng") == view  # the map stays
    host.keyboard.press("Delete")
    draw.wait(0)
    assert draw.model("get", "picked") == -1
    assert not draw.frame.locator("path.snhkit-grip").count()


def test_corners_can_be_pulled_of_a_box_that_was_drawn_while_another_was_picked(host):
    draw = Driven(host)
    draw.draw((0.4, 0.2), (0.45, 0.4))
    draw.wait(1)
    draw.draw((0.5, 0.5), (0.58, 0.7))
    draw.wait(2)
    before = draw.boxes
    x, y = draw.middle("path.snhkit-grip >> nth=2")
    draw.drag((x - 2, y - 2), (x + 20, y + 20))
    after = draw.changed(before)
    assert after[1][1:3] == pytest.approx(before[1][1:3], abs=1e-6)
    assert after[1][3] > before[1][3]


def test_a_box_is_not_dragged_out_of_the_region(host):
    draw = Driven(host, boxes=TWO[:1])
    draw.wait(1)
    x, y = draw.middle("path.snhkit-box")
    west = draw.frame.locator("path.snhkit-outline").first.bounding_box()["x"]
    draw.drag((x, y), (west + 5, y), (west - 300, y))
    (moved,) = draw.changed(TWO[:1])
    middle = (moved[1] + moved[3]) / 2
    assert CITY.bounds[1] < middle < sum(TWO[0][1::2]) / 2


def test_boxes_from_python_are_shown_numbered_and_kept(host):
    draw = Driven(host, boxes=TWO)
    draw.wait(2)
    draw.draw((0.7, 0.2), (0.85, 0.4))
    draw.wait(3)
    assert draw.boxes[:2] == TWO
    draw.until("numbers.join() === '1,2,3'")
    draw.model("fromPython", "boxes", TWO[1:])
    draw.wait(1)
    draw.until("numbers.join() === '1'")  # Leaflet fades the old numbers out
    saved = len(host.evaluate("models.view.saved"))
    host.wait_for_timeout(300)
    assert len(host.evaluate("models.view.saved")) == saved  # no echo


def test_a_picked_box_stays_picked_when_python_sets_the_boxes(host):
    draw = Driven(host, boxes=TWO)
    draw.wait(2)
    draw.frame.locator("path.snhkit-box").nth(1).click()
    host.wait_for_function("() => models.view.get('picked') === 1")
    draw.model("fromPython", "boxes", [TWO[0], TWO[0]])
    draw.until("document.querySelectorAll('path.snhkit-grip').length === 4")
    assert draw.model("get", "picked") == 1
    draw.model("fromPython", "boxes", TWO[:1])
    draw.frame.wait_for_selector("path.snhkit-grip", state="detached")
    draw.wait(1)
    assert draw.boxes == TWO[:1]


def test_python_picks_a_box_and_hears_no_echo(host):
    draw = Driven(host, boxes=TWO)
    draw.wait(2)
    draw.model("fromPython", "picked", 1)
    draw.frame.wait_for_selector("path.snhkit-grip >> nth=3")
    draw.model("fromPython", "boxes", [*TWO, TWO[0]])
    draw.wait(3)
    host.wait_for_timeout(500)
    saved = len(host.evaluate("models.view.saved"))
    host.wait_for_timeout(500)
    assert len(host.evaluate("models.view.saved")) == saved
    assert draw.model("get", "picked") == 1
    draw.model("fromPython", "picked", -1)
    draw.frame.wait_for_selector("path.snhkit-grip", state="detached")


def test_the_card_stays_at_the_picked_box_and_follows_it(host):
    draw = Driven(host, boxes=TWO)
    draw.wait(2)
    row = ["UG", "12", "3 to 20", "#0072b2", 0.5, 0.1, 0.9]
    card = {"number": "Box 1", "size": "9 × 9 m", "rows": [row], "counted": "<b>at most 5"}
    draw.model("fromPython", "cards", [card, card | {"number": "Box 2"}])
    draw.frame.locator("path.snhkit-box").first.click()
    draw.until("document.querySelectorAll('.snhkit-card').length === 1")  # that of hovering fades
    shown = draw.frame.locator(".snhkit-card")
    assert shown.inner_text().split("\n") == [
        "Box 1: 9 × 9 m",
        "<b>at most 5",
        "UG",
        "12",
        "3 to 20",
    ]
    host.mouse.move(5, 5)
    host.wait_for_timeout(300)
    before = shown.bounding_box()
    x, y = draw.middle("path.snhkit-box")
    draw.drag((x, y), (x, y + 20), (x, y + 40))
    draw.changed(TWO)
    assert shown.bounding_box()["y"] == pytest.approx(before["y"] + 40, abs=3)  # at once
    draw.model("fromPython", "cards", [card | {"size": "8 × 8 m"}, card])
    draw.frame.locator(".snhkit-card", has_text="8 × 8 m").wait_for()
    assert shown.bounding_box()["y"] == pytest.approx(before["y"] + 40, abs=3)
    draw.frame.locator(".leaflet-container").press("Escape")
    shown.wait_for(state="detached")


def test_a_card_on_a_narrow_map_is_covered_by_neither_buttons_nor_numbers(host):
    draw = Driven(host, boxes=[[37.78, -122.425, 37.79, -122.41]])  # near the top right
    draw.wait(1)
    host.set_viewport_size({"width": 340, "height": 240})
    row = ["UG", "12", "3 to 20", "#0072b2", 0.5, 0.1, 0.9]
    draw.model("fromPython", "cards", [{"number": "Box 1", "size": "9 × 9 m", "rows": [row] * 6}])
    draw.frame.locator("path.snhkit-box").click()
    draw.until("document.querySelectorAll('.snhkit-card').length === 1")
    card, tools = (
        draw.frame.locator(at).bounding_box()
        for at in (".snhkit-card", ".leaflet-top.leaflet-left")
    )
    beside = card["x"] >= tools["x"] + tools["width"] - 1
    assert beside or card["y"] >= tools["y"] + tools["height"]
    above = "(at) => getComputedStyle(document.querySelector(at)).zIndex"
    assert draw.frame.evaluate(above, ".snhkit-card") == "1"
    assert draw.frame.evaluate(above, ".snhkit-number") == "auto"


def test_boxes_are_made_moved_sized_and_removed_by_keys_alone(host):
    draw = Driven(host)
    draw.frame.locator(".leaflet-container").focus()
    keys = draw.frame.locator(".snhkit-keys")
    assert keys.inner_text() == "Enter makes a box, E picks one."
    press = host.keyboard.press
    press("Enter")
    draw.wait(1)
    assert "Delete removes" in keys.inner_text()
    (first,) = draw.boxes
    press("ArrowRight")
    (moved,) = draw.changed([first])
    assert moved[1] > first[1]
    assert moved[3] - moved[1] == pytest.approx(first[3] - first[1], abs=1e-6)
    press("Shift+ArrowUp")
    (sized,) = draw.changed([moved])
    assert sized[:2] == pytest.approx(moved[:2], abs=1e-6)
    assert sized[2] > moved[2]
    press("Escape")
    press("ArrowUp")  # moves the map, no box
    host.wait_for_timeout(300)
    assert draw.boxes == [sized]
    press("e")
    press("Delete")
    draw.wait(0)


def test_numbers_stand_outside_small_boxes_on_all_maps_and_move_with_an_edit(host):
    draw = Driven(host, boxes=TWO)
    draw.wait(2)
    draw.model("fromPython", "layers", [layer("A", 1), layer("B", 2)])
    draw.until("numbers.join() === '1,2,1,2'")
    box = draw.frame.locator("path.snhkit-box").first.bounding_box()
    number = draw.frame.locator(".snhkit-number").first.bounding_box()
    assert number["x"] >= box["x"] + box["width"] - 1
    x, y = draw.middle("path.snhkit-box")
    places = (
        "[...document.querySelectorAll('.snhkit-number')].map((e) => e.getBoundingClientRect().x)"
    )
    before = draw.map(places)
    draw.drag((x, y), (x + 20, y), (x + 40, y))
    moved = f"Math.abs({places}[K] - {before[0]} - 40) < 6"
    draw.until(moved.replace("K", "0"))
    draw.until(moved.replace("K", "2").replace(str(before[0]), str(before[2])))
    assert draw.map(places)[1] == pytest.approx(before[1], abs=2)


def test_a_square_is_put_anywhere_on_earth_and_stays_a_square(host):
    draw = Driven(host, region=None, square=True)

    def click(lat, lon):
        at = draw.map(f"map.latLngToContainerPoint([{lat}, {lon}])")
        draw.frame.locator(".leaflet-container").click(position=at)

    for _ in range(5):
        click(-41.29, 174.78)  # comes closer, and puts a square there at last
    draw.wait(1)
    assert "Wellington" in draw.frame.locator(".snhkit-name").all_inner_texts()

    def square(box):
        found = Region.from_bounds(box[1], box[0], box[3], box[2])
        assert found.bounds == pytest.approx(box, abs=(box[2] - box[0]) / 100)
        return found

    pixel = draw.map(
        "map.containerPointToLatLng([1, 0]).lng - map.containerPointToLatLng([0, 0]).lng"
    )
    first = square(draw.boxes[0])
    assert (first.lat, first.lon) == pytest.approx((-41.29, 174.78), abs=2 * pixel)
    before = draw.boxes
    x, y = draw.middle("path.snhkit-grip >> nth=2")
    draw.drag((x, y), (x + 20, y), (x + 40, y))  # to the side only
    (wider,) = draw.changed(before)
    assert square(wider).side_m > 1.2 * first.side_m
    assert wider[1:3] == pytest.approx(before[0][1:3], abs=1e-6)
    click(-41.29, 174.78)  # the box is there: it stays
    draw.draw((0.1, 0.1), (0.2, 0.3))
    (drawn,) = draw.changed([wider])
    host.wait_for_timeout(300)  # the click that ended the drawing put no other there
    assert draw.boxes == [drawn]
    assert square(drawn).lon < first.lon


def test_the_words_on_the_map_say_the_size_that_python_counts(host):
    draw = Driven(host, boxes=[[37.74, -122.47, 37.7623, -122.4417]])
    draw.wait(1)
    draw.frame.locator("path.snhkit-box").click()
    boxes = RangeQueries.from_degrees(CITY, *zip(*draw.boxes, strict=True))
    card = cards(boxes, {"UG": np.ones((1, 3))}, PrivacyUnit("record"))[0]
    assert draw.frame.locator(".snhkit-keys").inner_text() == card["size"]


def test_a_view_is_taken_and_the_wheel_zooms_with_ctrl_only(host):
    draw = Driven(host)
    draw.model("fromPython", "view", [37.75, -122.45, 37.76, -122.44])
    draw.until("map.getZoom() > 14 && map.getBounds().contains([37.755, -122.445])")
    draw.frame.locator(".snhkit-home").click()
    draw.until("map.getZoom() < 13 && !map._animatingZoom")
    before = draw.map("map.getZoom()")
    at = draw.frame.locator(".leaflet-container").bounding_box()
    host.mouse.move(at["x"] + 200, at["y"] + 200)
    host.mouse.wheel(0, -200)
    host.wait_for_timeout(300)
    assert draw.map("map.getZoom()") == before
    host.keyboard.down("Control")
    host.mouse.wheel(0, -200)
    host.keyboard.up("Control")
    draw.until(f"map.getZoom() > {before}")


def test_a_picture_comes_and_goes_under_the_boxes(host):
    draw = Driven(host, boxes=TWO)
    grid = Grid(CITY, 3)
    surface = Surface(grid, np.arange(9.0).reshape(3, 3))
    draw.model("fromPython", "layers", [surface_overlay(surface, ColourScale(4), "<b>Ramp")])
    picture = draw.frame.locator("img.leaflet-image-layer")
    picture.wait_for()
    assert picture.get_attribute("alt") == "<b>Ramp: records per hectare, as colours"
    assert draw.frame.locator(".snhkit-legend-title").inner_text() == "<b>Ramp"
    assert draw.frame.locator(".snhkit-ticks span").all_inner_texts() == ["≤ 0", "1", "≥ 4"]
    draw.wait(2)
    above = "[map.getPane('overlayPane'), map.getPane('snhkit-overlay')]"
    boxes, under = draw.map(f"{above}.map((pane) => +getComputedStyle(pane).zIndex)")
    assert under < boxes
    draw.frame.locator("path.snhkit-box").first.click()  # not the picture
    draw.frame.locator(".leaflet-container").press("Delete")
    draw.wait(1)
    draw.model("fromPython", "layers", [])
    picture.wait_for(state="detached")
    assert not draw.frame.locator(".snhkit-legend").count()


def layer(name, value, cells=None):
    surface = Surface(Grid(CITY, 3), np.full((3, 3), float(value)))
    return {**surface_overlay(surface, ColourScale(4), name), "cells": cells}


def test_maps_side_by_side_move_together_and_share_the_boxes(host):
    draw = Driven(host, boxes=TWO)
    draw.wait(2)
    draw.model("fromPython", "layers", [layer("A", 1), layer("B", 2), {}])
    draw.frame.wait_for_selector(".leaflet-container >> nth=2")
    assert draw.frame.locator(".snhkit-legend-title").all_inner_texts() == ["A", "B"]
    assert draw.frame.locator("img.leaflet-image-layer").count() == 2
    assert draw.frame.locator("path.snhkit-outline").count() == 3
    draw.frame.wait_for_selector(".snhkit-number >> nth=5")

    at = draw.frame.locator(".leaflet-container").nth(1).bounding_box()
    middle = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    draw.drag(middle, (middle[0] + 40, middle[1] + 30))
    draw.until("map.snhkitMoved")
    places = (
        "[...document.querySelectorAll('img.leaflet-image-layer')].map((e) => {"
        " const at = e.getBoundingClientRect(), pane = e.closest('.leaflet-container');"
        " return [at.x - pane.getBoundingClientRect().x, at.y, at.width]; })"
    )
    one, other = draw.map(places)
    assert one == pytest.approx(other, abs=2)

    picture = draw.frame.locator("img.leaflet-image-layer").first.element_handle()
    view = "[map.getCenter().lat, map.getCenter().lng, map.getZoom()]"
    before = draw.map(view)
    draw.model("fromPython", "layers", [layer("C", 3)])
    draw.until("document.querySelectorAll('.leaflet-container').length === 1")
    assert draw.frame.locator(".snhkit-legend-title").all_inner_texts() == ["C"]
    assert picture.get_attribute("alt").startswith("C:")  # the same element: nothing flickers
    assert draw.map(view) == pytest.approx(before, abs=5e-4)  # a pixel


def test_cells_are_outlined_unless_too_small_to_see(host):
    draw = Driven(host)
    south, west, north, east = CITY.bounds
    quarter = [0, 0, (north - south) / 2, (east - west) / 2]
    cells = {"origin": [south, west], "unit": 1, "corners": [*quarter, 0, 0, 1e-6, 1e-6]}
    inked = (
        "() => { const c = document.querySelector('canvas.snhkit-cells');"
        " const ink = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " return ink.filter((value, i) => i % 4 === 3 && value > 0).length; }"
    )
    draw.model("fromPython", "layers", [layer("A", 1, cells)])
    draw.frame.wait_for_selector("canvas.snhkit-cells")
    drawn = draw.frame.evaluate(inked)
    side = draw.map("map.getSize().y") / 2
    assert 4 * side < drawn < 4 * side * 4  # four lines of some pixels
    narrow = draw.frame.locator(".snhkit-narrow")
    assert narrow.inner_text().startswith("The narrowest cells are too narrow")
    cells["corners"] = cells["corners"][4:]
    draw.model("fromPython", "layers", [layer("A", 1, cells)])
    draw.until("document.querySelectorAll('canvas.snhkit-cells').length === 1")
    assert draw.frame.evaluate(inked) == 0
    assert narrow.inner_text() == "Cells are too narrow to outline here: zoom in"
    draw.model("fromPython", "layers", [layer("A", 1)])
    draw.frame.wait_for_selector("canvas.snhkit-cells", state="detached")


def test_districts_come_and_go_under_the_boxes_and_say_their_lines_as_text(host):
    draw = Driven(host, boxes=TWO)
    ring = [[-122.5, 37.7], [-122.4, 37.7], [-122.4, 37.8], [-122.5, 37.8], [-122.5, 37.7]]
    feature = {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "properties": {"colour": "#440154", "lines": ["<b>Ward", "7.0 records"]},
    }
    told = {"districts": {"type": "FeatureCollection", "features": [feature]}, "legend": None}
    draw.model("fromPython", "layers", [told])
    shape = draw.frame.locator("path.snhkit-district")
    shape.wait_for()
    assert shape.get_attribute("fill") == "#440154"
    draw.frame.evaluate(
        "document.querySelector('path.snhkit-district').dispatchEvent("
        "new MouseEvent('mouseover', {bubbles: true, clientX: 200, clientY: 200}))"
    )
    tip = draw.frame.locator(".leaflet-tooltip", has_text="Ward")
    assert tip.inner_text() == "<b>Ward\n7.0 records"
    feature["properties"] = {"colour": None, "inside": True, "lines": ["Ward"]}
    del told["legend"]  # before a build there is nothing to explain
    draw.model("fromPython", "layers", [told])
    draw.until(
        "document.querySelector('path.snhkit-district').getAttribute('fill-opacity') === '0'"
    )
    assert shape.get_attribute("stroke-dasharray") is None
    draw.model("fromPython", "layers", [])
    shape.wait_for(state="detached")
    draw.wait(2)


def test_only_the_other_half_with_the_token_is_heard_and_the_frame_is_shut_in(host):
    host.evaluate("document.body.insertAdjacentHTML('beforeend', '<div id=other></div>')")
    draw, other = Driven(host), Driven(host, place="other")
    forged = "(token) => WHO.postMessage({token, kind: 'boxes', value: [[0, 0, 1, 1]]}, '*')"
    host.evaluate(forged.replace("WHO", "window"), draw.token)  # right token, wrong window
    other.frame.evaluate(forged.replace("WHO", "window.parent"), draw.token)
    draw.frame.evaluate(forged.replace("WHO", "window.parent"), "0" * 32)  # and the reverse
    inward = "(token) => document.querySelector('#view iframe').contentWindow.postMessage("
    inward += "{token, kind: 'boxes', value: [[37.75, -122.45, 37.76, -122.44]]}, '*')"
    host.evaluate(inward, "0" * 32)
    host.wait_for_timeout(300)
    assert draw.boxes == other.boxes == []
    assert not draw.frame.locator("path.snhkit-box").count()
    host.evaluate(inward, draw.token)
    draw.frame.locator("path.snhkit-box").wait_for()
    draw.frame.evaluate(forged.replace("WHO", "window.parent"), draw.token)
    host.wait_for_function("() => models.view.get('boxes').length === 1")
    assert other.boxes == []
    reach = "() => { try { return parent.document.title; } catch (e) { return e.name; } }"
    assert draw.frame.evaluate(reach) == "SecurityError"
    fetch = "() => fetch('http://127.0.0.1:9/').then(() => 'out', (e) => e.name)"
    assert draw.frame.evaluate(fetch) == "TypeError"


def test_a_map_in_a_hidden_tab_fits_when_it_is_shown(host):
    host.evaluate("document.getElementById('view').style.display = 'none'")
    draw = Driven(host)
    host.evaluate("document.getElementById('view').style.display = ''")
    south, west, north, east = CITY.bounds
    inside = f"map.getBounds().contains([[{south}, {west}], [{north}, {east}]])"
    draw.until(f"{inside} && map.getZoom() > 11.5")  # and no smaller than it must be
    host.set_viewport_size({"width": 400, "height": 800})
    draw.until(f"{inside} && map.getSize().x === 400")


def test_a_reloaded_frame_gets_boxes_and_view_back(host):
    draw = Driven(host, boxes=TWO)
    draw.wait(2)
    draw.until("map.getZoom() > 11.5")  # fitted
    near = f"Math.abs(map.getZoom() - {draw.map('map.getZoom()') + 1}) < 1e-6"
    draw.frame.locator(".leaflet-control-zoom-in").click()
    draw.until(f"{near} && !map._animatingZoom")
    host.wait_for_timeout(500)  # the frame tells the notebook of its view
    host.evaluate(
        "() => { const f = document.querySelector('iframe'), p = f.parentNode;"
        " f.remove(); p.appendChild(f); }"  # as when a cell is moved
    )
    draw.hold()
    draw.wait(2)
    draw.until(near)


def test_it_takes_the_notebooks_colours_and_leaves_nothing_behind(host):
    draw = Driven(host)
    draw.frame.wait_for_function(
        "() => getComputedStyle(document.querySelector('.snhkit-degrees')).backgroundColor"
        " === 'rgb(1, 2, 3)'"
    )
    assert draw.model("listening") > 0
    draw.model("stop")
    assert draw.model("listening") == 0


class Told:
    region = CITY

    def answer(self, queries):
        return np.arange(len(queries), dtype=float)


def test_a_comparison_added_to_a_map_switches_layer_and_legend(window, tmp_path):
    name = "<img src=x onerror='document.title = 1'>"
    boxes = RangeQueries(CITY, [3_000], [3_000], [4_000], [4_000])
    page = tmp_path / "map.html"
    fmap = compare_map({"Added to": Told()})
    compare_map({"First": Told(), name: Told()}, boxes, m=fmap)
    page.write_text(to_html(fmap), encoding="utf-8")
    window.goto(page.as_uri())
    title = window.locator(".snhkit-legend-title")
    choices = window.locator(".leaflet-control-layers-base input")
    assert choices.count() == 3
    assert title.inner_text() == "First"
    assert choices.nth(1).is_checked()
    for which, told in ((0, "Added to"), (2, name)):
        choices.nth(which).check()
        assert title.inner_text() == told
    assert window.locator("img.leaflet-image-layer").count() == 1
    window.locator("path.snhkit-box").hover()
    assert "First: 0\n" in window.locator(".leaflet-tooltip", has_text="Box 1").inner_text()
    assert window.title() != "1"
    # The picture lies where the outline is, to a pixel.
    outline = window.locator("path.snhkit-outline").bounding_box()
    picture = window.locator("img.leaflet-image-layer").bounding_box()
    for side in ("x", "y", "width", "height"):
        assert picture[side] == pytest.approx(outline[side], abs=2)
