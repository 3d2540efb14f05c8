"""The cells of a grid or a partition that cover polygons, and the share of each cell inside."""

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries
from snhkit.geometry.counts import overlapping_pairs
from snhkit.geometry.grid import numbered

MAX_NEAR = 128
"""How many other bounding boxes may overlap the bounding box of an edge or district, on average.

The borders of countries, coasts and districts have 2 to 10. Time and memory grow with the product
of this number and the number of edges, so without a limit they would grow with its square.
"""

_PIECES = 500_000  # pieces of borders that are compared with a grid at a time
_ROUNDING = 1e-9  # a share of a cell that is smaller, or differs from 1 by less, is rounded
_CORNERS = 256  # a shape with more corners is cut into parts before cells are compared with it


def cover(
    cells: Grid | Partition, polygons: NDArray[Any]
) -> tuple[NDArray[np.int64], RangeQueries, NDArray[np.float64]]:
    """Return ``LocalDistricts.cover`` for polygons in metres inside the region of the cells."""
    if isinstance(cells, Grid):
        found = _over_grid(cells, polygons)
    else:
        found = _over_partition(cells, polygons)
    rows = np.flatnonzero(found[3] > 0)
    rows = rows[np.argsort(found[0][rows], kind="stable")]
    owner, low, high, share = (part[rows] for part in found)
    return owner, RangeQueries(cells.region, *low.T, *(high - low).T), share


def _over_grid(grid: Grid, polygons: NDArray[Any]) -> tuple[NDArray, ...]:
    """Return owners, corners and shares of boxes of a grid's cells that cover polygons.

    A box is a cell that a border crosses, or a run of cells in one row with equal shares. By
    Green's theorem, a cell's covered area is a sum over the pieces of borders in its row.
    """
    owner, start, end = _edges(polygons)
    start, end = start / grid.cell_m, end / grid.cell_m
    lines = np.abs(np.floor(end) - np.floor(start)).sum(axis=1) + 2
    part = np.cumsum(lines) // _PIECES
    # Whole polygons at a time, in bounded memory.
    group = np.maximum.accumulate(part[np.searchsorted(owner, owner)])
    found = [np.zeros((0, 5))]
    for rows in np.split(np.arange(len(owner)), np.flatnonzero(np.diff(group)) + 1):
        if rows.size:
            found.append(_shares(owner[rows], start[rows], end[rows], grid.m))
    who, row, first, last, share = np.concatenate(found).T
    edges = grid.edges()
    row, first, last = (a.astype(np.int64) for a in (row, first, last))
    low = np.stack([edges[first], edges[row]], axis=1)
    return who.astype(np.int64), low, np.stack([edges[last], edges[row + 1]], axis=1), share


def _edges(polygons: NDArray[Any]) -> tuple[NDArray, NDArray, NDArray]:
    """Return the edges of polygons, with the inside to their left: owners (e,), two ends (e, 2)."""
    parts, polygon = shapely.get_parts(polygons, return_index=True)
    rings, part = shapely.get_rings(parts, return_index=True)
    outer = np.diff(part, prepend=-1) > 0  # the first ring of each part
    forward = shapely.is_ccw(rings) == outer
    xy, ring = shapely.get_coordinates(rings, return_index=True)
    edge = np.flatnonzero(ring[1:] == ring[:-1])
    edge = edge[xy[edge, 1] != xy[edge + 1, 1]]  # horizontal edges have nothing beside them
    start, end = xy[edge], xy[edge + 1]
    turned = ~forward[ring[edge], None]
    start, end = np.where(turned, end, start), np.where(turned, start, end)
    return polygon[part[ring[edge]]], start, end


def _shares(owner: NDArray, start: NDArray, end: NDArray, m: int) -> NDArray[Any]:
    """Return the boxes of ``_over_grid``: owner, row, columns, share, (p, 5); edges in cells."""
    edge, at = [np.arange(len(owner))] * 2, [np.zeros(len(owner)), np.ones(len(owner))]
    for axis in (0, 1):  # where edges cross lines of the grid, as shares of their lengths
        low, high = np.minimum(start, end)[:, axis], np.maximum(start, end)[:, axis]
        first = np.floor(low) + 1
        count = np.maximum(np.ceil(high) - first, 0).astype(np.int64)
        which, nth = numbered(count)
        line = first[which] + nth
        edge.append(which)
        at.append((line - start[which, axis]) / (end - start)[which, axis])
    edge, at = np.concatenate(edge), np.clip(np.concatenate(at), 0, 1)
    order = np.lexsort((at, edge))
    edge, at = edge[order], at[order]
    piece = np.flatnonzero(edge[1:] == edge[:-1])
    of, (s, t) = edge[piece], (at[piece], at[piece + 1])
    along = end[of] - start[of]
    middle = start[of] + along * ((s + t) / 2)[:, None]
    column, row = np.clip(np.floor(middle).astype(np.int64), 0, m - 1).T
    height = -along[:, 1] * (t - s)  # what the piece adds to all cells to its right in its row
    key, which = np.unique((owner[of] * m + row) * m + column, return_inverse=True)
    own = np.bincount(which, height * (column + 1 - middle[:, 0]), len(key))
    line, column = np.divmod(key, m)
    first = np.diff(line, prepend=-1) != 0
    running = np.cumsum(np.bincount(which, height, len(key)))
    total = np.diff(running, prepend=0.0)
    before = running - total
    before -= before[np.maximum.accumulate(np.where(first, np.arange(len(key)), 0))]
    share = np.clip(own + before, 0, 1)
    share[share > 1 - _ROUNDING] = 1
    share[share < _ROUNDING] = 0
    who, row = np.divmod(line, m)
    cells = np.stack([who, row, column, column + 1, share], axis=1)
    beyond = np.append(column[1:], 0)  # the next cell with a border in the row
    held = np.clip(before + total, 0, 1)
    held[held > 1 - _ROUNDING] = 1
    ends = np.append(first[1:], True)
    run = np.flatnonzero((held > _ROUNDING) & ~ends & (beyond > column + 1))
    runs = [who[run], row[run], column[run] + 1, beyond[run], held[run]]
    return np.concatenate([cells, np.stack(runs, axis=1)])


def _over_partition(cells: Partition, polygons: NDArray[Any]) -> tuple[NDArray, ...]:
    """Return owners, corners and shares of the cells of a partition that cover polygons."""
    boxes = shapely.box(cells.x0, cells.y0, cells.x1, cells.y1)
    owner, pieces = divided(polygons)
    shapely.prepare(pieces)
    piece, at = shapely.STRtree(boxes).query(pieces, predicate="intersects")
    share = shapely.covers(pieces[piece], boxes[at]).astype(float)
    edge = np.flatnonzero(share == 0)
    common = shapely.intersection(pieces[piece[edge]], boxes[at[edge]])
    share[edge] = shapely.area(common) / cells.areas[at[edge]]
    pair, which = np.unique(owner[piece] * len(cells) + at, return_inverse=True)
    share = np.minimum(np.bincount(which, share, len(pair)), 1)
    owner, at = np.divmod(pair, len(cells))
    low, high = (np.stack(sides, axis=1) for sides in ((cells.x0, cells.y0), (cells.x1, cells.y1)))
    return owner, low[at], high[at], share


def divided(
    polygons: NDArray[Any], corners: int = _CORNERS
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return owners and parts of polygons, halved until none has more than ``corners`` corners."""
    owner, pieces = np.arange(len(polygons)), polygons
    found = []
    for _ in range(40):
        large = shapely.get_num_coordinates(pieces) > corners
        found.append((owner[~large], pieces[~large]))
        if not large.any():
            break
        owner, pieces = owner[large], pieces[large]
        west, south, east, north = shapely.bounds(pieces).T
        wide = east - west >= north - south
        x, y = np.where(wide, (west + east) / 2, east), np.where(wide, north, (south + north) / 2)
        first = shapely.box(west, south, x, y)
        other = shapely.box(np.where(wide, x, west), np.where(wide, south, y), east, north)
        halves = np.concatenate([shapely.intersection(pieces, box) for box in (first, other)])
        owner, pieces = np.tile(owner, 2), areal(halves)
    else:
        found.append((owner, pieces))  # corners at one place cannot be cut apart
    owner, pieces = (np.concatenate(part) for part in zip(*found, strict=True))
    return owner, pieces


def areal(shapes: NDArray[Any]) -> NDArray[Any]:
    """Return shapes without the points and lines that cutting may leave."""
    found = shapes.copy()
    kinds = shapely.get_type_id(shapes)
    plain = np.isin(kinds, [shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON])
    for row in np.flatnonzero(~plain):
        parts = shapely.get_parts(shapely.get_parts(shapes[row]))
        found[row] = shapely.MultiPolygon(list(parts[shapely.area(parts) > 0]))
    return found


def refuse_tangled(shapes: NDArray[Any]) -> None:
    """Raise InputError if too many edges are near each other: checks would take minutes."""
    for row in np.flatnonzero(shapely.get_num_coordinates(shapes) > 2 * MAX_NEAR):
        xy, ring = shapely.get_coordinates(
            shapely.get_rings(shapely.get_parts(shapes[row])), return_index=True
        )
        ends = np.stack([xy[:-1], xy[1:]])[:, ring[1:] == ring[:-1]]
        pairs = overlapping_pairs(np.concatenate([ends.min(axis=0), ends.max(axis=0)], axis=1))
        if 2 * pairs > MAX_NEAR * (edges := ends.shape[1]):
            raise InputError(
                f"row {row} (counted from 0) has {edges:,} edges, each with {2 * pairs // edges:,} "
                f"others near it on average, more than {MAX_NEAR}: is it a star or a comb of thin "
                "spikes? Leave it out, cut it into several districts with frame.explode(), or "
                "remove spikes with frame.set_geometry(frame.simplify(TOLERANCE)), where TOLERANCE "
                "is longer than a spike."
            )
