import importlib.resources

import pytest
import traitlets

from snhkit.geometry import Region
from snhkit.viz.maps.maps import base_map
from snhkit.widgets.draw_map import DrawMap

CITY = Region.around(lat=37.76, lon=-122.43, side_m=12_000)
BOX = [37.75, -122.45, 37.76, -122.44]


def test_boxes_are_python_values_both_ways():
    draw = DrawMap(base_map(CITY), boxes=[BOX])
    heard = []
    draw.observe(lambda change: heard.append(change["new"]), "boxes")
    draw.set_state({"boxes": [BOX, BOX]})  # as from the browser
    assert draw.boxes == heard[-1] == [BOX, BOX]


@pytest.mark.parametrize(
    "box",
    [
        [37.76, -122.45, 37.75, -122.44],
        [37.75, -122.44, 37.76, -122.45],
        [37.75, float("nan"), 37.76, -122.44],
        [-91, 0, 0, 1],
        [0, 0, 1],
    ],
    ids=["south over north", "west over east", "not a number", "no latitude", "three"],
)
def test_what_is_not_a_box_is_refused(box):
    draw = DrawMap(base_map(CITY), boxes=[BOX])
    with pytest.raises(traitlets.TraitError):
        draw.boxes = [box]
    assert draw.boxes == [BOX]


def test_each_map_has_its_own_token_and_no_network():
    one, two = DrawMap(base_map(CITY)), DrawMap(base_map(CITY))
    assert one._token != two._token
    assert one._token in one._html
    assert "default-src 'none'" in one._html


def test_another_map_takes_its_place():
    draw = DrawMap(base_map(CITY), boxes=[BOX], layers=[{"image": "data:,"}])
    token, page = draw._token, draw._html
    draw.show(base_map(Region.around(lat=46.9, lon=-96.8, side_m=12_000)))
    assert (draw.boxes, draw.layers) == ([], [])
    assert draw._token != token
    assert draw._html != page


def test_tiles_lift_the_ban_on_the_network():
    tiled = base_map(CITY, tiles="https://tiles.example/{z}/{x}/{y}.png", attr="The Example")
    assert "default-src 'none'" not in DrawMap(tiled)._html


@pytest.mark.parametrize(
    "file", ["draw_map.js", "draw_bridge.js", "panes.js", "epsilon_slider.js", "explorer.css"]
)
def test_scripts_are_beside_the_code(file):
    assert (importlib.resources.files("snhkit.widgets") / file).is_file()


def test_what_the_browser_tells_is_not_sent_back_before_its_answer(monkeypatch):
    draw, sent = DrawMap(base_map(CITY)), []
    monkeypatch.setattr(draw.comm, "send", lambda data, **_: sent.append(data))
    draw.observe(lambda _: setattr(draw, "cards", [{"number": "Box 1"}]), "boxes")
    draw.set_state({"boxes": [BOX], "picked": 0})
    assert [list(message["state"]) for message in sent] == [["cards"]]
