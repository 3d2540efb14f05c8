"""Boxes that cover polygons, so that counts of boxes can be added up to counts of polygons."""

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from snhkit.geometry import Grid, Partition, RangeQueries

__all__ = ["cover"]


def cover(
    cells: Grid | Partition, polygons: NDArray[Any]
) -> tuple[NDArray[np.int64], RangeQueries, NDArray[np.float64]]:
    """Return boxes that cover polygons, and the share of each box that lies in its polygon.

    A box on the edge of a polygon is one cell. A box inside a polygon consists of one or more whole
    cells.

    Parameters
    ----------
    cells : Grid or Partition
        The cells of a model.
    polygons : ndarray of shapely geometries, shape (q,)
        Polygons in metres from the region's lower-left corner.

    Returns
    -------
    owner : ndarray of int, shape (p,)
        The index of the polygon that each box belongs to.
    boxes : RangeQueries
        p boxes.
    share : ndarray, shape (p,)
        The share of each box's area that lies in its polygon, from 0 (the box only touches the
        polygon) to 1.

    Examples
    --------
    >>> from snhkit.geometry import Region
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
    """Return square blocks of a grid's cells that cover polygons.

    Blocks on the edge of a polygon are quartered, down to single cells. Each tuple of the result is
    for blocks of one size. Its arrays hold, for each block, the index of the polygon, the
    lower-left corner, the upper-right corner, and whether the block lies inside the polygon.
    """
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
