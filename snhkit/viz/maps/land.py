"""Coastlines, borders and place names around a region, from data that the package contains.

The data are in the public domain. County borders around the paper's twelve cities are the US Census
Bureau's cartographic boundaries of 2016 (1:500,000). Countries are from Natural Earth 4.1
(1:50,000,000), 7,300 places of the whole world from Natural Earth (1:10,000,000). ``docs/land.py``
makes the data files. Outside the twelve cities, coastlines may be wrong by kilometres.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import shapely

from snhkit.data import CITIES
from snhkit.geometry import Region

if TYPE_CHECKING:
    import geopandas as gpd

_BORDERS = Path(__file__).parent / "borders"
_MOST_NAMES = 30  # of places, the largest of those around the region
_MARGIN = 2.5  # the margin around the region, in sides of the region
_SOURCE = {
    "counties": "Borders: US Census 2016; names: Natural Earth",
    "countries": "Natural Earth",
}


@lru_cache(maxsize=16)
def land(region: Region | None) -> dict[str, Any]:
    """Return the coastlines, borders and names around a region, or of the earth, as JSON values.

    ``shapes`` is GeoJSON in degrees, ``names`` a list of [latitude, longitude, name, kind] with the
    kinds "place" (a town) and "area" (a county or country), ``source`` an attribution.
    """
    if region is None:
        places = _places(shapely.box(-180, -90, 180, 90), None)
        names = places[len(CITIES) :] + places[: len(CITIES)]  # the largest first
        return _told(_frame("countries").geometry.to_numpy(), names, "countries")
    south, west, north, east = region.bounds
    high, wide = _MARGIN * (north - south), _MARGIN * (east - west)
    shown = shapely.box(west - wide, south - high, east + wide, north + high)
    for name in ("counties", "countries"):
        frame = _frame(name)
        if frame.intersects(shapely.box(west, south, east, north)).any():
            break
    frame = frame[frame.intersects(shown)]
    shapes = shapely.intersection(frame.geometry.to_numpy(), shown)
    places = _places(shown, _MOST_NAMES)
    taken = {place[2] for place in places}
    centres = shapely.point_on_surface(shapes)
    areas = [
        [round(float(at.y), 4), round(float(at.x), 4), str(called), "area"]
        for at, called in zip(centres, frame["name"], strict=True)
        if not at.is_empty and called not in taken
    ]
    return _told(shapes, [*places, *areas], name)


def _told(shapes: Any, names: list[list[Any]], frame: str) -> dict[str, Any]:
    geometries = json.loads(shapely.to_geojson(shapely.geometrycollections(shapes)))
    return {"shapes": geometries, "names": names, "source": _SOURCE[frame]}


@lru_cache(maxsize=2)
def _frame(name: str) -> "gpd.GeoDataFrame":
    import geopandas as gpd

    return gpd.read_parquet(_BORDERS / f"{name}.parquet")


def _places(shown: shapely.Polygon, most: int | None) -> list[list[Any]]:
    west, south, east, north = shown.bounds
    places = pd.read_csv(_BORDERS / "places.csv", keep_default_na=False)  # the largest first
    near = places[places["lat"].between(south, north) & places["lon"].between(west, east)]
    return [
        [float(lat), float(lon), str(name), "place"]
        for name, lat, lon in near.iloc[:most].itertuples(index=False)
    ]
