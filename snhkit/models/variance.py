"""The covariance of the noise in estimated counts of cells, and what it means for boxes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries, SummedArea

_MAX_LEVELS = 64

_TILES = 64  # tiles per side; boxes are sorted by tile, so that those of a step lie close together
_BOXES, _CELLS = 64, 4_096  # boxes and cells per step, to fit into the cache
_ROWS = 1_024  # boxes per step for the coarse grid


@runtime_checkable
class GridNoise(Protocol):
    """The covariance of the noise in a grid's estimated counts."""

    kind: ClassVar[str]

    def variance(self, grid: Grid, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the noise variance of the sum of counts over each of q boxes, shape (q,)."""
        ...

    def separate(self, grid: Grid) -> bool:
        """Return whether the noise of each cell is independent of the noise of all others."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays that describe the noise in a file, by name."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return the settings that describe the noise in a file, as JSON values."""
        ...

    @classmethod
    def restore(
        cls, grid: Grid, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "GridNoise":
        """Return the noise whose ``arrays`` and ``settings`` were read from a file."""
        ...


@dataclass(frozen=True)
class BlockNoise:
    """Noise whose covariance is a weighted sum of projections onto averages over blocks of cells.

    Let P_b be the projection of a vector of m numbers, those along an axis of m by m cells, onto
    its averages over b equal blocks. The covariance of the counts is the sum of weights[i][j] P_b ⊗
    P_c over all i and j, where b = blocks[i] for the x axis and c = blocks[j] for the y axis divide
    m. The variance of a box's count is therefore the sum of weights[i][j] X_b Y_c: X_b is the
    squared length of P_b w, for w the fractions of the m cells that the box covers along x, and Y_c
    that along y. Weights are in squared records.

    >>> from snhkit.geometry import Region
    >>> city = Grid(Region.around(lat=0, lon=0, side_m=4), 4)
    >>> boxes = RangeQueries(city.region, [0, 0], [0, 0], [2, 1.5], [2, 1])
    >>> BlockNoise.independent(4, 3.0).variance(city, boxes)
    array([12.  ,  3.75])
    """

    blocks: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]
    kind: ClassVar[str] = "blocks"

    def __post_init__(self) -> None:
        count = len(self.blocks)
        if len(self.weights) != count or any(len(row) != count for row in self.weights):
            raise InputError(
                f"weights of noise must have {count} rows of {count} numbers, since there are "
                f"{count} numbers of blocks."
            )
        if not np.isfinite(np.array(self.weights, float)).all():
            raise InputError(
                "the weights of noise must be finite numbers; the file is damaged or was changed."
            )

    @classmethod
    def independent(cls, m: int, variance: float) -> "BlockNoise":
        """Return noise that is independent in each of m by m cells and has the given variance."""
        return cls((m,), ((variance,),))

    @classmethod
    def consistent(
        cls, sides: Sequence[int], assumed: ArrayLike, variances: ArrayLike
    ) -> "BlockNoise":
        """Return the noise in the finest counts after least squares over nested grids of counts.

        ``sides`` has the cells per side of each of l grids, from the coarsest to the finest, each a
        divisor of the next; ``assumed`` the noise variance of a count that least squares assumed,
        in any unit, and ``variances`` the true one, in squared records, both of shape (l,).

        Let P_k be the projection that replaces the counts of the finest cells by their averages
        over the cells of grid k, each of which has g_k finest cells. The matrix of the normal
        equations is the sum of (g_k / assumed_k) P_k over all grids. The projections are nested, so
        the eigenspaces of the matrix are the ranges of the differences of successive projections.
        The weights are differences of the covariance's eigenvalues on these eigenspaces.
        """
        m = sides[-1]
        g, u, v = np.array([(m / s) ** 2 for s in sides]), np.array(assumed), np.array(variances)
        inverse = np.cumsum((g / u)[::-1])[::-1]
        spread = np.cumsum((g * v / u**2)[::-1])[::-1] / inverse**2
        weights = np.diag(spread - np.append(spread[1:], 0))
        return cls(tuple(sides), tuple(map(tuple, weights.tolist())))

    def variance(self, grid: Grid, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the noise variance of the sum of counts over each of q boxes, shape (q,)."""
        x, y = (
            np.stack([squared_fractions(span, b) * (grid.m / b) for b in self.blocks])
            for span in spans(queries)
        )
        return np.einsum("iq,ij,jq->q", x, np.array(self.weights), y, optimize=True)

    def separate(self, grid: Grid) -> bool:
        """Return whether every block is one cell, so that the noise of each cell is independent."""
        return self.blocks == (grid.m,)

    def arrays(self) -> dict[str, NDArray]:
        """Return an empty dict, since ``settings`` describes the noise."""
        return {}

    def settings(self) -> dict[str, Any]:
        """Return the blocks and the weights, as JSON values."""
        return {"blocks": list(self.blocks), "weights": [list(row) for row in self.weights]}

    @classmethod
    def restore(
        cls, grid: Grid, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "BlockNoise":
        """Return the noise whose ``settings`` were read from a file; ``arrays`` must be empty."""
        if arrays:
            raise InputError(
                "a grid whose noise is given by blocks has no arrays of noise, but the file holds "
                f"{sorted(arrays)}; the file is damaged or was changed."
            )
        blocks = tuple(int(b) for b in settings["blocks"])
        if len(blocks) > _MAX_LEVELS or any(b < 1 or grid.m % b for b in blocks):
            raise InputError(
                f"the blocks of the noise must be at most {_MAX_LEVELS} numbers, and each must "
                f"divide {grid.m}, the number of the grid's cells per side."
            )
        return cls(blocks, tuple(tuple(map(float, row)) for row in settings["weights"]))


@dataclass(frozen=True, eq=False)
class AxisNoise:
    """Noise in a grid's counts, with the Kronecker product of a matrix C and itself as covariance.

    The noise in the cells (i, j) and (k, l) has the covariance C[i, k] C[j, l].
    """

    grid: Grid
    covariance: NDArray
    kind: ClassVar[str] = "axes"

    @cached_property
    def _table(self) -> SummedArea:
        return SummedArea(self.grid, self.covariance)

    def variance(self, grid: Grid, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the variance of the noise in the count of each box, shape (q,)."""
        # Let w be the fractions of the m cells along an axis that an interval covers. If the
        # entries of C are the values of a grid's cells, the quadratic form w C w is the sum over
        # the box that has this interval as its side on both axes.
        x, y = queries.x, queries.y
        width, height = queries.width, queries.height
        along_x = self._table.sums(RangeQueries(queries.region, x, x, width, width))
        along_y = self._table.sums(RangeQueries(queries.region, y, y, height, height))
        # Where terms cancel, rounding may leave two negative numbers with a positive product.
        return np.maximum(along_x, 0) * np.maximum(along_y, 0)

    def separate(self, grid: Grid) -> bool:
        """Return False, because the noise in different cells is correlated."""
        return False

    def arrays(self) -> dict[str, NDArray]:
        """Return the matrix ``covariance``, by its name, for a file."""
        return {"covariance": self.covariance}

    def settings(self) -> dict[str, Any]:
        """Return an empty dict, because the array describes the noise completely."""
        return {}

    @classmethod
    def restore(
        cls, grid: Grid, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "AxisNoise":
        """Return the noise that arrays read from a file describe."""
        if set(arrays) != {"covariance"} or arrays["covariance"].shape != (grid.m, grid.m):
            raise InputError(
                f"the noise must have one array, 'covariance', of shape ({grid.m}, {grid.m}), "
                f"not {sorted((name, array.shape) for name, array in arrays.items())}."
            )
        return cls(grid, arrays["covariance"])


@dataclass(frozen=True, eq=False)
class CellNoise:
    """Noise in the counts of a partition: independent in each cell, and shared inside coarse cells.

    For a box, ``variance`` times the sum of the squared covered fractions of all cells, plus the
    same sum over the k by k cells of a coarse grid, each times its weight, which may be negative.
    """

    variance: float
    coarse: NDArray[np.float64] | None = None

    def of(self, cells: Partition, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the noise variance of the sum of counts over each of q boxes, shape (q,)."""
        found = self.variance * _squared_overlaps(cells, queries)
        if self.coarse is not None:
            found += _weighed_squares(self.coarse, queries)
        return np.maximum(found, 0)  # rounding may leave a negative number

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays for a file: the weights of the coarse grid, if there is one."""
        return {} if self.coarse is None else {"noise": self.coarse}

    def settings(self) -> dict[str, Any]:
        """Return the settings for a file: the variance of each cell's independent noise."""
        return {"variance": self.variance}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]) -> "CellNoise":
        """Return the noise whose ``arrays`` and ``settings`` were read from a file."""
        variance, coarse = float(settings["variance"]), arrays.get("noise")
        if set(arrays) - {"noise"}:
            raise InputError(
                "the noise of a partition has at most one array, named 'noise', but the file holds "
                f"{sorted(arrays)}; the file is damaged or was changed."
            )
        if not 0 <= variance < np.inf:
            raise InputError(
                f"the variance of noise must be a finite number of at least 0, not {variance}."
            )
        if coarse is not None and not (coarse.ndim == 2 and 0 < len(coarse) == coarse.shape[1]):
            raise InputError(f"the array 'noise' must be square, not of shape {coarse.shape}.")
        return cls(variance, coarse)


def _squared_overlaps(cells: Partition, queries: RangeQueries) -> Float[np.ndarray, " q"]:
    """Return, for each box, the sum of the squared covered fractions of all cells, shape (q,)."""
    (x0, x1), (y0, y1) = (span * cells.region.side_m for span in spans(queries))
    column, row = (np.round(span.mean(axis=0) * _TILES) for span in spans(queries))
    order = np.lexsort((row, column))
    found = np.zeros(len(queries))
    for start in range(0, len(queries), _BOXES):
        some = order[start : start + _BOXES, None]
        west, east, south, north = x0[some], x1[some], y0[some], y1[some]
        near = (cells.x0 < east.max()) & (cells.x1 > west.min())
        near &= (cells.y0 < north.max()) & (cells.y1 > south.min())
        rows = np.flatnonzero(near)
        for part in np.split(rows, range(_CELLS, rows.size, _CELLS)):
            covered = _covered(west, east, cells.x0[part], cells.x1[part])
            covered *= _covered(south, north, cells.y0[part], cells.y1[part])
            found[some[:, 0]] += np.einsum("qc,qc->q", covered, covered)
    return found


def _covered(low: NDArray, high: NDArray, start: NDArray, end: NDArray) -> NDArray[np.float64]:
    """Return the fraction of each of c cells, ``start`` to ``end``, that each interval covers."""
    shared = np.minimum(high, end)
    shared -= np.maximum(low, start)
    np.maximum(shared, 0, out=shared)
    shared /= end - start
    return shared


def _weighed_squares(
    weights: NDArray[np.float64], queries: RangeQueries
) -> Float[np.ndarray, " q"]:
    """Return, for each box, the weighted sum of a grid's squared covered fractions."""
    parts = [np.zeros(0)]
    for some in queries.chunks(_ROWS):
        x, y = (fractions(span, len(weights)) ** 2 for span in spans(some))
        parts.append(np.einsum("qi,qi->q", x @ weights, y))
    return np.concatenate(parts)


def unknown_variance(queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
    """Return nan for each box, for models whose noise variance is unknown."""
    return np.full(len(queries), np.nan)


class UnknownNoise:
    """A base class of models whose noise variance is unknown, such as neural networks."""

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return nan for each box, shape (q,): the variance of the noise is unknown."""
        return unknown_variance(queries)

    @property
    def separate(self) -> bool:
        """False, since the counts of cells are not known to have independent noise."""
        return False


def spans(queries: RangeQueries) -> tuple[Float[np.ndarray, "2 q"], Float[np.ndarray, "2 q"]]:
    """Return the ends of q boxes along x and along y, cut to the region, which is from 0 to 1."""
    side = queries.region.side_m
    x, y = np.stack([queries.x, queries.x1]), np.stack([queries.y, queries.y1])
    return np.clip(x / side, 0, 1), np.clip(y / side, 0, 1)


def fractions(span: Float[np.ndarray, "2 q"], m: int) -> Float[np.ndarray, "q {m}"]:
    """Return the fraction of each of ``m`` equal cells of [0, 1] that each interval covers."""
    low, high = (np.clip(end[:, None] * m - np.arange(m), 0, 1) for end in span)
    return high - low


def squared_fractions(span: Float[np.ndarray, "2 q"], m: int) -> Float[np.ndarray, " q"]:
    """Return the sum of the squared ``fractions`` for each interval, in a time independent of m."""
    low, high = span * m
    first, last = np.floor(low), np.floor(high)
    several = (first + 1 - low) ** 2 + (last - first - 1) + (high - last) ** 2
    return np.where(first == last, (high - low) ** 2, several)
