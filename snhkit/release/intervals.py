"""Intervals that are likely to contain true counts, from the noise and from measured errors."""

import json
import math
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snhkit.defaults import DEFAULT_LEVEL
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries
from snhkit.models import Model

if TYPE_CHECKING:
    from snhkit.release.release import Release

LEVELS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.975, 0.995)
"""The probabilities for which ``interval_table.json`` holds quantiles of errors."""

CELLS = (0.1, 0.5, 2.0, 8.0, 40.0)
"""Boundaries of the bins of ``interval_table.json`` for the number of cells in a query."""

ANSWERS = (-2.0, 0.5, 2.0, 6.0, 20.0, 60.0, 200.0, 1000.0)
"""Boundaries of the bins of ``interval_table.json`` for the answer times epsilon."""

SIDES_M = (100.0, 300.0, 1_000.0)
"""Boundaries of the bins of ``interval_table.json`` for the root of a query's area, in metres."""

SHAPE = (len(SIDES_M) + 1, len(CELLS) + 1, len(ANSWERS) + 1)
_FINE = 500  # the largest spread of noise for which every whole number is looked at
_ANY = "any"  # the key of the quantiles for methods that the table does not name


class Counted(NamedTuple):
    """Public properties of q queries, from which intervals for their true counts are computed.

    ``cells`` is the number of the release's cells, with fractions; ``variance`` is nan where
    unknown; ``epsilon`` is ``Release.record_epsilon``.
    """

    answers: NDArray[np.float64]
    variance: NDArray[np.float64]
    area: NDArray[np.float64]
    cells: NDArray[np.float64]
    epsilon: float


def scales(told: Counted) -> NDArray[np.float64]:
    """Return the number of records by which each query's error is divided in the table.

    Its square is the known noise variance, that of one count, and a positive answer / epsilon.
    """
    one = 1 / told.epsilon
    known = np.where(np.isnan(told.variance), 0.0, told.variance)
    return np.sqrt(known + 2 * one**2 + np.maximum(told.answers, 0) * one)


def bins_of(told: Counted) -> NDArray[np.int64]:
    """Return the index of the bin of ``interval_table.json`` for each query, shape (q,)."""
    side = np.digitize(np.sqrt(told.area), SIDES_M)
    cells = np.digitize(told.cells, CELLS)
    answer = np.digitize(told.answers * told.epsilon, ANSWERS)
    return np.ravel_multi_index((side, cells, answer), SHAPE)


def usual_bounds(method: str, told: Counted, level: float) -> NDArray[np.float64]:
    """Return bounds of true counts, shape (q, 2), from errors measured on public cities.

    They may be negative; they are nan if neither noise nor errors of the method are known.
    """
    if not 0.5 <= level <= 0.99:
        raise InputError(f"level must be from 0.5 to 0.99, not {level!r}.")
    quantiles = _quantiles(method)[bins_of(told)]
    unit = scales(told)
    found = []
    for probability in ((1 - level) / 2, (1 + level) / 2):
        above = int(np.clip(np.searchsorted(LEVELS, probability), 1, len(LEVELS) - 1))
        low, high = LEVELS[above - 1], LEVELS[above]
        share = (probability - low) / (high - low)
        z = (1 - share) * quantiles[:, above - 1] + share * quantiles[:, above]
        found.append(told.answers + z * unit)
    together = np.stack(found, axis=1)
    if method not in interval_table()["quantiles"]:
        together[np.isnan(told.variance)] = np.nan
    together[told.area <= 0] = 0  # outside the region nothing is counted
    return together


def exact_bounds(
    answers: NDArray[np.float64],
    cells: NDArray[np.float64],
    variance: float,
    level: float,
    *,
    gaussian: bool,
) -> NDArray[np.float64]:
    """Return bounds, shape (q, 2), of sums of whole ``cells`` from the distribution of noise alone.

    ``variance`` is one cell's, of discrete Laplace or ``gaussian`` noise; bounds may be negative.
    """
    counts, which = np.unique(np.rint(cells).astype(int), return_inverse=True)
    half = np.array([_half_width(int(k), variance, level, gaussian) for k in counts])[which]
    return np.stack([answers - half, answers + half], axis=1)


@lru_cache(maxsize=4096)
def _half_width(k: int, variance: float, level: float, gaussian: bool) -> float:
    """Return the smallest t such that a sum of k noises is within -t and t at the given level."""
    spread = math.sqrt(k * variance)
    if spread == 0:
        return 0.0
    if spread > _FINE:  # on a coarser scale, where the noise is all but continuous
        step = spread / _FINE
        return math.ceil(_half_width(k, variance / step**2, level, gaussian) * step)
    # The probabilities are the inverse Fourier transform of the characteristic function.
    size = 1 << math.ceil(math.log2(80 * spread + 64))
    angle = 2 * np.pi * np.fft.rfftfreq(size)
    if gaussian:
        at = np.minimum(np.arange(size), size - np.arange(size))
        one = np.fft.rfft(np.exp(-(at**2) / (2 * variance))).real  # the variance is all but sigma^2
        transform = one / one[0]
    else:
        q = (variance + 1 - math.sqrt(2 * variance + 1)) / variance  # variance 2 q / (1 - q)^2
        transform = (1 - q) ** 2 / (1 - 2 * q * np.cos(angle) + q**2)
    chance = np.fft.irfft(transform**k, size)
    within = np.cumsum(chance[: size // 2] * 2) - chance[0]
    return float(np.searchsorted(within, level - 1e-9))


def meaning(release: "Release", level: float = DEFAULT_LEVEL, *, exact: bool = False) -> str:
    """Return the sentence that says what the intervals mean, or why they are unknown."""
    share = f"{100 * level:g} %"
    if exact:
        return (
            f"The {share} interval of a count contains the true count of the records that were "
            f"counted with a probability of at least {share}, which follows from the noise."
        )
    whole = RangeQueries(release.region, [0], [0], [release.region.side_m], [release.region.side_m])
    if release.method in interval_table()["quantiles"] or np.isfinite(release.noise_sd(whole)[0]):
        return (
            f"The {share} interval of a count contains the true count in about {share} of "
            "cases. It allows for the noise and for records that are spread unevenly inside cells. "
            "It is an estimate from public data of cities, not a guarantee."
        )
    return (
        f"The interval of {release.method} is not known: there is no formula for the error of its "
        "counts, and its errors on public cities were not measured."
    )


def cells_in_boxes(model: Model, boxes: RangeQueries) -> NDArray[np.float64]:
    """Return the number of a model's cells that each box covers, with fractions."""
    cells = model.cells()
    inside = boxes.clipped()
    if isinstance(cells, Grid):
        return inside.width * inside.height / cells.cell_m**2
    return np.maximum(cells.cell_table.sums(boxes), 0)


@cache
def interval_table() -> Mapping[str, Any]:
    """Return ``interval_table.json``: quantiles of each method's errors, and their provenance."""
    text = resources.files("snhkit.release").joinpath("interval_table.json").read_text("utf-8")
    return json.loads(text)


@cache
def _quantiles(method: str) -> NDArray[np.float64]:
    """Return quantiles of a method's errors divided by ``scales``, shape (bins, levels)."""
    methods = interval_table()["quantiles"]
    sparse: Mapping[str, list[float]] = methods.get(method, methods[_ANY])
    found = np.full((int(np.prod(SHAPE)), len(LEVELS)), np.nan)
    for number, values in sparse.items():
        found[int(number)] = values
    return _filled(found)


def _filled(quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles in which the nearest measured bin replaces missing (nan) ones."""
    place = np.stack(np.unravel_index(np.arange(len(quantiles)), SHAPE), axis=1)
    known = np.flatnonzero(np.isfinite(quantiles).all(axis=1))
    apart = np.abs(place[:, None] - place[known][None]) @ np.array([3, 2, 1])
    return quantiles[known[apart.argmin(axis=1)]]
