"""The variance of the noise in counts of polygons, also where cells have correlated noise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import Grid, Partition, RangeQueries
from snhkit.models import Model
from snhkit.models.axis_noise import AxisNoise
from snhkit.models.cell_noise import CellNoise
from snhkit.models.grid_noise import BlockNoise
from snhkit.release.polygons import cover

__all__ = ["polygon_variance"]


def polygon_variance(parts: Model, shapes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the variance of the noise in the count of each polygon, shape (q,).

    Parameters
    ----------
    parts : Model
        A model whose answers to disjoint boxes add up, as ``Model.additive`` returns.
    shapes : ndarray of shapely geometries, shape (q,)
        Polygons in metres from the region's lower-left corner.

    Returns
    -------
    ndarray
        Variances in squared records; nan if there is no formula for the noise of this model.
    """
    cells = parts.cells()
    noise = getattr(parts, "noise_model", None)
    if parts.separate:
        owner, boxes, share = cover(cells, shapes)
        squares = share**2 * parts.noise_variance(boxes)
        return np.bincount(owner, squares, len(shapes)).astype(float)
    if isinstance(noise, CellNoise) and isinstance(cells, Partition):
        return _of_partition(cells, noise, shapes)
    if isinstance(noise, (AxisNoise, BlockNoise)) and isinstance(cells, Grid):
        return _of_grid(cells, noise, shapes)
    return np.full(len(shapes), np.nan)


def _of_partition(cells: Partition, noise: CellNoise, shapes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the noise variance of each polygon's count, shape (q,), for a partition.

    Each variance is the sum of a part for the cells and a part for ``CellNoise.coarse`` (the
    formula is in ``CellNoise``).
    """
    owner, _, share = cover(cells, shapes)
    found = noise.variance * np.bincount(owner, share**2, len(shapes))
    coarse = noise.coarse
    if coarse is not None:
        grid = Grid(cells.region, len(coarse))
        owner, weights = _grid_weights(grid, shapes)
        for i, (corner, w) in zip(owner, weights, strict=True):
            rows, columns = (slice(at, at + n) for at, n in zip(corner, w.shape, strict=True))
            found[i] += float((coarse[rows, columns] * w**2).sum())
    return np.maximum(found, 0)  # rounding may leave a negative number


def _of_grid(
    grid: Grid, noise: AxisNoise | BlockNoise, shapes: NDArray[Any]
) -> NDArray[np.float64]:
    found = np.zeros(len(shapes))
    for i, (corner, w) in zip(*_grid_weights(grid, shapes), strict=True):
        if isinstance(noise, AxisNoise):
            rows, columns = (slice(at, at + n) for at, n in zip(corner, w.shape, strict=True))
            along_x, along_y = noise.covariance[rows, rows], noise.covariance[columns, columns]
            found[i] = float((w * (along_x @ w @ along_y)).sum())
        else:
            found[i] = _of_blocks(grid.m, noise, corner, w)
    return np.maximum(found, 0)


def _of_blocks(m: int, noise: BlockNoise, corner: tuple[int, int], w: NDArray) -> float:
    """Return the noise variance of the count of a polygon (the formula is in ``BlockNoise``).

    ``w`` holds the fraction of each cell that the polygon covers; the first entry belongs to the
    cell whose column and row are ``corner``.
    """
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
    """Return sums of ``w`` along an axis, over blocks of ``size`` cells of the grid.

    The first entry of ``w`` belongs to cell ``first`` of the grid along the axis, so the first and
    the last block may be incomplete.
    """
    ends = np.arange(size - first % size, w.shape[axis], size)
    return np.add.reduceat(w, np.concatenate([[0], ends]), axis=axis)


def _grid_weights(
    grid: Grid, shapes: NDArray[Any]
) -> tuple[NDArray[np.int64], list[tuple[tuple[int, int], NDArray[np.float64]]]]:
    """Return the indices of the polygons that reach the grid, and the ``_weights`` of each."""
    owner, boxes, share = cover(grid, shapes)
    reached = np.unique(owner)
    return reached, [_weights(grid, boxes[owner == i], share[owner == i]) for i in reached]


def _weights(
    grid: Grid, boxes: RangeQueries, share: NDArray[np.float64]
) -> tuple[tuple[int, int], NDArray[np.float64]]:
    """Return the share of each cell that a polygon covers, from the boxes of ``cover``.

    The result is the first column and row that the polygon reaches, and an array of shares whose
    first entry belongs to this column and row.
    """
    low = np.rint(np.stack([boxes.x, boxes.y]) / grid.cell_m).astype(np.int64)
    high = np.rint(np.stack([boxes.x1, boxes.y1]) / grid.cell_m).astype(np.int64)
    first, end = low.min(axis=1), high.max(axis=1)
    w = np.zeros(end - first)
    for (x0, y0), (x1, y1), part in zip((low.T - first), (high.T - first), share, strict=True):
        w[x0:x1, y0:y1] = part
    return (int(first[0]), int(first[1])), w
