"""Noise in a grid's counts, with a covariance that is a product of one factor for each axis."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, SummedArea

__all__ = ["AxisNoise"]


@dataclass(frozen=True, eq=False)
class AxisNoise:
    """Noise in a grid's counts, with the Kronecker product of a matrix and itself as covariance.

    Parameters
    ----------
    grid : Grid
        The grid of m by m cells.
    covariance : ndarray, shape (m, m)
        The matrix C: the noise in the counts of the cells (i, j) and (k, l) has the covariance
        C[i, k] C[j, l].

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Grid(Region.around(lat=0, lon=0, side_m=4), 2)
    >>> boxes = RangeQueries(city.region, [0, 0], [0, 0], [2, 1], [4, 4])
    >>> AxisNoise(city, np.array([[2.0, -1.0], [-1.0, 2.0]])).variance(city, boxes)
    array([4., 1.])
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
