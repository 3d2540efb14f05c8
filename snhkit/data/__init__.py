"""Where records come from: files, frames, and twelve synthetic cities."""

from snhkit.data.cities import CITIES, City, city
from snhkit.data.synthetic import synthetic_points

__all__ = ["CITIES", "City", "city", "synthetic_points"]
