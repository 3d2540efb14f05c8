"""Real files, which are not part of the project."""

from pathlib import Path

import numpy as np
import pytest

from snhkit.data import CITIES, ReadReport, read_points
from snhkit.geometry import Region

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
FRISCO = Region.around(37.7637, -122.4337, 13_200)
# Region, and rows as counted when the files were collected.
FILES = {
    "sf_cabs.npy": (FRISCO, 217_438),
    "san_francisco_gowalla_checkins.csv.gz": (FRISCO, 21_486),
    "san_francisco_foursquare_checkins.csv.gz": (FRISCO, 12_870),
    "sf_addresses.parquet": (FRISCO, 261_552),
    "sf_five_taxis_trace.csv.gz": (FRISCO, 110_714),
    "milwaukee_foursquare_checkins.csv.gz": (CITIES["milwaukee"].region, 13_901),
    "miami_foursquare_checkins.csv.gz": (CITIES["miami"].region, 5_720),
    "chicago_foursquare_checkins.csv.gz": (CITIES["chicago"].region, 26_146),
    "los_angeles_foursquare_checkins.csv.gz": (CITIES["los_angeles"].region, 18_542),
    "boston_foursquare_checkins.csv.gz": (CITIES["boston"].region, 10_932),
    "houston_foursquare_checkins.csv.gz": (CITIES["houston"].region, 5_767),
    "kansas_city_gowalla_checkins.csv.gz": (CITIES["kansas_city"].region, 2_141),
    "houston_incidents_2010.csv.gz": (CITIES["houston"].region, 86_309),
    "chicago_assaults.parquet": (CITIES["chicago"].region, 148_636),
    "boston_incidents.csv.gz": (CITIES["boston"].region, 20_253),
    "london_road_accidents.csv.gz": (Region.around(51.5, -0.12, 50_000), 28_879),
    "minneapolis_stops_2017.csv.gz": (Region.around(44.97, -93.27, 20_000), 51_920),
    "nyc_uber_2014_sample.parquet": (Region.around(40.75, -73.98, 20_000), 393_210),
    "nyc_cab_pickups.csv.gz": (Region.around(40.75, -73.98, 20_000), 100_863),
    "st_louis_incidents.csv.gz": (Region.around(38.63, -90.25, 40_000), 435_932),
}


def read(name):
    if not (FOLDER / name).exists():
        pytest.skip(f"{name} is not in shared/data beside this checkout")
    reports: list[ReadReport] = []
    points = read_points(FOLDER / name, FILES[name][0], report=reports.append)
    return points, reports[0]


@pytest.mark.parametrize("name", FILES)
def test_every_real_file_reads(name):
    points, report = read(name)
    assert report.rows == FILES[name][1]
    assert report.kept == len(points) == report.rows - report.outside - report.unusable
    assert report.kept > 0.15 * report.rows
    assert (points.user is not None) == ("checkins" in name or "taxis" in name)


def test_all_cabs_are_inside():
    points, report = read("sf_cabs.npy")
    assert len(points) == report.rows == 217_438
    lat, lon = points.region.to_latlon(points.xy)
    np.testing.assert_allclose(np.stack([lat, lon], 1), np.load(FOLDER / "sf_cabs.npy"), atol=1e-9)


def test_dirty_rows_are_found():
    _, report = read("nyc_cab_pickups.csv.gz")
    assert report.unusable_rows == (5576, 53863)
