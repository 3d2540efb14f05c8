"""The places that people ask about: boxes, and districts such as wards or H3 cells."""

from snhkit.districts.boxes import read_boxes
from snhkit.districts.districts import Districts, DistrictsLike, LocalDistricts, read_districts
from snhkit.districts.named_cells import geohash, h3, quadkeys

__all__ = [
    "Districts",
    "DistrictsLike",
    "LocalDistricts",
    "geohash",
    "h3",
    "quadkeys",
    "read_boxes",
    "read_districts",
]
