"""Boxes in degrees and metres, and random squares around public points or cells of releases."""

import warnings
from collections.abc import Sequence

import numpy as np

from snhkit.errors import InputError, OutsideWarning
from snhkit.geometry import Grid, Points, RangeQueries, Region
from snhkit.widgets.session import Session

_WINDOW_M = 1_500  # side of the first view, in which streets and squares of 25 m can be seen
_BLOCK_M = 250  # approximate side of the blocks whose counts determine the first view
_PER_POINT = 50  # the most repetitions of a cell's centre among the possible centres of squares
_EVEN = 20  # possible centres per side of the view if no point lies in the view
_DIGITS = 7  # decimals of degrees, a precision of about 1 cm


def in_metres(region: Region, degrees: Sequence[Sequence[float]]) -> RangeQueries | None:
    """Convert boxes from degrees to metres in a region; None if there are none.

    Longitudes may lie beyond 180 degrees, since the map may have been scrolled around the world.
    """
    if not degrees:
        return None
    south, west, north, east = np.asarray(degrees, float).T
    turn = 360 * np.round((region.lon - west) / 360)
    return RangeQueries.from_degrees(region, south, west + turn, north, east + turn)


def in_degrees(boxes: RangeQueries) -> list[list[float]]:
    """Return [south, west, north, east] of each box, at the middles of its edges."""
    lat, lon = np.moveaxis(boxes.corners_in_degrees(), -1, 0)
    sides = (lat[:, :2], lon[:, [0, 3]], lat[:, 2:], lon[:, 1:3])
    return np.stack([side.mean(axis=1) for side in sides], axis=1).round(_DIGITS).tolist()


def inside(
    region: Region, degrees: Sequence[Sequence[float]]
) -> tuple[list[list[float]], list[int]]:
    """Return the boxes that overlap a region, and the numbers (from 1) of the other boxes."""
    reaches = _reach(region, degrees)
    kept = [list(box) for box, one in zip(degrees, reaches, strict=True) if one]
    return kept, [number for number, one in enumerate(reaches, 1) if not one]


def _reach(region: Region, degrees: Sequence[Sequence[float]]) -> list[bool]:
    """Return whether each box overlaps a region."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideWarning)  # the table marks such boxes
            boxes = in_metres(region, degrees)
    except InputError:  # some are too wide to be boxes of this region
        each = [_reach(region, [box]) for box in degrees] if len(degrees) > 1 else [[False]]
        return [one for (one,) in each]
    if boxes is None:
        return []
    low, high = np.minimum(boxes.x1, boxes.y1), np.maximum(boxes.x, boxes.y)
    return ((low > 0) & (high < region.side_m)).tolist()


def window(session: Session) -> RangeQueries:
    """Return the square of 1.5 km to show first, where the newest release counts most records."""
    region = session.region
    side = min(_WINDOW_M, region.side_m)
    blocks = Grid.of_width(region, min(_BLOCK_M, region.side_m))
    release = next(reversed(session.built.values())).release
    counts = release.answer(blocks.boxes()).reshape(blocks.m, blocks.m)
    across = max(1, min(blocks.m, round(side / blocks.cell_m)))
    sums = np.lib.stride_tricks.sliding_window_view(counts, (across, across)).sum(axis=(2, 3))
    i, j = np.unravel_index(int(sums.argmax()), sums.shape)
    middle = (np.array([i, j]) + across / 2) * blocks.cell_m
    x, y = np.clip(middle - side / 2, 0, region.side_m - side)
    return RangeQueries(region, [x], [y], [side], [side])


def squares(
    session: Session, count: int, sizes_m: tuple[float, float], within: RangeQueries | None = None
) -> list[list[float]]:
    """Return random squares as [south, west, north, east] in degrees, centred ``within`` a square.

    They lie around public points or, without these, around cells of the newest release in
    proportion to their counts. If there is none within the square, the centres are spread evenly.
    """
    points = session.public.xy if session.public is not None else _by_release(session)
    if within is not None:
        low = np.array([within.x[0], within.y[0]])
        near = points[((points > low) & (points < low + within.width[0])).all(axis=1)]
        even = np.stack(np.meshgrid(*[(np.arange(_EVEN) + 0.5) / _EVEN] * 2), -1).reshape(-1, 2)
        points = near if len(near) else low + within.width[0] * even
    if not len(points):
        raise InputError(
            "Random squares are placed around public points or cells of a release, and there are "
            "neither: build a method first."
        )
    return in_degrees(RangeQueries.sample(Points(session.region, points), count, sizes_m))


def _by_release(session: Session) -> np.ndarray:
    """Return the centre of each cell once per record that the newest release counts, up to 50."""
    if not session.built:
        return np.zeros((0, 2))
    surface = next(reversed(session.built.values())).surface
    times = np.clip(np.rint(surface.counts), 0, _PER_POINT).astype(int).ravel()
    return np.repeat(surface.grid.corners() + surface.grid.cell_m / 2, times, axis=0)
