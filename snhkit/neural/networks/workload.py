"""Where queries are expected, and how many of them a training square overlaps."""

import numpy as np
from jaxtyping import Float, Int

from snhkit.geometry import Grid, Points, RangeQueries

__all__ = ["drawn_points", "overlaps"]

_DRAWN = 50_000


def drawn_points(grid: Grid, counts: Float[np.ndarray, "m m"], seed: int) -> Points | None:
    """Return points drawn in proportion to the positive counts of cells.

    A cell of count c gets c / sum(counts) times 50,000 points, rounded up or down at random. The
    points are spread evenly over the cell. The result is None if no count is positive.

    Parameters
    ----------
    grid : Grid
        The grid of m by m cells.
    counts : ndarray, shape (m, m)
        Estimated counts, which are public; negative counts are taken as 0.
    seed : int
        Public seed of the draw.
    """
    upto = np.maximum(counts, 0).cumsum()
    if not upto[-1]:
        return None
    rng = np.random.default_rng(seed)
    ticket = (np.arange(_DRAWN) + rng.uniform()) / _DRAWN * upto[-1]
    cell = np.minimum(np.searchsorted(upto, ticket, side="right"), len(upto) - 1)
    xy = grid.corners()[cell] + rng.uniform(0, grid.cell_m, (_DRAWN, 2))
    # Rounding must not move a point to the far edge, which is outside the region.
    return Points(grid.region, np.minimum(xy, np.nextafter(grid.region.side_m, 0)))


def overlaps(
    workload: RangeQueries, at: Float[np.ndarray, " g"], size: float
) -> Int[np.ndarray, "g g"]:
    """Return how many expected queries each of g by g squares overlaps: the paper's w (Sec. 4.2).

    Parameters
    ----------
    workload : RangeQueries
        The expected queries, the paper's Q_W.
    at : ndarray, shape (g,)
        The lower edges of the squares along either axis, ascending, in metres.
    size : float
        The side of the squares in metres.

    Returns
    -------
    ndarray of int, shape (g, g)
        Entry (i, j) is the number of boxes that overlap the square whose lower-left corner is
        (at[i], at[j]).

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> q_w = RangeQueries(city, [0, 20], [0, 0], [10, 10], [10, 10])
    >>> overlaps(q_w, np.array([5.0, 10.0]), 11.0)
    array([[1, 0],
           [1, 0]])
    """
    # Each expected query adds 1 to a rectangle of entries of the result. The changes are written at
    # the rectangle's four corners, and cumulative sums along both axes turn them into entries.
    steps = np.zeros((len(at) + 1,) * 2, np.int64)
    west, east = _reach(at, workload.x, workload.width, size)
    south, north = _reach(at, workload.y, workload.height, size)
    for i, j, sign in ((west, south, 1), (east, south, -1), (west, north, -1), (east, north, 1)):
        np.add.at(steps, (i, j), sign)
    return steps[:-1, :-1].cumsum(axis=0).cumsum(axis=1)


def _reach(
    at: Float[np.ndarray, " g"],
    low: Float[np.ndarray, " q"],
    width: Float[np.ndarray, " q"],
    size: float,
) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " q"]]:
    """Return the first and last (exclusive) index of the squares that overlap each interval.

    Along one axis, the squares begin at ``at`` and have side ``size``. The intervals begin at
    ``low`` and have length ``width``.
    """
    return np.searchsorted(at, low - size, side="right"), np.searchsorted(at, low + width)
