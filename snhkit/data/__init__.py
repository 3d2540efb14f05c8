"""Readers of records, the twelve cities of the SNH paper, and synthetic records in these cities."""

from snhkit.data.cities import CITIES, City, city
from snhkit.data.counting.streamed import scan_points
from snhkit.data.reading.gowalla import gowalla
from snhkit.data.reading.readers import read_points
from snhkit.data.reading.report import ReadReport, ReadWarning
from snhkit.data.stay_points import stay_points
from snhkit.data.synthetic.synthetic import synthetic_points
from snhkit.data.synthetic.traces import synthetic_trace
from snhkit.data.trips import trip_points

__all__ = [
    "CITIES",
    "City",
    "ReadReport",
    "ReadWarning",
    "city",
    "gowalla",
    "read_points",
    "scan_points",
    "stay_points",
    "synthetic_points",
    "synthetic_trace",
    "trip_points",
]
