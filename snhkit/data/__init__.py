"""Where records come from: files, frames, and twelve synthetic cities."""

from snhkit.data.cities import CITIES, City, city
from snhkit.data.readers import read_points
from snhkit.data.report import ReadReport, ReadWarning
from snhkit.data.synthetic import synthetic_points

__all__ = [
    "CITIES",
    "City",
    "ReadReport",
    "ReadWarning",
    "city",
    "read_points",
    "synthetic_points",
]
