"""Readers of records, the twelve cities of the SNH paper, and synthetic records in these cities."""

from snhkit.data.cities import CITIES, City, city
from snhkit.data.counting.streamed import scan_points
from snhkit.data.reading.readers import read_points
from snhkit.data.reading.report import ReadReport, ReadWarning
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
