"""Where queries are expected: counting and drawing training boxes by the workload."""

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import RangeQueries
from snhkit.geometry.counts import count_in_boxes

__all__ = ["average_overlaps", "overlaps", "popular_corners"]


def overlaps(
    workload: RangeQueries, corners: NDArray[np.float64], size: float
) -> NDArray[np.int64]:
    """How many workload boxes each square overlaps: the paper's w (Sec. 4.2).

    Parameters
    ----------
    workload : RangeQueries
        Q_W.
    corners : ndarray, shape (t, 2)
        Lower-left corners of squares, in metres.
    size : float
        Their side in metres.

    Returns
    -------
    ndarray of int, shape (t,)

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> q_w = RangeQueries(city, [0, 20], [0, 0], [10, 10], [10, 10])
    >>> overlaps(q_w, np.array([[5.0, 5.0], [10.0, 0.0], [10.0, 5.0]]), 11.0)
    array([1, 1, 1])

    Notes
    -----
    A workload box misses a square if it lies wholly left, right, below or above. It cannot be
    both left and right, nor below and above, so what misses is the four counts less the four
    corners, each a count of points in a quadrant.
    """
    x0, y0 = corners.T
    x1, y1 = x0 + size, y0 + size
    west, south = workload.x, workload.y
    east, north = west + workload.width, south + workload.height
    far = np.full(len(corners), np.inf)

    def quadrant(px: NDArray, py: NDArray, bounds: tuple[NDArray, ...]) -> NDArray[np.int64]:
        return count_in_boxes(np.stack([px, py], axis=1), *bounds)

    # "at most" as "below the next number": quadrants are half-open
    left, below = np.nextafter(x0, np.inf), np.nextafter(y0, np.inf)
    missed = (
        np.searchsorted(np.sort(east), left)
        + (len(workload) - np.searchsorted(np.sort(west), x1))
        + np.searchsorted(np.sort(north), below)
        + (len(workload) - np.searchsorted(np.sort(south), y1))
        - quadrant(east, north, (-far, -far, left, below))
        - quadrant(east, south, (-far, y1, left, far))
        - quadrant(west, north, (x1, -far, far, below))
        - quadrant(west, south, (x1, y1, far, far))
    )
    return len(workload) - missed


def popular_corners(
    workload: RangeQueries, size: float, count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw corners of squares inside the region with a density in proportion to ``overlaps``.

    Parameters
    ----------
    workload : RangeQueries
        Q_W, at least one box.
    size : float
        Side of the squares in metres.
    count : int
        How many.
    rng : Generator
        Public randomness.

    Returns
    -------
    ndarray, shape (count, 2)
    """
    low, high = _reach(workload, size)
    area = (high - low).prod(axis=1)
    box = rng.choice(len(workload), size=count, p=area / area.sum())
    return low[box] + rng.uniform(size=(count, 2)) * (high - low)[box]


def average_overlaps(workload: RangeQueries, size: float) -> float:
    """``overlaps`` of a square of ``size`` metres at a uniform place inside the region."""
    low, high = _reach(workload, size)
    return float((high - low).prod(axis=1).sum() / (workload.region.side_m - size) ** 2)


def _reach(workload: RangeQueries, size: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest corner, shape (q, 2), of the squares in the region that touch a box."""
    low = np.stack([workload.x, workload.y], axis=1) - size
    high = np.stack([workload.x + workload.width, workload.y + workload.height], axis=1)
    inside = workload.region.side_m - size
    return np.clip(low, 0, inside), np.clip(high, 0, inside)
