"""The covariance of the noise in estimated counts of rectangular cells of any sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Partition, RangeQueries
from snhkit.geometry.overlaps import fractions, spans

__all__ = ["CellNoise"]

_TILES = 64  # tiles per side; boxes are sorted by tile, so that those of a step lie close together
_BOXES, _CELLS = 64, 4_096  # boxes and cells per step, to fit into the cache
_ROWS = 1_024  # boxes per step for the coarse grid


@dataclass(frozen=True, eq=False)
class CellNoise:
    """The covariance of the noise in estimated counts of rectangular cells of any sizes.

    Every cell has independent noise. In addition, all cells inside one cell of a coarse grid may
    share noise. The variance of the noise in the sum of counts over a box therefore has two parts.
    The first is ``variance`` times the sum, over all cells, of the squared fraction of the cell
    that the box covers. The second is the same sum over the cells of the coarse grid, in which each
    squared fraction is multiplied by the weight of its coarse cell.

    Parameters
    ----------
    variance : float
        The variance of each cell's independent noise, in squared records.
    coarse : ndarray, shape (k, k), optional
        The weight of each cell of a coarse grid with k cells per side, in squared records. A weight
        is negative where noisy counts of coarse cells have reduced the variance of sums of cells.
        By default, no noise is shared.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=4)
    >>> halves = Partition(city, [0, 0], [0, 1], [4, 4], [1, 4])
    >>> boxes = RangeQueries(city, [0, 0], [0, 0], [4, 2], [4, 1])
    >>> CellNoise(8.0).of(halves, boxes)
    array([16.,  2.])
    >>> CellNoise(8.0, np.array([[-4.0]])).of(halves, boxes)
    array([12.    ,  1.9375])
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
    """Return the fraction of each of c cells that each of q intervals covers, shape (q, c).

    Along one axis, the intervals extend from ``low`` to ``high``, shape (q, 1), and the cells from
    ``start`` to ``end``, shape (c,).
    """
    shared = np.minimum(high, end)
    shared -= np.maximum(low, start)
    np.maximum(shared, 0, out=shared)
    shared /= end - start
    return shared


def _weighed_squares(
    weights: NDArray[np.float64], queries: RangeQueries
) -> Float[np.ndarray, " q"]:
    """Return, for each box, the weighted sum of the squared covered fractions of a grid's cells.

    ``weights`` has one weight for each cell, shape (k, k). The result has shape (q,).
    """
    parts = [np.zeros(0)]
    for some in queries.chunks(_ROWS):
        x, y = (fractions(span, len(weights)) ** 2 for span in spans(some))
        parts.append(np.einsum("qi,qi->q", x @ weights, y))
    return np.concatenate(parts)
