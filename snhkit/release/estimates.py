"""What a release answers: count, standard error, interval and area of each query, in a frame."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.defaults import DEFAULT_LEVEL
from snhkit.districts.districts import WHOLE, Districts, LocalDistricts
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries
from snhkit.geometry.queries import warn_outside
from snhkit.models import Model
from snhkit.models.variance import AxisNoise, BlockNoise, CellNoise
from snhkit.privacy.spend import total
from snhkit.release.intervals import Counted, cells_in_boxes, exact_bounds, meaning, usual_bounds
from snhkit.release.polygon_model import PolygonModel

if TYPE_CHECKING:
    import geopandas as gpd

    from snhkit.release.release import Release

ADDED = ("count", "noise_sd", "low", "high", "area_m2")
"""The columns of ``Release.estimate``, after those of the question."""

Queries: TypeAlias = Union[
    RangeQueries, Districts, "pd.DataFrame", "gpd.GeoDataFrame", "gpd.GeoSeries", Sequence[Any],
    NDArray[Any], str,
]  # fmt: skip
"""Boxes, polygons, or labels of districts that the release counted one by one."""

# Noise of strata is independent, but other errors are alike: of records that are spread unevenly
# inside cells, or of a method that errs in one direction. With this correlation of the latter, the
# intervals of sums hold about as often as those of one map (``benchmarks/strata.py coverage``).
_CORRELATION = 0.45
_WHOLE = 1e-6  # a query consists of whole cells if the parts of cells add up to less than this


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """A release's answers to boxes, polygons in metres or numbers of districts, computed once."""

    release: "Release"
    queries: RangeQueries | LocalDistricts | NDArray[np.int64]
    given: Any

    @classmethod
    def of(cls, release: "Release", given: Queries) -> "Estimates":
        """Return the answers to queries of any kind that ``Release.estimate`` takes."""
        region = release.region
        if strata := _strata_of(release):
            first = cls.of(strata[0], given)
            return cls(release, first.queries, first.given)
        if isinstance(given, RangeQueries):
            region.refuse_other(given.region, "answer: the boxes")
            return cls(release, given, given)
        if isinstance(given, Districts) or hasattr(type(given), "geometry"):
            districts = Districts.of(given)  # pyright: ignore[reportArgumentType]
            local = districts.inside(region)
            warn_outside(region, local.area_m2 <= 0, "shapes")
            return cls(release, local, districts)
        if not hasattr(given, "columns"):
            each: list[Any] = [given] if isinstance(given, str) else list(given)  # pyright: ignore
            if each and all(isinstance(one, str) for one in each):
                return cls(release, _numbers(release.model, each), each)
            if any(hasattr(one, "geom_type") for one in each):
                import geopandas as gpd

                return cls.of(release, gpd.GeoSeries(each, crs=4326))
        return cls(release, RangeQueries.of(region, given), given)

    def __len__(self) -> int:
        return len(
            self.queries.shapes if isinstance(self.queries, LocalDistricts) else self.queries
        )

    @cached_property
    def strata(self) -> list["Estimates"]:
        """The answers of each stratum if the release is the sum over strata; else none."""
        return [Estimates(part, self.queries, self.given) for part in _strata_of(self.release)]

    @cached_property
    def _parts(self) -> Model:
        return self.release.model.additive()

    @cached_property
    def _cover(self) -> tuple[NDArray[np.int64], Any, NDArray[np.float64]]:
        """The query, the cells (boxes, or numbers of districts) and the share of each pair."""
        if isinstance(self.queries, LocalDistricts):
            if isinstance(self._parts, PolygonModel):
                return self._parts.partition.shares(self.queries.clipped)
            return self.queries.cover(self._parts.cells())
        number = np.asarray(self.queries)
        return np.arange(len(number)), number, np.ones(len(number))

    def _summed(self, values: NDArray) -> NDArray[np.float64]:
        return np.bincount(self._cover[0], values, len(self)).astype(np.float64)

    @cached_property
    def count(self) -> NDArray[np.float64]:
        """The estimated count of each query, in records, shape (q,)."""
        if self.strata:
            return np.sum([each.count for each in self.strata], axis=0)
        if isinstance(self.queries, RangeQueries):
            return self.release.model.answer(self.queries)
        _, cells, share = self._cover
        if isinstance(self._parts, PolygonModel):
            return self._summed(share * self._parts.values[cells])
        return self._summed(share * self._parts.answer(cells))

    @cached_property
    def variance(self) -> NDArray[np.float64]:
        """The variance of the noise in each count, shape (q,); nan if unknown."""
        if self.strata:
            return np.sum([each.variance for each in self.strata], axis=0)
        if isinstance(self.queries, RangeQueries):
            return self.release.model.noise_variance(self.queries)
        _, cells, share = self._cover
        parts, noise = self._parts, getattr(self._parts, "noise_model", None)
        if isinstance(parts, PolygonModel):
            return self._summed(share**2 * parts.variance)
        if parts.separate:
            return self._summed(share**2 * parts.noise_variance(cells))
        if isinstance(noise, CellNoise) and isinstance(self.queries, LocalDistricts):
            return _of_partition(noise, self.queries, self._summed(share**2))
        grid = parts.cells()
        if isinstance(noise, (AxisNoise, BlockNoise)) and isinstance(grid, Grid):
            return _of_grid(grid, noise, len(self), *self._cover)
        return np.full(len(self), np.nan)

    @cached_property
    def area_m2(self) -> NDArray[np.float64]:
        """The area of each query inside the region in square metres, shape (q,)."""
        if self.strata:
            return self.strata[0].area_m2
        if isinstance(self.queries, RangeQueries):
            inside = self.queries.clipped()
            return inside.width * inside.height
        if isinstance(self.queries, LocalDistricts):
            return self.queries.area_m2
        assert isinstance(self._parts, PolygonModel)  # noqa: S101 - for type checkers
        return self._parts.partition.areas[self.queries]

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """The number of cells in each query, shape (q,); a part of a cell counts as a fraction."""
        if self.strata:
            return np.sum([each.cells for each in self.strata], axis=0)
        if isinstance(self.queries, RangeQueries):
            return cells_in_boxes(self.release.model, self.queries)
        _, boxes, share = self._cover
        grid = None if isinstance(self._parts, PolygonModel) else self._parts.cells()
        if isinstance(grid, Grid):
            share = share * boxes.width * boxes.height / grid.cell_m**2
        return self._summed(share)

    def bounds(self, level: float) -> NDArray[np.float64]:
        """Return bounds of each true count, shape (q, 2), as ``Release.estimate`` explains."""
        return np.maximum(self._ends(level), 0)

    def with_bounds(self, level: float = DEFAULT_LEVEL) -> NDArray[np.float64]:
        """Return the count of each query and its two bounds, shape (q, 3)."""
        return np.column_stack([self.count, self.bounds(level)])

    def _ends(self, level: float) -> NDArray[np.float64]:
        """Return the bounds before negative ones become 0, shape (q, 2)."""
        price, shared = self.release.record_epsilon, self.release.spends[:-1]
        if self.strata and not shared:
            found = self._summed_ends(level)
        else:
            cells = self.cells
            if self.strata:  # they add up to a map of all of them, which cost ``shared``
                cells, price = (
                    self.strata[0].cells,
                    price * float(total(shared).epsilon / self.release.epsilon),
                )
            told = Counted(self.count, self.variance, self.area_m2, cells, price)
            found = usual_bounds(self.release.method, told, level)
        rows = np.flatnonzero(self.exact)
        if rows.size:
            one, gaussian = self._one_variance or 0.0, bool(self.release.rho)
            found[rows] = exact_bounds(
                self.count[rows], self.cells[rows], one, level, gaussian=gaussian
            )
        return found

    def _summed_ends(self, level: float) -> NDArray[np.float64]:
        """Return ends whose distances from the count are those of sums of strata's errors."""
        ends = np.stack([each._ends(level) for each in self.strata])
        counts = np.stack([each.count for each in self.strata])
        noise = np.nan_to_num([each.variance for each in self.strata])
        other = np.maximum(counts, 0) / self.release.record_epsilon
        both = noise + other
        # The part of each interval that is from noise is that in ``intervals.scales``.
        share = np.divide(noise, both, out=np.zeros_like(both), where=both > 0)[..., None]
        apart = np.maximum((ends - counts[..., None]) * [-1, 1], 0)
        alike = apart * np.sqrt(1 - share)
        own = (apart**2 - _CORRELATION * alike**2).sum(axis=0)
        summed = np.sqrt(own + _CORRELATION * alike.sum(axis=0) ** 2)
        return self.count[:, None] + summed * [-1, 1]

    @cached_property
    def _one_variance(self) -> float | None:
        """The variance of the noise in a cell, if cells have independent and equal noise."""
        each = {part._one_variance for part in self.strata} or {_raw_variance(self.release.model)}
        return each.pop() if len(each) == 1 else None

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        """Whether nothing but noise of a known distribution errs in each count, shape (q,)."""
        one = self._one_variance
        if self.strata:
            return np.all([each.exact for each in self.strata], axis=0) & (one is not None)
        if one is None or (
            isinstance(self.queries, RangeQueries) and isinstance(self._parts, PolygonModel)
        ):
            return np.zeros(len(self), bool)
        # Shares of cells and their squares have the same sum only if every share is 0 or 1.
        squares = self.variance / one
        return (self.area_m2 > 0) & (np.abs(self.cells - squares) <= _WHOLE)

    @property
    def beyond(self) -> NDArray[np.bool_]:
        """Whether each query extends beyond the region by more than rounding, shape (q,)."""
        if isinstance(self.queries, RangeQueries):
            side, boxes = self.release.region.side_m + 1, self.queries
            low, high = np.minimum(boxes.x, boxes.y), np.maximum(boxes.x1, boxes.y1)
            return (low < -1) | (high > side)
        if isinstance(self.queries, LocalDistricts):
            return self.queries.share < WHOLE
        return np.zeros(len(self), bool)

    def frame(self, level: float = DEFAULT_LEVEL) -> pd.DataFrame:
        """Return the queries as they were given, with the columns ``ADDED``."""
        low, high = self.bounds(level).T
        found = self.count, np.sqrt(self.variance), low, high, self.area_m2
        rows = self._rows()
        refuse_taken(rows, ADDED)
        frame = rows.assign(**dict(zip(ADDED, found, strict=True)))
        exact = len(self) > 0 and bool(self.exact.all())
        frame.attrs["intervals"] = meaning(self.release, level, exact=exact)
        return frame

    def _rows(self) -> pd.DataFrame:
        given = self.given
        if isinstance(given, RangeQueries):
            sides = {name: getattr(given, name) for name in ("x", "y", "width", "height")}
            return pd.DataFrame(sides)
        if isinstance(given, Districts):
            return given.rows
        if isinstance(given, pd.DataFrame):
            return given
        if isinstance(self.queries, RangeQueries):
            bounds = np.reshape(np.asarray(given, float), (-1, 4))
            return pd.DataFrame(bounds, columns=["west", "south", "east", "north"])
        return pd.DataFrame({"label": given})


def estimates(
    releases: "Mapping[str, Release]", queries: Queries, level: float = DEFAULT_LEVEL
) -> pd.DataFrame:
    """Return several releases' frames for the same queries, with their names and epsilons."""
    answers = (
        (Estimates.of(release, queries), {"release": name, "epsilon": float(release.epsilon)})
        for name, release in releases.items()
    )
    return together(answers, level)


def together(answers: Iterable[tuple[Estimates, dict[str, Any]]], level: float) -> pd.DataFrame:
    """Return the frames of several answers as one, each with further columns before its counts."""
    parts = []
    for found, beside in answers:
        frame = found.frame(level)
        own = [column for column in frame.columns if column not in ADDED]
        refuse_taken(frame, tuple(beside))
        parts.append(frame.assign(**beside)[[*own, *beside, *ADDED]])
    told = list(dict.fromkeys(part.attrs["intervals"] for part in parts))
    joined = pd.concat(parts)
    joined.attrs["intervals"] = " ".join(told)
    return joined


def _strata_of(release: "Release") -> tuple["Release", ...]:
    """Return the releases of strata of which a release is the sum; none for all others."""
    return getattr(release.model, "strata", ())


def refuse_taken(rows: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise InputError if rows have a column that the answers would overwrite."""
    for name in rows.columns:
        if str(name) in names:
            raise InputError(
                f"the question already has a column {str(name)!r}, which the answers would "
                "overwrite; rename that column. The answers add the columns "
                f"{', '.join(names)}."
            )


def _numbers(model: Model, labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the numbers of districts of a ``PolygonModel`` by their labels."""
    if not isinstance(model, PolygonModel):
        raise InputError(
            "labels name the districts of a release by Tessellation; for this release, give boxes "
            "or polygons."
        )
    known = {label: number for number, label in enumerate(model.partition.labels)}
    for label in labels:
        if label not in known:
            near = ", ".join(list(known)[:5])
            raise InputError(f"no district is called {label!r}; the first are {near}.")
    return np.array([known[label] for label in labels], np.int64)


def _raw_variance(model: Model) -> float | None:
    """Return the noise variance of each cell, if cells have unprocessed and independent counts."""
    if isinstance(model, PolygonModel):
        return model.variance or None
    noise, values = getattr(model, "noise_model", None), getattr(model, "values", np.zeros(0))
    if noise is None or not model.separate or values.dtype.kind != "i":
        return None
    one = noise.variance if isinstance(noise, CellNoise) else noise.weights[0][0]
    return float(one) or None


def _of_partition(
    noise: CellNoise, local: LocalDistricts, squares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the noise variance of each polygon's count; the formula is in ``CellNoise``."""
    found = noise.variance * squares
    if noise.coarse is not None:
        grid = Grid(local.region, len(noise.coarse))
        for i, (corner, w) in _weights(grid, *local.cover(grid)):
            rows, columns = (slice(at, at + n) for at, n in zip(corner, w.shape, strict=True))
            found[i] += float((noise.coarse[rows, columns] * w**2).sum())
    return np.maximum(found, 0)  # rounding may leave a negative number


def _of_grid(
    grid: Grid,
    noise: AxisNoise | BlockNoise,
    count: int,
    owner: NDArray[np.int64],
    boxes: RangeQueries,
    share: NDArray[np.float64],
) -> NDArray[np.float64]:
    found = np.zeros(count)
    for i, (corner, w) in _weights(grid, owner, boxes, share):
        if isinstance(noise, AxisNoise):
            rows, columns = (slice(at, at + n) for at, n in zip(corner, w.shape, strict=True))
            along_x, along_y = noise.covariance[rows, rows], noise.covariance[columns, columns]
            found[i] = float((w * (along_x @ w @ along_y)).sum())
        else:
            found[i] = _of_blocks(grid.m, noise, corner, w)
    return np.maximum(found, 0)


def _of_blocks(m: int, noise: BlockNoise, corner: tuple[int, int], w: NDArray) -> float:
    """Return the variance (see ``BlockNoise``) of shares ``w`` of cells from ``corner`` on."""
    total = 0.0
    for row, b in zip(noise.weights, noise.blocks, strict=True):
        if any(row):
            sums = _block_sums(w, corner[0], m // b, axis=0)
            for weight, c in zip(row, noise.blocks, strict=True):
                if weight:
                    cells = (m // b) * (m // c)
                    both = _block_sums(sums, corner[1], m // c, axis=1)
                    total += weight * float((both**2).sum()) / cells
    return total


def _block_sums(w: NDArray, first: int, size: int, axis: int) -> NDArray[np.float64]:
    """Return sums of ``w`` over blocks of ``size`` cells; its first entry is cell ``first``."""
    ends = np.arange(size - first % size, w.shape[axis], size)
    return np.add.reduceat(w, np.concatenate([[0], ends]), axis=axis)


def _weights(
    grid: Grid, owner: NDArray[np.int64], boxes: RangeQueries, share: NDArray[np.float64]
) -> Iterator[tuple[int, tuple[tuple[int, int], NDArray[np.float64]]]]:
    """Yield each polygon's number, the first cell of its box, and the shares of cells there."""
    low = np.rint(np.stack([boxes.x, boxes.y], axis=1) / grid.cell_m).astype(np.int64)
    high = np.rint(np.stack([boxes.x1, boxes.y1], axis=1) / grid.cell_m).astype(np.int64)
    for rows in np.split(np.arange(len(owner)), np.flatnonzero(np.diff(owner)) + 1):
        if rows.size:
            first = low[rows].min(axis=0)
            w = np.zeros(high[rows].max(axis=0) - first)
            corners = zip(low[rows] - first, high[rows] - first, share[rows], strict=True)
            for (x0, y0), (x1, y1), part in corners:
                w[x0:x1, y0:y1] = part
            yield int(owner[rows[0]]), ((int(first[0]), int(first[1])), w)
