"""Any rectangle as tiles that the networks can answer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import RangeQueries

__all__ = ["Tiles", "tile", "tiles_needed"]


@dataclass(frozen=True, eq=False)
class Tiles:
    """Equal parts of boxes.

    Parameters
    ----------
    box : ndarray of int, shape (t,)
        Which box each is part of.
    centre : ndarray, shape (t, 2)
        In metres.
    area : ndarray, shape (t,)
        In square metres.
    """

    box: NDArray[np.int64]
    centre: NDArray[np.float64]
    area: NDArray[np.float64]


def tiles_needed(queries: RangeQueries, low: float, high: float) -> NDArray[np.int64]:
    """Tiles along x and y for each box, shape (q, 2).

    A tile is to be a square as wide as the box's shorter side, but no smaller than ``low`` and no
    larger than ``high`` metres. A square from ``low`` to ``high`` is so its own only tile.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=1_000)
    >>> boxes = RangeQueries(city, [0, 0, 0], [0, 0, 0], [60, 300, 10], [60, 30, 200])
    >>> tiles_needed(boxes, 25, 100)
    array([[ 1,  1],
           [10,  1],
           [ 1,  8]])
    """
    sides = np.stack([queries.width, queries.height], axis=1)
    target = np.clip(sides.min(axis=1, keepdims=True), low, high)
    # A side that is a whole number of tiles must not get one more by a rounding error.
    return np.maximum(np.ceil(sides / target * (1 - 1e-9)), 1).astype(np.int64)


def tile(queries: RangeQueries, per_side: NDArray[np.int64]) -> Tiles:
    """Cut each box into ``per_side`` equal parts along x and y."""
    total = per_side.prod(axis=1)
    box = np.repeat(np.arange(len(queries)), total)
    place = np.arange(total.sum()) - np.repeat(np.cumsum(total) - total, total)
    index = np.stack(np.divmod(place, per_side[box, 1]), axis=1)
    size = np.stack([queries.width, queries.height], axis=1) / per_side
    corner = np.stack([queries.x, queries.y], axis=1)
    return Tiles(box, corner[box] + (index + 0.5) * size[box], size.prod(axis=1)[box])
