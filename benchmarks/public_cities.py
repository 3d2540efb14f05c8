"""The public data sets to which tables of errors are fitted, and those that test the tables.

This module is imported by ``plan_table.py``, ``interval_table.py`` and others.
"""

from pathlib import Path
from typing import NamedTuple

import snhkit as snh
from snhkit.experiment import Place

SIDES_M = (13_200.0, 6_600.0)


class Source(NamedTuple):
    """A file of records, the centre of a region, a file of public points, and the kind of rows."""

    file: str
    lat: float
    lon: float
    public: str | None = None
    family: str = "incidents"


CALIBRATION = {
    "Boston, check-ins": Source(
        "boston_foursquare_checkins.csv.gz", 42.36, -71.06, "boston_incidents.csv.gz", "check-ins"
    ),
    "Boston, incidents": Source(
        "boston_incidents.csv.gz", 42.33, -71.08, "boston_foursquare_checkins.csv.gz"
    ),
    "Chicago, assaults": Source(
        "chicago_assaults.parquet", 41.88, -87.70, "chicago_foursquare_checkins.csv.gz"
    ),
    "Chicago, check-ins": Source(
        "chicago_foursquare_checkins.csv.gz", 41.89, -87.64, "chicago_assaults.parquet", "check-ins"
    ),
    "Houston, check-ins": Source(
        "houston_foursquare_checkins.csv.gz",
        29.75,
        -95.4,
        "houston_incidents_2010.csv.gz",
        "check-ins",
    ),
    "Houston, incidents": Source(
        "houston_incidents_2010.csv.gz", 29.747, -95.365, "houston_foursquare_checkins.csv.gz"
    ),
    "London, accidents": Source("london_road_accidents.csv.gz", 51.51, -0.12),
    "Los Angeles, check-ins": Source(
        "los_angeles_foursquare_checkins.csv.gz", 34.05, -118.30, family="check-ins"
    ),
    "Miami, check-ins": Source(
        "miami_foursquare_checkins.csv.gz", 25.78, -80.2, family="check-ins"
    ),
    "Minneapolis, stops": Source("minneapolis_stops_2017.csv.gz", 44.97, -93.27),
    "New York, cabs": Source(
        "nyc_cab_pickups.csv.gz", 40.75, -73.98, "nyc_uber_2014_sample.parquet", "trips"
    ),
    "San Francisco, check-ins": Source(
        "san_francisco_gowalla_checkins.csv.gz",
        37.7637,
        -122.4337,
        "san_francisco_foursquare_checkins.csv.gz",
        "check-ins",
    ),
    "St Louis, incidents": Source("st_louis_incidents.csv.gz", 38.63, -90.24),
}
"""Public data sets that the tables shipped with snhkit were measured on."""

HELD_OUT = {
    "San Francisco, taxis": Source(
        "sf_cabs.npy", 37.7637, -122.4337, "san_francisco_gowalla_checkins.csv.gz", "trips"
    ),
    "New York, Uber": Source(
        "nyc_uber_2014_sample.parquet", 40.75, -73.98, "nyc_cab_pickups.csv.gz", "trips"
    ),
    "Milwaukee, check-ins": Source(
        "milwaukee_foursquare_checkins.csv.gz", 43.038, -87.91, family="check-ins"
    ),
    "Kansas City, check-ins": Source(
        "kansas_city_gowalla_checkins.csv.gz", 39.09, -94.59, family="check-ins"
    ),
    "San Francisco, check-ins (Foursquare)": Source(
        "san_francisco_foursquare_checkins.csv.gz",
        37.7637,
        -122.4337,
        "san_francisco_gowalla_checkins.csv.gz",
        "check-ins",
    ),
}
"""Data sets that no interval of snhkit was measured on, and no network trained on."""

OTHERS = {
    "San Francisco, five taxis": Source(
        "sf_five_taxis_trace.csv.gz", 37.7637, -122.4337, family="traces"
    ),
    "San Francisco, addresses": Source(
        "sf_addresses.parquet", 37.7637, -122.4337, family="addresses"
    ),
}
"""Data sets of further kinds: all positions of five taxis, and every address of a city."""

TRAINED_ON = ("Chicago", "London", "Minneapolis", "St Louis", "Houston", "Miami")
"""Cities that the denoised grid's network was trained on, so its errors there do not test it."""


def place(source: Source, folder: Path, side_m: float = SIDES_M[0]) -> Place:
    """Return the records and public points of a source in a square around its centre."""
    region = snh.Region.around(source.lat, source.lon, side_m)
    public = None
    if source.public is not None:
        public = snh.read_points(folder / source.public, region, report=_quiet)
    return Place(snh.read_points(folder / source.file, region, report=_quiet), public)


def places(sources: dict[str, Source], folder: Path, sides_m=SIDES_M[:1]) -> dict[str, Place]:
    """Return the places of several sources, by name and side in metres."""
    return {
        f"{name}, {side:,.0f} m": place(source, folder, side)
        for name, source in sources.items()
        for side in sides_m
    }


def _quiet(report: object) -> None:
    """Ignore the report on rows that were left out."""
