"""Noise in a grid's counts whose covariance is a product of equal factors along both axes."""

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
    """Noise whose covariance is the Kronecker product of a matrix with itself.

    Parameters
    ----------
    grid : Grid
        The grid whose counts have the noise.
    covariance : ndarray, shape (m, m)
        The factor C: counts of the cells (i, j) and (k, l) have the covariance C[i, k] C[j, l].

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
        """Return the variance of the noise in the sum over each box, shape (q,)."""
        # The quadratic form w C w, for the fractions w of cells that an interval covers, is the sum
        # of C over the interval's square.
        x, y = queries.x, queries.y
        width, height = queries.width, queries.height
        along_x = self._table.sums(RangeQueries(queries.region, x, x, width, width))
        along_y = self._table.sums(RangeQueries(queries.region, y, y, height, height))
        # Where terms cancel, rounding may leave two negative numbers with a positive product.
        return np.maximum(along_x, 0) * np.maximum(along_y, 0)

    def separate(self, grid: Grid) -> bool:
        """Return False: cells of one row or column have correlated noise."""
        return False

    def arrays(self) -> dict[str, NDArray]:
        """Return the factor of the covariance."""
        return {"covariance": self.covariance}

    def settings(self) -> dict[str, Any]:
        """Return no settings; the array describes the noise."""
        return {}

    @classmethod
    def restore(
        cls, grid: Grid, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "AxisNoise":
        """Return the noise that the arrays of a file describe.

        Raises
        ------
        InputError
            If the file does not hold exactly one array of the right shape.
        """
        if set(arrays) != {"covariance"} or arrays["covariance"].shape != (grid.m, grid.m):
            raise InputError(
                f"the noise must have one array, 'covariance', of shape ({grid.m}, {grid.m}), "
                f"not {sorted((name, array.shape) for name, array in arrays.items())}."
            )
        return cls(grid, arrays["covariance"])
