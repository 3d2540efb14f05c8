import re

import geopandas as gpd
import numpy as np
import pytest
import shapely

import snhkit as snh
from snhkit.errors import InputError
from snhkit.markup import count_texts, number
from snhkit.release.estimates import Estimates
from snhkit.viz.maps import ColourScale
from snhkit.viz.maps.districts import district_map, district_overlay
from snhkit.viz.maps.maps import compare_map, to_html


@pytest.fixture
def release(city):
    records = snh.Points(city, np.random.default_rng(1).uniform(0, 1_000, (500, 2)))
    data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    return data.release(snh.Identity(cell_m=100), epsilon=1)


@pytest.fixture
def frame(city):
    """A half, a quarter that hangs half out of the region, and one elsewhere; in UTM."""
    metres = [(0, 0, 500, 1_000), (500, 0, 1_500, 500), (3_000, 0, 3_100, 100)]
    shapes = gpd.GeoSeries([shapely.box(*m) for m in metres], crs=city.crs)
    names = ["<script>west</script>", "edge", "far"]
    return gpd.GeoDataFrame({"name": names}, geometry=shapes.translate(-500, -500)).to_crs(32610)


def lines(overlay) -> list[list[str]]:
    return [f["properties"]["lines"] for f in overlay["districts"]["features"]]


def test_a_district_tells_its_count_its_error_and_its_density(city, release, frame):
    overlay = district_overlay(release, frame, "Identity", label="name")
    west, edge = lines(overlay)  # the far one is too far to be seen
    boxes = snh.RangeQueries(city, [0, 500], [0, 0], [500, 500], [1_000, 500])
    count = release.answer(boxes)
    low, high = release.interval(frame.iloc[:2])[0]
    assert west[0] == "<script>west</script>"
    told, ends = count_texts(count[0], low, high)
    assert west[1:3] == [f"{told} records", f"90 % interval: {ends}"]
    assert west[3] == f"{number(count[0] / 0.5)} per km²"
    assert len(west) == 4
    assert edge[4] == "50% of the area lies in the region and is counted"
    assert edge[3] == f"{number(count[1] / 0.25)} per km²"


def test_colours_are_densities_on_the_legends_scale(release, frame):
    overlay = district_overlay(release, frame, "Identity")
    legend = overlay["legend"]
    assert (legend["title"], legend["unit"]) == ("Identity", "records per km²")
    top = float(legend["ticks"][2].removeprefix("≥ "))
    scale = ColourScale(top)
    for feature in overlay["districts"]["features"]:
        density = float(feature["properties"]["lines"][3].split()[0].replace(",", ""))
        assert density <= top < 3 * density * 2
        wanted = bytes(scale.palette[scale.levels(np.array([density]))][0])
        got = bytes.fromhex(feature["properties"]["colour"][1:])
        assert np.abs(np.frombuffer(got, "u1").astype(int) - list(wanted)).max() <= 2


def test_what_lies_outside_is_drawn_empty(city, release):
    shapes = gpd.GeoSeries([shapely.box(530, 0, 560, 30)], crs=city.crs)  # 30 m east of it
    (feature,) = district_overlay(release, shapes, "x")["districts"]["features"]
    assert feature["properties"]["colour"] is None
    assert feature["properties"]["lines"] == ["0", "outside the region: not counted"]


def test_only_what_is_counted_is_coloured(city, release, frame):
    shown = gpd.GeoDataFrame.from_features(
        district_overlay(release, frame, "x")["districts"], crs=4326
    ).to_crs(city.crs)
    assert shown.area.to_numpy() == pytest.approx([500_000, 250_000], rel=1e-4)


def test_an_interval_that_is_not_known_is_left_out(release, frame, monkeypatch):
    monkeypatch.setattr(Estimates, "bounds", lambda self, _: np.full((len(self), 2), np.nan))
    assert [len(told) for told in lines(district_overlay(release, frame, "x"))] == [3, 4]


def test_the_map_is_one_page_that_loads_nothing(release, frame):
    page = to_html(district_map(release, frame, label="name"))
    assert not re.search(r"""(\bsrc|<link[^>]*\bhref)\s*=\s*["']?(https?:)?//""", page)
    assert "<script>west" not in page
    assert '"records per km' in page


def test_the_column_of_labels(release, frame):
    numbered = frame.rename(columns={"name": 0})
    assert lines(district_overlay(release, numbered, "x", label=0))[1][0] == "edge"
    twice = frame.assign(a=1, b=2).set_axis(["name", "geometry", "b", "b"], axis=1)
    assert lines(district_overlay(release, twice, "x", label="name"))[1][0] == "edge"
    with pytest.raises(InputError, match="2 columns are called 'b'; it has name, geometry, b"):
        district_map(release, twice, label="b")
    with pytest.raises(InputError, match="no column 'name'; it has none"):
        district_map(release, frame.geometry, label="name")


def test_districts_are_added_to_an_existing_map(release, frame):
    fmap = compare_map({"Identity": release})
    assert district_map(release, frame, label="name", m=fmap) is fmap
    page = to_html(fmap)
    assert page.count("const snhkit = ") == 1
    assert page.count("snhkit.districts(map_") == 1
    assert page.count("L.imageOverlay(") == 1


@pytest.mark.parametrize("wrong", ["tile", "lable", "map"])
def test_a_misspelt_keyword_is_refused(release, frame, wrong):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{wrong}'"):
        district_map(release, frame, **{wrong: None})
