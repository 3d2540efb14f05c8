"""Polygons as boxes that a release can answer, and the share of each that counts."""

from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries, Region

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ["cover", "polygons_in"]

_LONGEST_EDGE_M = 1_000  # of which the middle moves by centimetres under a projection


def polygons_in(region: Region, frame: "gpd.GeoDataFrame | gpd.GeoSeries") -> NDArray[Any]:
    """The shapes of a frame in the region's metres, shape (q,), cut to about the region.

    Raises
    ------
    InputError
        If it is no frame, the frame has no CRS, or naming the first row that is no valid polygon.
    """
    import geopandas as gpd

    if not isinstance(frame, (gpd.GeoDataFrame, gpd.GeoSeries)):
        raise InputError(
            "answer: give RangeQueries or a GeoDataFrame of polygons, "
            f"not a {type(frame).__name__}."
        )
    if frame.crs is None:
        raise InputError("answer: the frame has no CRS; set it, as in frame.set_crs(4326).")
    shapes = frame.geometry.to_numpy()
    _refuse_other_shapes(shapes)
    lat, lon = region.ring()
    ring = gpd.GeoSeries.from_xy(lon, lat, crs=4326).to_crs(frame.crs)
    west, south, east, north = ring.total_bounds
    if not np.isfinite(ring.total_bounds).all():
        raise InputError(f"answer: the frame's CRS cannot show the region; use another: {region}.")
    pad_x, pad_y = (east - west) / 10, (north - south) / 10
    nearby = shapely.box(west - pad_x, south - pad_y, east + pad_x, north + pad_y)
    longest = _LONGEST_EDGE_M / region.side_m * max(east - west, north - south)
    near = gpd.GeoSeries(shapely.intersection(shapes, nearby), crs=frame.crs)
    flat = near.segmentize(longest).to_crs(region.crs)
    return flat.translate(region.side_m / 2, region.side_m / 2).to_numpy()


def cover(
    cells: Grid | Partition, polygons: NDArray[Any]
) -> tuple[NDArray[np.int64], RangeQueries, NDArray[np.float64]]:
    """Boxes of whole cells inside polygons, and cells on their edges.

    Parameters
    ----------
    cells : Grid or Partition
        What a model is made of.
    polygons : array of shapely geometries, shape (q,)
        In the region's metres.

    Returns
    -------
    owner : ndarray of int, shape (p,)
        The polygon that each box is for.
    boxes : RangeQueries
        p boxes.
    share : ndarray, shape (p,)
        Of the box's area that lies in the polygon.

    Examples
    --------
    >>> city = Region.around(lat=0, lon=0, side_m=4)
    >>> owner, boxes, share = cover(Grid(city, 2), np.array([shapely.box(0, 0, 4, 3)]))
    >>> boxes.height, share
    (array([2., 2., 2., 2.]), array([1. , 0.5, 1. , 0.5]))
    """
    shapely.prepare(polygons)
    parts = _of_grid(cells, polygons) if isinstance(cells, Grid) else _of_any(cells, polygons)
    owner, low, high, whole = (np.concatenate(part) for part in zip(*parts, strict=True))
    share = np.ones(len(owner))
    edge = np.flatnonzero(~whole)
    pieces = shapely.box(*low[edge].T, *high[edge].T)
    share[edge] = shapely.area(shapely.intersection(polygons[owner[edge]], pieces))
    share[edge] /= (high - low)[edge].prod(axis=1)
    return owner, RangeQueries(cells.region, *low.T, *(high - low).T), share


def _of_any(cells: Partition, polygons: NDArray[Any]) -> list[tuple[NDArray, ...]]:
    boxes = shapely.box(cells.x0, cells.y0, cells.x1, cells.y1)
    owner, at = shapely.STRtree(boxes).query(polygons, predicate="intersects")
    low, high = (np.stack(edges, axis=1) for edges in ((cells.x0, cells.y0), (cells.x1, cells.y1)))
    return [(owner, low[at], high[at], shapely.covers(polygons[owner], boxes[at]))]


def _of_grid(grid: Grid, polygons: NDArray[Any]) -> list[tuple[NDArray, ...]]:
    """Square blocks of cells that lie inside; those on an edge are quartered, down to cells."""
    edges, found = grid.edges(), []
    side = 1 << (grid.m - 1).bit_length()
    owner = np.flatnonzero(~shapely.is_empty(polygons))
    block = np.zeros((len(owner), 2), np.int64)
    while True:
        low, high = edges[block], edges[np.minimum(block + side, grid.m)]
        boxes = shapely.box(*low.T, *high.T)
        whole = shapely.covers(polygons[owner], boxes)
        on_edge = ~whole & shapely.intersects(polygons[owner], boxes)
        take = whole if side > 1 else whole | on_edge
        found.append((owner[take], low[take], high[take], whole[take]))
        if side == 1:
            return found
        side //= 2
        quarters = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]) * side
        block = (block[on_edge, None] + quarters).reshape(-1, 2)
        owner = np.repeat(owner[on_edge], 4)
        inside = (block < grid.m).all(axis=1)
        block, owner = block[inside], owner[inside]


def _refuse_other_shapes(shapes: NDArray[Any]) -> None:
    kinds = shapely.get_type_id(shapes)
    area = np.isin(kinds, [shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON])
    for row in np.flatnonzero(~area)[:1]:
        name = "missing" if kinds[row] < 0 else f"a {shapely.GeometryType(kinds[row]).name.title()}"
        raise InputError(f"answer: shape {row} is {name}, must be a polygon (shapes count from 0).")
    for row in np.flatnonzero(~shapely.is_valid(shapes))[:1]:
        raise InputError(
            f"answer: shape {row} is not a valid polygon ({shapely.is_valid_reason(shapes[row])}); "
            "frame.make_valid() mends it."
        )
