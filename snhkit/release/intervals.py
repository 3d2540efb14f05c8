"""Intervals that are likely to contain true counts, from the noise and from measured errors."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries
from snhkit.geometry.densities import DensityTable

if TYPE_CHECKING:
    from snhkit.models import Model
    from snhkit.release.release import Release

__all__ = [
    "LEVELS",
    "Asked",
    "asked",
    "bins_of",
    "bounds",
    "cells_in_boxes",
    "interval_table",
    "scales",
    "unmeasured",
]

LEVELS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.975, 0.995)
"""The probabilities for which ``interval_table.json`` holds quantiles of errors."""

CELLS = (0.1, 0.5, 2.0, 8.0, 40.0)
"""Boundaries of the bins of ``interval_table.json`` for the number of cells in a query."""

ANSWERS = (-2.0, 0.5, 2.0, 6.0, 20.0, 60.0, 200.0, 1000.0)
"""Boundaries of the bins of ``interval_table.json`` for the answer times epsilon."""

SIDES_M = (100.0, 300.0, 1_000.0)
"""Boundaries of the bins of ``interval_table.json`` for the root of a query's area, in metres."""

SHAPE = (len(SIDES_M) + 1, len(CELLS) + 1, len(ANSWERS) + 1)
_ANY = "any"  # the key of the quantiles for methods that the table does not name


class Asked:
    """Public properties of q queries, from which intervals for their true counts are computed.

    Parameters
    ----------
    answers : ndarray, shape (q,)
        Released count of each query.
    variance : ndarray, shape (q,)
        Variance of the noise in each count, in squared records; nan where unknown.
    area : ndarray, shape (q,)
        Area of each query inside the region, in square metres.
    cells : ndarray, shape (q,)
        Number of the release's cells that each query covers; a partly covered cell counts as the
        covered fraction.
    epsilon : float
        Epsilon divided by the sensitivity of a count, as ``Release.record_epsilon`` of the release
        that answers the queries.
    """

    def __init__(
        self, answers: NDArray, variance: NDArray, area: NDArray, cells: NDArray, epsilon: float
    ) -> None:
        self.answers, self.variance, self.area = answers, variance, area
        self.cells, self.epsilon = cells, epsilon


def asked(release: "Release", queries: Any) -> Asked:
    """Return the properties of queries from which intervals for their true counts are computed.

    Parameters
    ----------
    release : Release
        The release that answers the queries.
    queries : RangeQueries, GeoDataFrame or GeoSeries
        Boxes, or polygons in any CRS.
    """
    epsilon = release.record_epsilon
    answers, variance = release.answer(queries), release.standard_error(queries) ** 2
    if isinstance(queries, RangeQueries):
        inside = queries.clipped()
        area, cells = inside.width * inside.height, cells_in_boxes(release.model, queries)
    else:
        area, cells = _in_polygons(release, queries)
    return Asked(answers, variance, area, cells, epsilon)


def _in_polygons(release: "Release", queries: Any) -> tuple[NDArray, NDArray]:
    """Return the area of each polygon inside the region, and the number of covered cells.

    The areas are in square metres. Both arrays have shape (q,). The cells of a ``PolygonModel`` are
    the districts and the rest of the region.
    """
    from snhkit.release.polygon_model import PolygonModel
    from snhkit.release.polygons import cover
    from snhkit.release.shapes import polygons_in

    parts, shapes = release.model.additive(), polygons_in(release.region, queries)
    owner, boxes, share = cover(parts.cells(), shapes)
    covered = share * boxes.width * boxes.height
    area = np.bincount(owner, covered, len(shapes))
    if isinstance(parts, PolygonModel):
        shape, _, share = parts.partition.shares(shapes)
        return area, np.bincount(shape, share, len(shapes))
    cells = parts.cells()
    held = covered / cells.cell_m**2 if isinstance(cells, Grid) else share
    return area, np.bincount(owner, held, len(shapes)).astype(float)


def scales(asked: Asked) -> NDArray[np.float64]:
    """Return the number of records by which each query's error is divided, shape (q,).

    The quantiles in ``interval_table.json`` are those of the divided errors. The divisor is the
    square root of a sum of three terms: the variance of the noise in the answer, where it is known;
    the variance of one noisy count, 2 / epsilon^2; and the answer divided by epsilon, if the answer
    is positive. Here, epsilon is ``asked.epsilon``.
    """
    one = 1 / asked.epsilon
    known = np.where(np.isnan(asked.variance), 0.0, asked.variance)
    return np.sqrt(known + 2 * one**2 + np.maximum(asked.answers, 0) * one)


def bins_of(asked: Asked) -> NDArray[np.int64]:
    """Return the index of the bin of ``interval_table.json`` for each query, shape (q,)."""
    side = np.digitize(np.sqrt(asked.area), SIDES_M)
    cells = np.digitize(asked.cells, CELLS)
    answer = np.digitize(asked.answers * asked.epsilon, ANSWERS)
    return np.ravel_multi_index((side, cells, answer), SHAPE)


def bounds(method: str, asked: Asked, level: float) -> NDArray[np.float64]:
    """Return a lower and an upper bound of each query's true count, at least 0, shape (q, 2).

    Parameters
    ----------
    method : str
        Name of the builder, as in ``Release.method``.
    asked : Asked
        The properties of the queries.
    level : float
        The wanted share of true counts within the bounds, from 0.5 to 0.99.

    Returns
    -------
    ndarray
        The bounds in records; nan where the variance of the noise is unknown and the errors of the
        method were not measured.

    Raises
    ------
    InputError
        If ``level`` is not from 0.5 to 0.99.
    """
    if not 0.5 <= level <= 0.99:
        raise InputError(f"level must be from 0.5 to 0.99, not {level!r}.")
    quantiles = _quantiles(method)[bins_of(asked)]
    unit = scales(asked)
    found = []
    for probability in ((1 - level) / 2, (1 + level) / 2):
        above = int(np.clip(np.searchsorted(LEVELS, probability), 1, len(LEVELS) - 1))
        low, high = LEVELS[above - 1], LEVELS[above]
        share = (probability - low) / (high - low)
        z = (1 - share) * quantiles[:, above - 1] + share * quantiles[:, above]
        found.append(np.maximum(asked.answers + z * unit, 0))
    together = np.stack(found, axis=1)
    if method not in _table()["quantiles"]:
        together[np.isnan(asked.variance)] = np.nan
    together[asked.area <= 0] = 0  # outside the region nothing is counted
    return together


def unmeasured(release: "Release") -> str:
    """Return why a release's intervals are unknown, as a sentence; an empty text if they are known.

    Parameters
    ----------
    release : Release
        The release.
    """
    whole = RangeQueries(release.region, [0], [0], [release.region.side_m], [release.region.side_m])
    if release.method in _table()["quantiles"] or np.isfinite(release.standard_error(whole)[0]):
        return ""
    return (
        f"The interval of {release.method} is not known: there is no formula for the error of its "
        "counts, and its errors on public cities were not measured."
    )


def cells_in_boxes(model: "Model", boxes: RangeQueries) -> NDArray[np.float64]:
    """Return the number of a model's cells that each box covers, shape (q,).

    A partly covered cell counts as the covered fraction of its area.
    """
    cells = model.cells()
    inside = boxes.clipped()
    if isinstance(cells, Grid):
        return inside.width * inside.height / cells.cell_m**2
    return np.maximum(DensityTable(cells, np.ones(len(cells))).sums(boxes), 0)


def interval_table() -> Mapping[str, Any]:
    """Return ``interval_table.json``: quantiles of each method's errors, and their provenance."""
    return _table()


@cache
def _table() -> dict[str, Any]:
    text = resources.files("snhkit.release").joinpath("interval_table.json").read_text("utf-8")
    return json.loads(text)


@cache
def _quantiles(method: str) -> NDArray[np.float64]:
    """Return quantiles of a method's errors divided by ``scales``, shape (bins, levels)."""
    methods = _table()["quantiles"]
    sparse: Mapping[str, list[float]] = methods.get(method, methods[_ANY])
    found = np.full((int(np.prod(SHAPE)), len(LEVELS)), np.nan)
    for number, values in sparse.items():
        found[int(number)] = values
    return _filled(found)


def _filled(quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quantiles, with those of the nearest measured bin in place of missing ones.

    In ``quantiles``, shape (bins, levels), the rows of bins without measurements are nan. The
    distance of two bins is 3 for each step of the side, 2 for each step of the number of cells, and
    1 for each step of the answer.
    """
    place = np.stack(np.unravel_index(np.arange(len(quantiles)), SHAPE), axis=1)
    known = np.flatnonzero(np.isfinite(quantiles).all(axis=1))
    apart = np.abs(place[:, None] - place[known][None]) @ np.array([3, 2, 1])
    return quantiles[known[apart.argmin(axis=1)]]
