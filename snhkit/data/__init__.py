"""Readers of records, the twelve cities of the SNH paper, and synthetic records in these cities."""

from snhkit.data.cities import CITIES, City, city
from snhkit.data.records import read_points, scan_points
from snhkit.data.sources.report import ReadReport, ReadWarning
from snhkit.data.synthetic.synthetic import synthetic_points

__all__ = [
    "CITIES",
    "City",
    "ReadReport",
    "ReadWarning",
    "city",
    "read_points",
    "scan_points",
    "synthetic_points",
]
