"""Public data sets of nine cities, none of which the denoised grid's network was trained on."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import snhkit as snh
from snhkit.builders import Builder
from snhkit.builders.cell_width import default_cell_width

SIDE_M = 13_200.0


@dataclass(frozen=True)
class Place:
    """A file, the centre of a region, and the largest number of records to use."""

    file: str
    lat: float
    lon: float
    most: int | None = None


PLACES = {
    "San Francisco, taxis": Place("sf_cabs.npy", 37.7637, -122.4337),
    "San Francisco, taxis, tenth": Place("sf_cabs.npy", 37.7637, -122.4337, 21_744),
    "New York, Uber": Place("nyc_uber_2014_sample.parquet", 40.75, -73.98),
    "New York, cabs": Place("nyc_cab_pickups.csv.gz", 40.75, -73.98),
    "Boston, incidents": Place("boston_incidents.csv.gz", 42.33, -71.08),
    "Boston, check-ins": Place("boston_foursquare_checkins.csv.gz", 42.36, -71.06),
    "Los Angeles, check-ins": Place("los_angeles_foursquare_checkins.csv.gz", 34.05, -118.30),
    "Milwaukee, check-ins": Place("milwaukee_foursquare_checkins.csv.gz", 43.038, -87.91),
    "Kansas City, check-ins": Place("kansas_city_gowalla_checkins.csv.gz", 39.09, -94.58),
}

OTHER_CITIES = tuple(PLACES)[2:8]
"""The places outside San Francisco with more than 2,000 records."""


def records_of(place: Place, folder: Path) -> snh.Points:
    """Return the records of a place; a random sample if the place limits their number."""
    region = snh.Region.around(place.lat, place.lon, SIDE_M)
    points = snh.read_points(folder / place.file, region)
    if place.most is None:
        return points
    chosen = np.random.default_rng(0).permutation(len(points))[: place.most]
    return snh.Points(region, points.xy[chosen])


def sweep(n: int, epsilon: float) -> list[Builder]:
    """Return Identity builders with cell widths around the default width."""
    width = default_cell_width(n, epsilon)
    return [snh.Identity(width * factor) for factor in (0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.2, 1.4, 2)]
