"""Readers of records, the paper's twelve cities, and synthetic records in them."""

from snhkit.data.cities import CITIES, City, city
from snhkit.data.reading.readers import read_points
from snhkit.data.reading.report import ReadReport, ReadWarning
from snhkit.data.stay_points import stay_points
from snhkit.data.synthetic.synthetic import synthetic_points

__all__ = [
    "CITIES",
    "City",
    "ReadReport",
    "ReadWarning",
    "city",
    "read_points",
    "stay_points",
    "synthetic_points",
]
