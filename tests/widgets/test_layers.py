"""Districts on the explorer's maps and in its table."""

import re

import geopandas as gpd
import ipywidgets
import numpy as np
import pytest
import shapely

from snhkit.data import city, synthetic_points
from snhkit.errors import InputError, OutsideWarning
from snhkit.geometry import RangeQueries
from snhkit.markup import number
from snhkit.widgets.opening import explore

FARGO = city("fargo").region
SIDE = FARGO.side_m


def frame(*metres: tuple[float, float, float, float]) -> gpd.GeoDataFrame:
    """Rectangles in Fargo's metres, in degrees."""
    shapes = gpd.GeoSeries([shapely.box(*m) for m in metres], crs=FARGO.crs)
    names = [f"No. {k}" for k in range(len(metres))]
    return gpd.GeoDataFrame(
        {"ward": names}, geometry=shapes.translate(-SIDE / 2, -SIDE / 2), crs=FARGO.crs
    ).to_crs(4326)


WARDS = frame((0, 0, SIDE / 2, SIDE), (SIDE / 2, 0, SIDE * 1.2, SIDE), (2 * SIDE, 0, 3 * SIDE, 9))


@pytest.fixture
def explorer():
    return explore(city="fargo", n=5_000, methods=["ug"], districts=WARDS, label="ward")


def lines(layer) -> list[list[str]]:
    return [one["properties"]["lines"] for one in layer["districts"]["features"]]


def beside(explorer, name: str) -> None:
    explorer._layers.choices[1].value = name


def test_districts_are_outlined_before_anything_is_built(explorer):
    (layer,) = explorer.map.layers
    assert lines(layer) == [["No. 0"], ["No. 1"]]
    told = [one["properties"] for one in layer["districts"]["features"]]
    assert [(one["colour"], one["inside"]) for one in told] == [(None, True)] * 2
    assert not {"legend", "image"} & set(layer)
    explorer.build()
    assert "districts" not in explorer.map.layers[0]
    explorer._layers.choices[0].value = "No picture"
    assert lines(explorer.map.layers[0]) == [["No. 0"], ["No. 1"]]


def test_maps_by_district_share_one_scale(explorer):
    explorer._controls.teaching.value = False
    explorer.build()
    explorer._controls.epsilon.value = 1.0
    explorer.build()
    assert explorer._layers.names[0] == "UG, ε = 1"  # the map shows the newest
    beside(explorer, "UG, ε = 1")
    assert "image" in explorer.map.layers[0]
    explorer._layers.by_district.value = True
    one, other = explorer.map.layers
    assert "image" not in one
    assert [one["legend"]["title"], other["legend"]["title"]] == ["UG, ε = 1", "UG, ε = 1"]
    assert "colours" not in one["legend"]
    top = float(other["legend"]["ticks"][2].removeprefix("≥ "))
    density = [float(at[3].split()[0].replace(",", "")) for at in lines(one) + lines(other)]
    assert max(density) <= top < 2 * max(density)
    counts = [release.answer(WARDS.iloc[:2]) for release in explorer.releases.values()][-1]
    assert [at[0] for at in lines(other)] == ["No. 0", "No. 1"]
    assert [at[1].split()[0] for at in lines(other)] == [number(count) for count in counts]
    explorer._layers.cells.value = True
    assert explorer.map.layers[0]["cells"]["corners"]


def test_the_table_tells_each_districts_count_and_the_truth_in_teaching_mode_only(explorer):
    assert "No release yet" in explorer._said["districts"].value
    explorer._controls.teaching.value = False
    explorer.build()
    records = synthetic_points("fargo", 5_000)
    west = int((records.xy[:, 0] < SIDE / 2).sum())
    for title in ("No. 0", "No. 1 (partly outside the region)", "No. 2 (outside the region)"):
        assert f">{title}<" in explorer._said["districts"].value
    assert "truth" not in explorer._said["districts"].value
    explorer._controls.teaching.value = True
    truths = re.findall(r'<td class="snhkit-truth">(.*?)</td>', explorer._said["districts"].value)
    assert truths == [number(west), number(5_000 - west), "0"]
    explorer._layers.by_district.value = True
    beside(explorer, "Truth")
    assert lines(explorer.map.layers[1])[0][1] == f"{number(west)} records"


def test_counts_are_the_releases_own(explorer):
    explorer.build()
    answers = explorer._session.district_answers["UG, ε = 0.2"]
    half = RangeQueries(FARGO, [0], [0], [SIDE / 2], [SIDE])
    release = explorer.releases["UG, ε = 0.2"]
    assert answers["count"][0] == pytest.approx(release.answer(half)[0], rel=1e-3)
    with pytest.warns(OutsideWarning):
        assert np.array_equal(answers[["low", "high"]], release.interval(WARDS))


def test_another_city_has_none_and_no_tick_without_districts(explorer):
    assert explorer._layers.by_district in explorer._layers.children
    explorer._layers.by_district.value = True
    explorer._controls.city.value = "tulsa"
    explorer.build()
    assert explorer._layers.by_district not in explorer._layers.children
    assert "image" in explorer.map.layers[0]
    assert explorer._said["districts"].layout.display == "none"


def test_somebodys_districts_are_counted_and_their_truth_refused():
    points = synthetic_points("fargo", 1_000)
    mine = explore(points, budget=1, methods=["ug"], districts=WARDS.geometry)
    mine.build()
    assert ">0</th>" in mine._said["districts"].value
    assert isinstance(mine._layers.by_district, ipywidgets.Checkbox)
    with pytest.raises(InputError, match="invented records only"):
        _ = mine._session.true_districts


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"districts": WARDS.iloc[2:]}, "none of the districts lies in the region"),
        ({"districts": WARDS, "label": "name"}, "no column 'name'; it has ward, geometry"),
        ({"districts": "wards.geojson"}, "wards.geojson: there is no such file"),
        ({"districts": 7}, "must be a GeoDataFrame.* not a int"),
        ({"label": "ward"}, "give districts="),
    ],
)
def test_wrong_districts_are_refused_in_words(wrong, says):
    with pytest.raises(InputError, match=says):
        explore(city="fargo", n=1_000, methods=["ug"], **wrong)


def test_districts_of_private_records_are_proposed_to_be_counted_directly():
    points = synthetic_points("fargo", 5_000)
    mine = explore(points, budget=1, districts=WARDS.iloc[:2], label="ward", methods=["ug"])
    assert mine._controls.chosen == ["ug"]
    own = explore(points, budget=1, districts=WARDS.iloc[:2], label="ward")
    assert own._controls.chosen == ["districts"]
    own.build()
    (name,) = own.releases
    assert (name, own.releases[name].method) == ("Tessellation, ε = 0.2", "Tessellation")
    assert len(own._session.district_answers[name]) == 2
    with pytest.raises(InputError, match="built already"):
        own.build()
    invented = explore(city="fargo", n=1_000, methods=["ug"])
    assert invented._controls.ticks["districts"].layout.display == "none"
