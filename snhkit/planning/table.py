"""The table of expected errors, and the public numbers on which these errors depend."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry import By, Points, RangeQueries, Region, exact_counts
from snhkit.metrics import SIZE_BANDS_M, smoothing
from snhkit.privacy import Epsilon, PrivacyUnit, exact

PLANNED = ("rel_error", "abs_error", "abs_error_anywhere")
"""The columns of ``compare`` for which ``expected_error`` gives expected values."""

BASELINE = "identity"
"""The method whose error is expected first; those of the others are ratios to it."""

_POOLS = "denoised"
"""The method that spends a share of epsilon on a map of all strata."""

_POOLED = {
    "rel_error": (0.85, 1.05, 1.3, 1.7),
    "abs_error": (0.85, 1.05, 1.3, 1.7),
    "abs_error_anywhere": (0.4, 0.65, 1.3, 1.65),
}
"""Errors of the denoised grid in a stratum divided by those expected of one map of its n.

For each size band, the rounded median over hours and weekdays of three public data sets at epsilon
0.2, 2026-11-30. ``benchmarks/strata.py --tables expected`` prints what is left, about 1."""

_KEYS = ("crowding", "sparsity")  # what the table holds of each place
_MOST_RECORDS = 2**53  # as in a release file
_SIDE_M = 13_200.0  # the side of the regions in which most errors were measured


@dataclass(frozen=True, eq=False)
class Situation:
    """The public numbers on which expected errors depend, except epsilon and the query sizes."""

    n: int
    sensitivity: int  # the largest number of records of one unit of privacy
    side_m: float
    crowdings: NDArray[np.float64]  # of the public points, or of all measured places, (c, 3)
    sparsities: NDArray[np.float64]  # shape (c, 4)
    outside: tuple[str, ...] = ()  # what lay outside the measured range
    pooled: bool = False  # whether a stratum, which may share a map of all of them

    @classmethod
    def of(
        cls,
        n: int,
        public: Points | None = None,
        region: Region | None = None,
        unit: str = "record",
        max_per_user: int | None = None,
    ) -> "Situation":
        """Return the numbers for n records, moved into the measured ranges."""
        n = whole("n", n, least=1, most=_MOST_RECORDS)
        sensitivity = PrivacyUnit(unit, max_per_user).sensitivity
        if public is not None and region is not None:
            region.refuse_other(public.region, "public: the points")
        there = region if public is None else public.region
        ranges, told = plan_table()["ranges"], []
        side_m = _SIDE_M if there is None else there.side_m
        near = _within(side_m, ranges["side_m"])
        if near != side_m:
            told.append(f"regions {side_m:,.0f} m wide were not measured; {near:,.0f} m is assumed")
        if public is None:
            places = plan_table()["places"]
            side = min({p["side_m"] for p in places}, key=lambda s: abs(math.log(s / near)))
            alike = [p for p in places if p["side_m"] == side and p["family"] != "synthetic"]
            crowdings, sparsities = (np.array([p[key] for p in alike]) for key in _KEYS)
        else:
            found = {}
            for key, values in zip(_KEYS, (crowding(public), sparsity(public)), strict=True):
                low, high = np.array(ranges[key]).T
                within = np.clip(values, low, high)
                found[key] = within[None]
                if np.abs(within - values).max() > 0.1:
                    kind = "less" if (within > values).any() == (key == "crowding") else "more"
                    told.append(f"the public points are {kind} clustered than all measured places")
            crowdings, sparsities = found.values()
        return cls(n, sensitivity, near, crowdings, sparsities, tuple(dict.fromkeys(told)))

    def divided(self, by: By | None) -> "Situation":
        """Return the numbers of one stratum, which has its share of the records."""
        if by is None:
            return self
        return replace(self, n=max(self.n // len(by), 1), pooled=by.alike)

    def record_epsilon(self, epsilon: Epsilon) -> float:
        """Return the epsilon of a release divided by the sensitivity."""
        return float(exact(epsilon) / self.sensitivity)

    def outside_at(self, epsilon: float) -> str:
        """Return what lies outside the measured range at an epsilon per record, as one text."""
        told, product = list(self.outside), self.n * epsilon
        near = _within(product, plan_table()["ranges"]["n_epsilon"])
        if not math.isclose(near, product, rel_tol=0.01):
            told.append(
                f"n times epsilon per record is {product:,.4g}; errors at {near:,.0f}, the nearest "
                "measured value, are shown"
            )
        return "; ".join(told)

    def logs(self, name: str, epsilon: float, band: int, measure: str) -> NDArray[np.float64]:
        """Return the expected logarithms of an error in a size band for each place, shape (c,)."""
        product = _within(self.n * epsilon, plan_table()["ranges"]["n_epsilon"])
        given = product, self.side_m, self.crowdings, self.sparsities[:, band]
        total = np.full(len(self.crowdings), 0.0 if measure == "rel_error" else math.log(self.n))
        for each in dict.fromkeys((BASELINE, name)):
            part = plan_table()["fits"][each][f"{SIZE_BANDS_M[band][0]:g}"][measure]
            total += regressors(each, *given) @ np.array(part["coefficients"])
        if self.pooled and name == _POOLS:
            total += math.log(_POOLED[measure][band])
        return total


def shares(measure: str, errors: NDArray[np.float64], n: Any) -> NDArray[np.float64]:
    """Return errors as shares of n records; relative errors, which are shares, as they are."""
    return errors if measure == "rel_error" else errors / n


def regressors(
    name: str,
    product: float | NDArray[np.float64],
    side_m: float | NDArray[np.float64],
    crowdings: NDArray[np.float64],
    sparsities: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the variables of the model of the logarithm of an error, shape (c, 9) or (c, 4).

    For ``BASELINE``, the model gives the error; for another method, its ratio to that of
    ``BASELINE``, which is monotone in ``product``, n times the epsilon per record.
    """
    ones = np.ones(len(crowdings))
    z = np.log(product * ones) - 8  # all variables are near 0 in the middle of the table
    h = sparsities - 5
    if name != BASELINE:
        return np.column_stack([ones, z, crowdings[:, 0] - crowdings[:, 1] + 1, h])
    c = crowdings + np.array([6, 5, 3.3])
    return np.column_stack([ones, z, z**2, np.log(side_m * ones / _SIDE_M), c, z * c[:, 1], h])


def _within(value: float, bounds: Sequence[float]) -> float:
    """Return a value, or the nearest of the two bounds if it lies outside them."""
    return min(max(value, bounds[0]), bounds[1])


@cache
def plan_table() -> dict[str, Any]:
    """Return the table of expected errors that comes with snhkit, as JSON values.

    The table holds the fitted coefficients of the model, the ranges of the measurements, and the
    places and the date of the measurements.
    """
    text = resources.files("snhkit.planning").joinpath("table.json").read_text("utf-8")
    return json.loads(text)


CROWDING_M = (50.0, 200.0, 800.0)
"""The cell widths, in metres, for which ``crowding`` is computed."""

_LEAST = 100  # points
_SQUARES = 4_000  # for each size band
_FLOOR = 0.5  # the number of pairs that is assumed if no two points share a cell


def crowding(points: Points) -> NDArray[np.float64]:
    """Return unbiased log chances that two random points share a cell of ``CROWDING_M``."""
    n = _enough(points)
    found = []
    for width in CROWDING_M:
        column, row = (points.xy // width).astype(np.int64).T
        across = int(points.region.side_m // width) + 1
        counts = np.unique(column * across + row, return_counts=True)[1].astype(float)
        pairs = max(float((counts * (counts - 1)).sum()), _FLOOR)
        found.append(np.log(pairs / (n * (n - 1))))
    return np.array(found)


def sparsity(points: Points) -> NDArray[np.float64]:
    """Return the log mean inverse share of points in squares around random points, shape (4,).

    A large value means that many points lie where noise is large relative to counts.
    """
    n, side_m = _enough(points), points.region.side_m
    found = []
    for low, high in SIZE_BANDS_M:
        squares = RangeQueries.sample(points, _SQUARES, (min(low, side_m), min(high, side_m)))
        counts = np.maximum(exact_counts(points, squares), smoothing(n))
        found.append(np.log(np.mean(n / counts)))
    return np.array(found)


def _enough(points: Points) -> int:
    """Return the number of points, which must be at least 100."""
    if len(points) < _LEAST:
        raise InputError(
            f"public holds {len(points)} points in the region, but at least {_LEAST} are needed; "
            "give more, or leave public out."
        )
    return len(points)
