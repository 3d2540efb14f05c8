"""Write the borders and names of the base map: python docs/land.py COUNTIES COUNTRIES CITIES.

COUNTIES is cb_2016_us_county_500k.shp of plotly-geo 1.0.0 (US Census Bureau, cartographic
boundaries of 2016, 1:500,000), COUNTRIES is countries-50m.json of the npm package world-atlas 2.0.2
(Natural Earth 4.1, 1:50,000,000), and CITIES is ne_10m_populated_places_simple.json of Natural
Earth (1:10,000,000), which github.com/martynafford/natural-earth-geojson holds as 7z. All are in
the public domain. `pip download --no-deps plotly-geo==1.0.0` and `npm pack world-atlas@2.0.2` fetch
the others.
"""

import argparse
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely
from shapely.affinity import translate

from snhkit.data import CITIES

OUT = Path(__file__).parents[1] / "snhkit" / "viz" / "maps" / "borders"
AROUND = 0.45  # degrees around a city's centre in which counties are kept
FINE = 0.0002  # degrees, about 20 m
COARSE = 0.05  # degrees to which borders of countries are simplified


def counties(path: Path) -> gpd.GeoDataFrame:
    """Return the counties near the twelve cities, clipped."""
    frame = gpd.read_file(path).set_crs(4326, allow_override=True)
    near = shapely.union_all(
        [shapely.box(c.lon - AROUND, c.lat - AROUND, c.lon + AROUND, c.lat + AROUND)
         for c in CITIES.values()]
    )  # fmt: skip
    kept = frame.loc[frame.intersects(near)]
    clipped = shapely.intersection(shapely.make_valid(list(kept.geometry)), near)
    shapes = shapely.set_precision(shapely.simplify(clipped, FINE), 1e-5)
    return gpd.GeoDataFrame({"name": kept["NAME"].to_numpy()}, geometry=shapes, crs=4326)


def countries(path: Path) -> gpd.GeoDataFrame:
    """Return the countries of the world, simplified."""
    frame = gpd.read_file(path, layer="countries").set_crs(4326, allow_override=True)
    shapes = shapely.set_precision(
        shapely.simplify([untorn(shape) for shape in frame.geometry], COARSE), 1e-2
    )
    return gpd.GeoDataFrame({"name": frame["name"].to_numpy()}, geometry=shapes, crs=4326)


def untorn(shape: shapely.Geometry) -> shapely.Geometry:
    """Return a valid shape, in parts that end at 180 degrees if its rings jump there."""
    parts = shapely.get_parts(shape)
    jumps = [np.abs(np.diff(shapely.get_coordinates(part.exterior)[:, 0])) > 180 for part in parts]
    torn = [np.sum(each) == 2 for each in jumps]  # once to and fro; Antarctica goes around
    if not any(torn):
        return shapely.make_valid(shape)
    kept: list[shapely.Geometry] = []
    for part in parts[torn]:
        on = shapely.transform(
            part, lambda xy: np.stack([np.unwrap(xy[:, 0], period=360), xy[:, 1]], axis=1)
        )
        for turn in (-360, 0, 360):
            there = shapely.box(-180 - turn, -90, 180 - turn, 90)
            inside = shapely.intersection(shapely.make_valid(on), there)
            kept.append(translate(inside, turn))
    kept.append(shapely.make_valid(shapely.MultiPolygon(list(parts[~np.array(torn)]))))
    return shapely.union_all(kept)


def places(path: Path) -> pd.DataFrame:
    """Return names and positions of cities, the largest first after the twelve of the paper."""
    frame = gpd.read_file(path).sort_values("pop_max", ascending=False, kind="stable")
    mine = {c.name: (c.name, c.lat, c.lon) for c in CITIES.values()}
    theirs = [
        (name, point.y, point.x)
        for name, point in zip(frame["name"], frame.geometry, strict=True)
        if name not in mine or abs(mine[name][1] - point.y) > AROUND
    ]
    return pd.DataFrame([*mine.values(), *theirs], columns=["name", "lat", "lon"]).round(3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the borders and names of the base map.")
    for name in ("counties", "countries", "cities"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    for name, make in (("counties", counties), ("countries", countries)):
        frame = make(getattr(given, name))
        frame = frame[~frame.geometry.is_empty]
        frame.to_parquet(OUT / f"{name}.parquet", compression="zstd")
    places(given.cities).to_csv(OUT / "places.csv", index=False)
