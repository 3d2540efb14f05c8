"""How wrong releases of invented records are: for teaching mode only."""

from functools import lru_cache

import numpy as np
import pandas as pd

from snhkit.geometry import RangeQueries
from snhkit.metrics import relative_errors
from snhkit.widgets.session import Built, Session

__all__ = ["by_epsilon", "by_size", "scatter"]

_A_SIZE, _MIXED, _DOTS = 300, 1_000, 250
_LARGER = 16  # how many times larger than the largest size the curve goes


def by_epsilon(session: Session, sizes_m: tuple[float, float]) -> pd.DataFrame:
    """Mean relative error of all that was built, on boxes of the given sizes around records."""
    rows = [
        (one.title, float(one.release.epsilon), _error(session, one, sizes_m, _MIXED))
        for one in session.built.values()
    ]
    return pd.DataFrame(rows, columns=["method", "epsilon", "rel_error"])


def by_size(session: Session, sizes_m: tuple[float, float]) -> pd.DataFrame:
    """Mean relative error of the newest release of each method, for boxes of single sizes."""
    low, high = sizes_m
    largest = min(_LARGER * high, session.region.side_m / 2)
    sides = [float(f"{side:.1e}") for side in np.geomspace(min(low, largest), largest, 8)]
    newest = {one.title: one for one in session.built.values()}
    rows = [
        (title, side, _error(session, one, (side, side), _A_SIZE))
        for title, one in newest.items()
        for side in sides
    ]
    return pd.DataFrame(rows, columns=["method", "side_m", "rel_error"])


def scatter(session: Session, sizes_m: tuple[float, float]) -> pd.DataFrame:
    """Released and true counts of boxes around records, of the newest release of each method."""
    largest = min(_LARGER * sizes_m[1], session.region.side_m / 2)
    boxes, truth = _boxes(session, (min(sizes_m[0], largest), largest), _DOTS)
    return pd.concat(
        [
            pd.DataFrame({"method": title, "count": release.answer(boxes), "truth": truth})
            for title, release in session.releases.items()
        ]
    )


@lru_cache(maxsize=512)
def _error(session: Session, one: Built, sizes_m: tuple[float, float], count: int) -> float:
    boxes, truth = _boxes(session, sizes_m, count)
    n = len(session.invented_records)
    return float(relative_errors(one.release.answer(boxes), truth, n).mean())


@lru_cache(maxsize=64)
def _boxes(
    session: Session, sizes_m: tuple[float, float], count: int
) -> tuple[RangeQueries, np.ndarray]:
    boxes = RangeQueries.sample(session.invented_records, count, sizes_m)
    return boxes, session.truth(boxes)
