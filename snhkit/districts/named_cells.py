"""Cells that have names everywhere: H3 cells, geohashes and map tiles, as districts."""

import importlib
from typing import Any

import numpy as np
import shapely

from snhkit.districts.districts import Districts
from snhkit.districts.files import MAX_DISTRICTS
from snhkit.errors import InputError
from snhkit.geometry import Region


def h3(region: Region, resolution: int) -> Districts:
    """Return the H3 cells of a resolution (0 to 15) that touch a region; needs the extra ``cells``.

    The labels, and the column ``h3``, are the ids of the cells.
    """
    lib = _library("h3")
    if (about := region.side_m**2 / lib.average_hexagon_area(resolution, "m^2")) > MAX_DISTRICTS:
        raise InputError(f"about {about:,.0f} cells; at most {MAX_DISTRICTS:,}: use wider ones.")
    lat, lon = region.ring()
    ring = lib.LatLngPoly(list(zip(lat.tolist(), lon.tolist(), strict=True)))
    ids = sorted(lib.h3shape_to_cells_experimental(ring, resolution, contain="overlap"))
    rings = [np.array(lib.cell_to_boundary(one)).T for one in ids]
    shapes = [shapely.Polygon(np.stack([region.near_centre(x), y], axis=1)) for y, x in rings]
    return _named("h3", ids, shapes)


def geohash(region: Region, precision: int) -> Districts:
    """Return the geohash cells with ids of a length that touch a region; see ``h3``."""
    lib = _library("pygeohash")
    south, west, north, east = region.bounds
    box = lib.BoundingBox(south, west, north, east)
    width, height = 360 / 2 ** ((5 * precision + 1) // 2), 180 / 2 ** (5 * precision // 2)
    if (about := (east - west) / width * (north - south) / height) > MAX_DISTRICTS:
        raise InputError(f"about {about:,.0f} cells; at most {MAX_DISTRICTS:,}: use wider ones.")
    ids = sorted(lib.geohashes_in_box(box, precision))
    found = [lib.get_bounding_box(one) for one in ids]
    boxes = [shapely.box(b.min_lon, b.min_lat, b.max_lon, b.max_lat) for b in found]
    return _named("geohash", ids, boxes)


def quadkeys(region: Region, zoom: int) -> Districts:
    """Return the map tiles of a zoom level that touch a region, by their quadkeys; see ``h3``."""
    lib = _library("mercantile")
    south, west, north, east = region.bounds
    if (about := ((east - west) / 360 * 2**zoom) ** 2) > MAX_DISTRICTS:
        raise InputError(f"about {about:,.0f} tiles; at most {MAX_DISTRICTS:,}: use wider ones.")
    tiles = list(lib.tiles(west, south, east, north, zooms=zoom))
    return _named("quadkey", list(map(lib.quadkey, tiles)), [
        shapely.box(*lib.bounds(tile)) for tile in tiles
    ])  # fmt: skip


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name} is not installed: run pip install 'snhkit[cells]'.") from None


def _named(column: str, ids: list[str], shapes: list[Any]) -> Districts:
    import geopandas as gpd

    return Districts.of(gpd.GeoDataFrame({column: ids}, geometry=shapes, crs=4326), column)
