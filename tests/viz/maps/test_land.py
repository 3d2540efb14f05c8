import json

import pytest
import shapely

from snhkit.geometry import Region
from snhkit.viz.maps.land import land


def names(lat: float, lon: float, side_m: float = 13_000) -> list[str]:
    told = land(Region.around(lat=lat, lon=lon, side_m=side_m))["names"]
    return [name for _, _, name, kind in told if kind == "place"]


@pytest.mark.parametrize(
    ("lat", "lon", "city"),
    [(-1.28, 36.82, "Nairobi"), (47.07, 15.44, "Graz"), (-41.29, 174.78, "Wellington")],
)
def test_a_city_anywhere_on_earth_has_its_name(lat, lon, city):
    assert city in names(lat, lon)


def test_the_whole_earth_has_its_countries_and_all_places():
    told = land(None)
    assert {"Nairobi", "Graz", "Suva"} < {name for _, _, name, _ in told["names"]}
    assert len(told["shapes"]["geometries"]) > 200
    assert told["names"][0][2] == "Tokyo"


@pytest.mark.parametrize(("lat", "lon", "country"), [(66, -18, "Iceland"), (66.5, 14, "Norway")])
def test_no_land_of_the_date_line_is_on_the_other_side_of_the_earth(lat, lon, country):
    told = land(Region.around(lat=lat, lon=lon, side_m=13_000))["names"]
    areas = {name for _, _, name, kind in told if kind == "area"}
    assert country in areas
    assert "Russia" not in areas


@pytest.mark.parametrize(("lat", "lon"), [(67, 120), (67, 170), (66, -172)])
def test_siberia_is_land_up_to_the_date_line_and_beyond(lat, lon):
    told = land(Region.around(lat=lat, lon=lon, side_m=13_000))
    shapes = shapely.from_geojson(json.dumps(told["shapes"]))
    assert any(shape.contains(shapely.Point(lon, lat)) for shape in shapely.get_parts(shapes))


def test_a_wide_region_names_its_largest_cities_only():
    told = names(35.7, 139.7, 200_000)
    assert told[0] == "Tokyo"
    assert len(told) <= 30


def test_an_area_has_its_name_unless_a_city_has_the_same():
    told = land(Region.around(lat=49.6, lon=6.1, side_m=30_000))["names"]
    kinds = {kind: {name for _, _, name, of in told if of == kind} for kind in ("place", "area")}
    assert "Luxembourg" in kinds["place"]
    assert "France" in kinds["area"]
    assert not kinds["place"] & kinds["area"]
