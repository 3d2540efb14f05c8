"""Errors of releases of invented records, for teaching mode only."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.experiment.evaluation import adds_up, anywhere, bands_in
from snhkit.geometry import RangeQueries
from snhkit.metrics import relative_errors
from snhkit.widgets.session import Built, Session

__all__ = ["by_epsilon", "by_size", "measured", "prepare", "scatter"]

_A_SIDE, _MIXED, _DOTS = 250, 1_000, 250
_SIDES = 8
_LARGER = 16  # the curve of sizes ends at this multiple of the largest box


def by_epsilon(session: Session, sizes_m: tuple[float, float]) -> pd.DataFrame:
    """Return each release's mean relative error, for boxes of given sizes around records."""
    rows = [
        (one.title, float(one.release.epsilon), _errors(session, one, (sizes_m,), _MIXED)[0])
        for one in session.built.values()
    ]
    return pd.DataFrame(rows, columns=["method", "epsilon", "rel_error"])


def by_size(session: Session, sizes_m: tuple[float, float]) -> pd.DataFrame:
    """Return each release's mean relative error, for each of several box sizes."""
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
    """Return released and true counts of boxes around records, for each release."""
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
    """Return the bands of box sizes, and each release's errors in these bands by its name.

    Parameters
    ----------
    session : Session
        A session of invented records.
    sizes_m : (float, float)
        Smallest and largest side of the chosen boxes, in metres; they are the first band.
    """
    bands = _bands(session, sizes_m)
    return bands, {
        name: _measured(session, one, tuple(bands)) for name, one in session.built.items()
    }


def prepare(session: Session, sizes_m: tuple[float, float]) -> None:
    """Do the work of ``measured`` that is the same for all releases, so that a page need not wait.

    Parameters
    ----------
    session, sizes_m
        The same parameters as those of ``measured``.
    """
    for band in _bands(session, sizes_m):
        _boxes(session, (band,), _MIXED)


def _bands(session: Session, sizes_m: tuple[float, float]) -> list[tuple[float, float]]:
    rest = [band for band in bands_in(session.region) if band[1] > sizes_m[1]]
    return [sizes_m, *(band for band in rest if band != sizes_m)]


class Measured(NamedTuple):
    """Mean errors of a release, relative by band and in records anywhere, and its sum over n."""

    relative: tuple[float, ...]
    anywhere: float
    adds_up: float


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
    """Return the mean relative error for each range of sizes."""
    boxes, truth = _boxes(session, bands_m, count)
    errors = relative_errors(one.release.answer(boxes), truth, len(session.invented_records))
    return tuple(errors.reshape(-1, count).mean(axis=1).tolist())


@lru_cache(maxsize=16)
def _boxes(
    session: Session, bands_m: tuple[tuple[float, float], ...], count: int
) -> tuple[RangeQueries, NDArray[np.int64]]:
    """Return ``count`` boxes per range of sizes, range after range, and their true counts."""
    records = session.invented_records
    each = [RangeQueries.sample(records, count, sizes_m) for sizes_m in bands_m]
    parts = ("x", "y", "width", "height")
    sides = (np.concatenate([getattr(boxes, part) for boxes in each]) for part in parts)
    boxes = RangeQueries(session.region, *sides)
    return boxes, session.truth(boxes)
