import importlib.util
import re

import numpy as np
import pytest

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import RangeQueries, Region
from snhkit.viz.maps import maps
from snhkit.viz.maps.maps import base_map, compare_map, embeds_everything, to_html

LOADS = re.compile(
    r"""(?:\bsrc|<link[^>]*\bhref)\s*=\s*["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import""",
    re.IGNORECASE,
)


@pytest.fixture
def without_offline(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        maps.importlib.util, "find_spec", lambda n: None if n == "offlinefolium" else found(n)
    )


def test_a_map_is_one_page_that_loads_nothing(city, two_releases):
    boxes = RangeQueries(city, [100], [100], [250], [250])
    for fmap in (base_map(city), compare_map(two_releases, boxes)):
        page = to_html(fmap)
        assert not LOADS.search(page)
        assert page.index("Content-Security-Policy") < page.index("<script")
        assert len(page) < 500_000


def test_the_page_is_the_same_when_it_is_asked_for_twice(city):
    fmap = base_map(city)
    assert to_html(fmap) == to_html(fmap)


def test_without_offline_assets_it_says_so(city, without_offline):
    fmap = base_map(city)
    assert type(fmap).__module__.startswith("folium.")
    assert not embeds_everything(fmap)
    assert LOADS.search(fmap.get_root().render())
    with pytest.raises(SnhkitError, match=r"pip install 'snhkit\[offline\]'"):
        to_html(fmap)


def test_tiles_are_asked_for_and_credited(city):
    assert "tileLayer" not in base_map(city).get_root().render().split("L.map(")[1]
    fmap = base_map(city, tiles="https://tiles.example/{z}/{x}/{y}.png", attr="The Example")
    assert not embeds_everything(fmap)
    assert "The Example" in fmap.get_root().render()
    with pytest.raises(SnhkitError, match="use no tiles"):
        to_html(fmap)
    with pytest.raises(ValueError, match="attribution"):
        base_map(city, tiles="https://tiles.example/{z}/{x}/{y}.png")


def test_a_layer_for_each_release_on_one_scale(two_releases):
    page = to_html(compare_map(two_releases))
    assert page.count("L.imageOverlay(") == 2
    for name in two_releases:
        assert f'"{name}"' in page
    tops = re.findall(r'"ticks": \[[^\]]*\]', page)
    assert len(tops) == 2
    assert len(set(tops)) == 1


def test_each_release_is_asked_about_the_cells_and_the_boxes_only(city, two_releases):
    boxes = RangeQueries(city, [100, 600], [100, 0], [200, 300], [200, 100])
    page = to_html(compare_map(two_releases, boxes, cell_m=100))
    assert two_releases["Exact"].asked == [100, 2]
    answer = two_releases["Twice"].answer(boxes)[1]
    assert f"Twice: {answer:,.1f}" in page
    assert "Box 2" in page


def test_names_are_text_not_html(two_releases):
    page = to_html(compare_map({"<img src=x onerror=alert(1)>": two_releases["Exact"]}))
    assert "<img src=x" not in page
    # In the script's text < is \u003c and & is \u0026; Leaflet then sets the name as HTML.
    control = page[page.rindex("base_layers :") :][:300]
    assert r"\u0026lt;img" in control
    assert r"\u003cimg" not in control


def test_releases_of_one_region_are_needed(told, city, two_releases):
    with pytest.raises(InputError, match="not of 0"):
        compare_map({})
    elsewhere = told(Region.around(lat=1, lon=1, side_m=1_000), np.zeros((2, 2)))
    with pytest.raises(InputError, match="one region, not of 2"):
        compare_map({**two_releases, "Elsewhere": elsewhere})
