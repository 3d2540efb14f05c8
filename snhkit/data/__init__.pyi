from .cities import CITIES as CITIES
from .cities import City as City
from .cities import city as city
from .records import read_points as read_points
from .records import scan_points as scan_points
from .sources.report import ReadReport as ReadReport
from .sources.report import ReadWarning as ReadWarning
from .synthetic import synthetic_points as synthetic_points

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
