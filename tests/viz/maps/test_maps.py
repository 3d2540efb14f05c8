import importlib.util
import re

import folium
import numpy as np
import pytest

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import RangeQueries, Region
from snhkit.markup import number
from snhkit.privacy import PrivacyUnit
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


def test_the_earth_has_no_outline_and_leaves_the_tiles_of_one_place_out():
    page = to_html(base_map(None, tiles="one_city.mbtiles"))
    assert not LOADS.search(page)
    assert "Nairobi" in page
    assert "snhkit-outline" not in page.partition("snhkit.land(map_")[2]


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
    plain = base_map(city).get_root().render().split("L.map(")[1]
    assert "tileLayer" not in plain
    assert "snhkit.land(map_" in plain
    fmap = base_map(city, tiles="https://tiles.example/{z}/{x}/{y}.png", attr="The Example")
    assert not embeds_everything(fmap)
    tiled = fmap.get_root().render()
    assert "The Example" in tiled
    assert "snhkit.land(map_" not in tiled
    with pytest.raises(SnhkitError, match="make the map without tiles"):
        to_html(fmap)
    with pytest.raises(ValueError, match="attribution"):
        base_map(city, tiles="https://tiles.example/{z}/{x}/{y}.png")


def test_a_layer_for_each_release_on_one_scale_with_its_own_price(two_releases):
    for name, release in two_releases.items():
        release.epsilon, release.price, release.unit = 1, f"that of {name}", PrivacyUnit("record")
    page = to_html(compare_map(two_releases))
    assert re.findall('"note": "that of (.*?), hides', page) == list(two_releases)
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
    assert f"Twice: {number(answer)}" in page
    assert "Box 2" in page


def test_names_are_text_not_html(two_releases):
    page = to_html(compare_map({"<img src=x onerror=alert(1)>": two_releases["Exact"]}))
    assert "<img src=x" not in page
    # In the script's text < is \u003c and & is \u0026; Leaflet then sets the name as HTML.
    control = page[page.rindex("base_layers :") :][:300]
    assert r"\u0026lt;img" in control
    assert r"\u003cimg" not in control


def test_releases_of_one_region_are_needed(told, city, two_releases):
    with pytest.raises(InputError, match="not 0 releases"):
        compare_map({})
    elsewhere = told(Region.around(lat=1, lon=1, side_m=1_000), np.zeros((2, 2)))
    with pytest.raises(InputError, match="one region, not 3 releases of 2 regions"):
        compare_map({**two_releases, "Elsewhere": elsewhere})


def test_layers_are_added_to_an_existing_map_and_it_is_returned(two_releases, city):
    fmap = base_map(city)
    one, other = ({name: release} for name, release in two_releases.items())
    assert compare_map(one, m=fmap) is fmap
    assert compare_map(other, m=fmap) is fmap
    assert base_map(city, m=fmap) is fmap
    page = to_html(fmap)
    assert page.count("L.imageOverlay(") == 2
    assert page.count("const snhkit = ") == page.count("snhkit.graticule(map_") == 1
    assert page.count("snhkit.fit(map_") == 1  # the first view of base_map stays
    assert page.count("L.polyline(\n") == 1  # the outline of the one region
    assert page.count("L.control.layers(") == 1
    assert page.index("L.control.layers(") > page.rindex("L.imageOverlay(")


def test_a_map_that_someone_else_made_keeps_its_view_and_its_layers(two_releases, city):
    theirs = folium.Map([1, 2], zoom_start=3, tiles=None)
    folium.Marker([1, 2]).add_to(theirs)
    assert compare_map(two_releases, RangeQueries(city, [1], [1], [9], [9]), m=theirs) is theirs
    page = theirs.get_root().render()
    assert "snhkit.fit(map_" not in page
    assert "L.marker(" in page
    assert page.count("L.imageOverlay(") == 2
    assert page.count(".snhkitLegend = snhkit.legend(map_") == 1


class Mine(folium.Map):
    """A map with a class of its own."""


def test_what_cannot_be_added_to_is_refused_in_words(two_releases, city):
    assert base_map(city, m=Mine(tiles=None))
    with pytest.raises(InputError, match=r"m must be a folium\.Map, not an object of type str"):
        compare_map(two_releases, m="map")
    with pytest.raises(InputError, match="leave them out if you give m"):
        compare_map(two_releases, m=folium.Map(tiles=None), tiles="OpenStreetMap")
    with pytest.raises(InputError, match="already has a layer called 'Exact'"):
        compare_map(two_releases, m=compare_map(two_releases))


@pytest.mark.parametrize("wrong", ["tile", "cell", "map", "box"])
def test_a_misspelt_keyword_is_refused(two_releases, city, wrong):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{wrong}'"):
        compare_map(two_releases, **{wrong: None})
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{wrong}'"):
        base_map(city, **{wrong: None})
