"""Folium maps of releases and districts, and the surfaces (grids of counts) that they draw."""

from snhkit.viz.maps.districts import district_map
from snhkit.viz.maps.maps import base_map, compare_map, folium_of
from snhkit.viz.maps.surface import ColourScale, Surface

__all__ = ["ColourScale", "Surface", "base_map", "compare_map", "district_map", "folium_of"]
