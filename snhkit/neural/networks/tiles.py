"""Division of boxes into whole blocks, which have stored sums, and tiles for the networks."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from snhkit.geometry import RangeQueries, Region
from snhkit.geometry.grid import numbered


@dataclass(frozen=True, eq=False)
class Tiles:
    """The t equal rectangles into which boxes are divided, in metres; ``box`` is each one's box."""

    box: Int[np.ndarray, " t"]
    centre: Float[np.ndarray, "t 2"]
    area: Float[np.ndarray, " t"]
    size: Float[np.ndarray, "t 2"]

    def boxes(self, region: Region) -> RangeQueries:
        """Return the tiles as boxes."""
        return RangeQueries(region, *(self.centre - self.size / 2).T, *self.size.T)


def core_and_frame(
    queries: RangeQueries, edges: Float[np.ndarray, " e"]
) -> tuple[RangeQueries, RangeQueries, Int[np.ndarray, " f"]]:
    """Return the rectangle of whole blocks inside each box, and the rest of each box.

    Parameters
    ----------
    queries : RangeQueries
        Boxes inside the region.
    edges : ndarray, shape (b + 1,)
        The edges of the blocks along either axis, ascending from 0 to the region's side, in metres.

    Returns
    -------
    core : RangeQueries
        For each of the q boxes, the rectangle of the whole blocks inside the box; a rectangle of
        area 0 if no whole block fits.
    frame : RangeQueries
        The rest of each box, as up to four rectangles of positive area: f rectangles in all. If no
        whole block fits, the rest is the whole box.
    owner : ndarray of int, shape (f,)
        The index of the box that each rectangle of ``frame`` is part of.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=400)
    >>> boxes = RangeQueries(city, [50, 0], [0, 0], [150, 60], [100, 60])
    >>> core, frame, owner = core_and_frame(boxes, np.array([0.0, 100.0, 200.0, 300.0, 400.0]))
    >>> core.x, core.width, frame.width, owner
    (array([100.,   0.]), array([100.,   0.]), array([50., 60.]), array([0, 1]))
    """
    x0, x1 = queries.x, queries.x + queries.width
    y0, y1 = queries.y, queries.y + queries.height
    west, east = _inner(edges, x0, x1)
    south, north = _inner(edges, y0, y1)
    fits = (east > west) & (north > south)
    west, east = np.where(fits, west, x0), np.where(fits, east, x0)
    south, north = np.where(fits, south, y0), np.where(fits, north, y0)
    # The left part, the right part and, between these, the lower and the upper part. Without a
    # core, the right part is the whole box.
    sides = [
        (x0, west, y0, y1),
        (east, x1, y0, y1),
        (west, east, y0, south),
        (west, east, north, y1),
    ]
    low_x, high_x, low_y, high_y = (np.concatenate(bounds) for bounds in zip(*sides, strict=True))
    keep = np.flatnonzero((high_x > low_x) & (high_y > low_y))
    rest = RangeQueries(queries.region, low_x, low_y, high_x - low_x, high_y - low_y)
    core = RangeQueries(queries.region, west, south, east - west, north - south)
    return core, rest[keep], keep % max(len(queries), 1)


def _inner(
    edges: Float[np.ndarray, " e"], low: Float[np.ndarray, " q"], high: Float[np.ndarray, " q"]
) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
    """Return the first edge at or above ``low``, and the last edge at or below ``high``."""
    first = np.minimum(np.searchsorted(edges, low), len(edges) - 1)
    last = np.maximum(np.searchsorted(edges, high, side="right") - 1, 0)
    return edges[first], edges[last]


def tiles_needed(queries: RangeQueries, low: float, high: float) -> Int[np.ndarray, "q 2"]:
    """Return tiles along x and y of q boxes: about square, sides in [low, high] metres."""
    sides = np.stack([queries.width, queries.height], axis=1)
    target = np.clip(sides.min(axis=1, keepdims=True), low, high)
    # If whole tiles fit a side exactly, a rounding error must not add another tile.
    return np.maximum(np.ceil(sides / target * (1 - 1e-9)), 1).astype(np.int64)


def tile(queries: RangeQueries, per_side: Int[np.ndarray, "q 2"]) -> Tiles:
    """Return the tiles of boxes, each divided into ``per_side`` equal parts along x and y."""
    box, place = numbered(per_side.prod(axis=1))
    index = np.stack(np.divmod(place, per_side[box, 1]), axis=1)
    size = np.stack([queries.width, queries.height], axis=1) / per_side
    corner = np.stack([queries.x, queries.y], axis=1)
    return Tiles(box, corner[box] + (index + 0.5) * size[box], size.prod(axis=1)[box], size[box])
