"""The table of expected errors, and the public numbers on which these errors depend."""

import json
import math
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.builders import Privelet, QuadTree
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.planning.crowding import crowding, sparsity

__all__ = ["CITY_KEYS", "SIDE_M", "Situation", "plan_table", "regressors", "rounding"]

SIDE_M = 13_200.0
"""The side, in metres, of the regions in which most errors of ``plan_table`` were measured."""

CITY_KEYS = ("crowding", "sparsity")
"""What ``plan_table`` holds of each city."""

_HALVED = {"quadtree": QuadTree().height_for, "privelet": Privelet().halvings}
"""Methods whose cell width is rounded to half, a quarter, ... of the region's side."""

_SIDES_M = (3_300.0, 26_400.0)  # range of the sides of regions for which the table is valid


class Situation:
    """The public numbers on which expected errors depend, except epsilon and the query sizes.

    Parameters
    ----------
    n : int
        Number of records.
    side_m : float
        Side of the region in metres.
    crowdings : ndarray, shape (c, 3)
        The results of ``crowding``: of the public points (c = 1), or of the c cities of
        ``plan_table`` if no public points are given.
    sparsities : ndarray, shape (c, 4)
        The results of ``sparsity`` for the same points.
    """

    def __init__(
        self,
        n: int,
        side_m: float,
        crowdings: NDArray[np.float64],
        sparsities: NDArray[np.float64],
    ) -> None:
        self.n, self.side_m = n, side_m
        self.crowdings, self.sparsities = crowdings, sparsities

    @classmethod
    def of(cls, n: int, public: Points | None) -> "Situation":
        """Return the public numbers for n records in the region of public points.

        Without public points, the region is assumed to be 13.2 km wide.

        Raises
        ------
        InputError
            If n is not a whole number of at least 1, there are fewer than 100 public points, or the
            region's side is outside the range of ``plan_table``.
        """
        n = whole("n", n, least=1)
        if public is None:
            cities = plan_table()["cities"].values()
            return cls(n, SIDE_M, *(np.array([c[k] for c in cities]) for k in CITY_KEYS))
        side_m = public.region.side_m
        if not _SIDES_M[0] <= side_m <= _SIDES_M[1]:
            low, high = _SIDES_M
            raise InputError(
                f"public: expected errors are known for regions {low:,.0f} to {high:,.0f} m wide, "
                f"not {side_m:,.0f} m; leave public out to assume a region of {SIDE_M:,.0f} m."
            )
        return cls(n, side_m, crowding(public)[None], sparsity(public)[None])

    def terms(self, name: str, epsilon: float, band: int) -> NDArray[np.float64]:
        """Return the result of ``regressors`` for a method, an epsilon and a size band.

        Parameters
        ----------
        name : str
            Short name of the method.
        epsilon : float
            The epsilon of a release.
        band : int
            The place of the size band in ``SIZE_BANDS_M``.

        Returns
        -------
        ndarray, shape (c, 16)
            A row for each set of points.

        Raises
        ------
        InputError
            If n times epsilon is outside the range of ``plan_table``.
        """
        low, high = plan_table()["n_epsilon"]
        if not low <= self.n * epsilon <= high:
            raise InputError(
                f"n times epsilon = {self.n * epsilon:,.0f}, but expected errors are known only "
                f"for values from {low:,.0f} to {high:,.0f}; give another n or epsilon."
            )
        return regressors(
            self.n,
            epsilon,
            self.side_m,
            self.crowdings,
            self.sparsities[:, band],
            rounding(name, self.side_m, self.n, epsilon),
        )


def rounding(name: str, side_m: float, n: int, epsilon: float) -> float:
    """Return by how much the cell width of a method is rounded, as a natural logarithm.

    The cell width of QuadTree and Privelet is the side of the region divided by a power of two. The
    result is the logarithm of this width, divided by the width without rounding times a constant.
    For the other methods, the result is 0.
    """
    if name not in _HALVED:
        return 0.0
    width_m = side_m / 2 ** _HALVED[name](side_m, n, epsilon)
    return math.log(width_m / default_cell_width(n, epsilon)) - 0.5


def regressors(
    n: float,
    epsilon: float,
    side_m: float,
    crowdings: NDArray[np.float64],
    sparsities: NDArray[np.float64],
    rounded: float,
) -> NDArray[np.float64]:
    """Return the 16 regressors of the model for the logarithm of an error, shape (c, 16).

    For c sets of points, ``crowdings`` holds the results of ``crowding``, shape (c, 3), and
    ``sparsities`` those of ``sparsity`` for one size band, shape (c,). ``rounded`` is the result of
    ``rounding``.
    """
    f = crowdings + np.array([8.0, 6.5, 4.8])  # approximately centred at 0
    h = sparsities - 5.0
    both = np.full(len(f), math.log(n * epsilon) - 8)
    ones = np.ones(len(f))
    side = math.log(side_m / SIDE_M)
    columns = [ones, both, both**2, ones * (math.log(n) - 9), ones * side, *f.T]
    columns += [*(both[:, None] * f).T, f[:, 1] ** 2, h, h * both]
    return np.column_stack([*columns, ones * rounded, both * rounded])


def plan_table() -> dict[str, Any]:
    """Return the table of expected errors that comes with snhkit, as JSON values.

    The table holds the fitted coefficients of the model, the ranges of the measurements, and the
    data sets and the date of the measurements.
    """
    return _table()


@cache
def _table() -> dict[str, Any]:
    text = resources.files("snhkit.planning").joinpath("table.json").read_text("utf-8")
    return json.loads(text)
