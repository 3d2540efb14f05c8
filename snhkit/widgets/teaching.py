"""Errors of releases of invented records, for teaching mode only."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.builders import AdaptiveGrid
from snhkit.data import synthetic_points
from snhkit.dataset import PrivateDataset
from snhkit.experiment.evaluation import adds_up, anywhere, bands_in
from snhkit.geometry import Grid, Points, RangeQueries, Region
from snhkit.metrics import relative_errors
from snhkit.privacy import PrivacyUnit
from snhkit.viz.maps.surface import Surface, display_cell_m
from snhkit.widgets.session import Built, Session
from snhkit.widgets.strata import side_by_side

_A_SIDE, _MIXED, _DOTS = 250, 1_000, 250  # boxes of one size, of a range of sizes, and in a scatter
_SIDES = 8  # sides of boxes on the curve of errors against box size
_PREVIEWED = (0.1, 1)  # values of epsilon
_MOST_INVENTED = 1_000_000
_LARGER = 16  # that curve ends at this multiple of the largest chosen side


def preview(square: Region, n: int, unit: PrivacyUnit) -> str:
    """Return HTML with maps of n invented records in a square, and of their releases.

    Nothing is read: the streets of an invented city are stretched to the square.
    """
    city = synthetic_points("san_francisco", min(n, _MOST_INVENTED))
    xy = city.xy * (square.side_m / city.region.side_m)
    points = Points(square, np.minimum(xy, np.nextafter(square.side_m, 0)), city.user)
    data = PrivateDataset(
        points, sum(_PREVIEWED), unit=unit.kind, max_per_user=unit.max_per_user, n_public=True
    )
    grid = Grid.of_width(square, display_cell_m(square))
    shown = {"Invented": Surface(grid, grid.count(points).counts)}
    for epsilon in _PREVIEWED:
        shown[f"ε = {epsilon:g}"] = Surface.drawn(data.release(AdaptiveGrid(), epsilon=epsilon))
    title = f"{len(points):,} invented records in your square, and their releases by AG"
    return side_by_side(shown, title)


def by_epsilon(session: Session, sizes_m: tuple[float, float]) -> pd.DataFrame:
    """Return each release's epsilon and mean relative error of squares of ``sizes_m``."""
    rows = [
        (one.kind, float(one.release.epsilon), _errors(session, one, (sizes_m,), _MIXED)[0])
        for one in session.built.values()
    ]
    return pd.DataFrame(rows, columns=["method", "epsilon", "rel_error"])


def by_size(session: Session, sizes_m: tuple[float, float]) -> pd.DataFrame:
    """Return the mean relative error of each release at 8 box sizes, up to 16 times the largest."""
    low, high = _range(session, sizes_m)
    sides = [float(f"{side:.1e}") for side in np.geomspace(low, high, _SIDES)]
    each = tuple((side, side) for side in sides)
    rows = [
        (name, side, error)
        for name, one in session.built.items()
        for side, error in zip(sides, _errors(session, one, each, _A_SIDE), strict=True)
    ]
    return pd.DataFrame(rows, columns=["method", "side_m", "rel_error"])


def scatter(session: Session, sizes_m: tuple[float, float]) -> pd.DataFrame:
    """Return a table of the counts of squares around records: by each release, and the truth."""
    boxes, truth = _boxes(session, (_range(session, sizes_m),), _DOTS)
    return pd.concat(
        [
            pd.DataFrame({"method": name, "count": release.answer(boxes), "truth": truth})
            for name, release in session.releases.items()
        ]
    )


def measured(
    session: Session, sizes_m: tuple[float, float]
) -> tuple[list[tuple[float, float]], dict[str, "Measured"]]:
    """Return bands (ranges of box sizes in metres), and the errors of each release by its name.

    The first band is ``sizes_m``; the default bands with larger boxes that fit follow.
    """
    bands = bands_of(session, sizes_m)
    return bands, {
        name: _measured(session, one, tuple(bands)) for name, one in session.built.items()
    }


def prepare(session: Session, sizes_m: tuple[float, float]) -> None:
    """Draw the boxes of ``measured`` and count them in advance, so that ``measured`` is quick."""
    for band in bands_of(session, sizes_m):
        _boxes(session, (band,), _MIXED)


def bands_of(session: Session, sizes_m: tuple[float, float]) -> list[tuple[float, float]]:
    """Return this band, and after it the default bands with larger boxes that fit."""
    return [sizes_m, *(band for band in bands_in(session.region) if band[1] > sizes_m[1])]


class Measured(NamedTuple):
    """The measured errors of a release."""

    relative: tuple[float, ...]  # the mean relative error around records, by band
    anywhere: float  # the mean error in records of the first band's sizes, anywhere
    adds_up: float  # the sum of tiles that cover the region, divided by n


@lru_cache(maxsize=128)
def _measured(session: Session, one: Built, bands: tuple[tuple[float, float], ...]) -> Measured:
    relative = tuple(_errors(session, one, (band,), _MIXED)[0] for band in bands)
    boxes = anywhere(_boxes(session, (bands[0],), _MIXED)[0])
    off = np.abs(one.release.answer(boxes) - session.truth(boxes)).mean()
    return Measured(relative, float(off), adds_up(one.release, len(session.invented_records)))


def _range(session: Session, sizes_m: tuple[float, float]) -> tuple[float, float]:
    high = min(_LARGER * sizes_m[1], session.region.side_m / 2)
    return min(sizes_m[0], high), high


@lru_cache(maxsize=256)
def _errors(
    session: Session, one: Built, bands_m: tuple[tuple[float, float], ...], count: int
) -> tuple[float, ...]:
    """Return a release's mean relative error of ``count`` boxes, for each range of sizes."""
    boxes, truth = _boxes(session, bands_m, count)
    errors = relative_errors(one.release.answer(boxes), truth, len(session.invented_records))
    return tuple(errors.reshape(-1, count).mean(axis=1).tolist())


@lru_cache(maxsize=16)
def _boxes(
    session: Session, bands_m: tuple[tuple[float, float], ...], count: int
) -> tuple[RangeQueries, NDArray[np.int64]]:
    """Return ``count`` squares around records for each range of sizes, with their true counts."""
    records = session.invented_records
    each = [RangeQueries.sample(records, count, sizes_m) for sizes_m in bands_m]
    parts = ("x", "y", "width", "height")
    sides = (np.concatenate([getattr(boxes, part) for boxes in each]) for part in parts)
    boxes = RangeQueries(session.region, *sides)
    return boxes, session.truth(boxes)
