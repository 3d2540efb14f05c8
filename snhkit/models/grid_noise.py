"""The covariance of the noise in a grid's estimated counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries
from snhkit.geometry.overlaps import spans, squared_fractions

__all__ = ["BlockNoise", "GridNoise"]

_MAX_LEVELS = 64


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

    The grid has m by m cells. Divide the x axis into b equal blocks of m / b cells. Let X_b be
    m / b times the sum of the squared fractions of these blocks that a box covers, and Y_b the same
    along the y axis. The variance of the noise in the sum of counts over the box is the sum of
    weights[i][j] X_b Y_c over all i and j, where b = blocks[i] and c = blocks[j].

    Parameters
    ----------
    blocks : tuple of int
        The numbers of equal blocks into which an axis is divided; each number divides m.
    weights : tuple of tuple of float
        A square matrix of weights, in squared records, with one row and one column for each entry
        of ``blocks``. Rows are for the x axis, columns for the y axis.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Grid(Region.around(lat=0, lon=0, side_m=4), 4)
    >>> boxes = RangeQueries(city.region, [0, 0], [0, 0], [2, 1.5], [2, 1])
    >>> BlockNoise.independent(4, 3.0).variance(city, boxes)
    array([12.  ,  3.75])

    Notes
    -----
    Let P_b be the projection of a vector of m numbers onto its averages over b blocks. The
    covariance of the counts is the sum of weights[i][j] P_b ⊗ P_c, and X_b is the squared length
    of P_b w, for w the fractions of the m cells that a box covers along x.
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

        Parameters
        ----------
        sides : sequence of int
            The number of cells per side of each of l grids, from the coarsest to the finest; each
            number divides the next.
        assumed : array_like, shape (l,)
            For each grid, the noise variance of a count that least squares assumed, in any unit.
        variances : array_like, shape (l,)
            For each grid, the true noise variance of a count, in squared records.

        Notes
        -----
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
