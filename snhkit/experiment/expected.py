"""The errors to expect of methods, computed from public numbers before any epsilon is spent."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snhkit.builders import Privelet, QuadTree
from snhkit.builders.width.cell_width import default_cell_width
from snhkit.checks import positive, two_numbers, whole
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.experiment.crowding import crowding, sparsity
from snhkit.experiment.evaluation import SIZE_BANDS_M
from snhkit.experiment.methods import method
from snhkit.geometry import Points
from snhkit.privacy import Epsilon, exact, written

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PLANNED", "Situation", "epsilon_for", "expected_error", "plan_table"]

PLANNED = ("rel_error", "abs_error", "abs_error_anywhere")
"""The columns of ``compare`` for which ``expected_error`` gives expected values."""

SIDE_M = 13_200.0
"""The side, in metres, of the regions in which most errors of ``plan_table`` were measured."""

_HALVED = {"quadtree": QuadTree().height_for, "privelet": Privelet().halvings}
"""Methods whose cell width is rounded to half, a quarter, ... of the region's side."""

_SIDES_M = (3_300.0, 26_400.0)  # range of the sides of regions for which the table is valid
_TAIL = 1.2816  # a tenth of a normal distribution lies this many standard deviations above its mean
_STEPS = 160  # values of epsilon that are tried in the search


def expected_error(
    methods: str | Sequence[str],
    *,
    n: int,
    epsilon: Epsilon,
    sizes_m: tuple[float, float] | None = DEFAULT_SIZES_M,
    public: Points | None = None,
) -> "pd.DataFrame":
    """Return the errors to expect of methods, without the use of any record.

    The errors come from a table, ``plan_table``, that was measured on public data sets. Therefore
    no epsilon is spent.

    Parameters
    ----------
    methods : str or sequence of str
        Short names of methods.
    n : int
        The number of records; a rough number is enough.
    epsilon : int, float, str, Decimal or Fraction
        The epsilon of a release. For the unit of privacy "user", give the epsilon of the release
        divided by ``max_per_user``.
    sizes_m : (float, float), optional
        Smallest and largest side of the squares in metres. With None, the result has a row for each
        of the default size bands of ``compare_sizes``.
    public : Points, optional
        At least 100 public points of the region that are about as clustered as the records.
        Without public points, the region is assumed to be 13.2 km wide, and the bounds of the
        errors allow for both clustered and evenly spread records.

    Returns
    -------
    DataFrame
        One row for each method and size band, with the columns

        - ``method``, ``n``, ``epsilon``, ``from_m`` and ``to_m``;
        - ``rel_error``, the expected mean relative error of squares around records;
        - ``abs_error``, the expected mean absolute error, in records, of squares around records;
        - ``abs_error_anywhere``, the expected mean absolute error, in records, of squares placed
          uniformly in the region;
        - for each of the three errors, bounds such as ``rel_error_low`` and ``rel_error_high``.

        An expected error is a median over cities. The errors of 8 of 10 cities are expected to lie
        between the bounds. A row is left out if the method was not measured for these sizes.

    Raises
    ------
    InputError
        If a method is unknown or was not measured for these sizes, or a number is outside the range
        of the table.

    See Also
    --------
    epsilon_for : The epsilon for a given error.

    Examples
    --------
    >>> import snhkit as snh
    >>> table = snh.expected_error(["ug", "identity"], n=200_000, epsilon=0.2)
    >>> bool(table.rel_error[1] < table.rel_error[0])
    True

    Notes
    -----
    ``python benchmarks/plan_table.py`` measures errors, fits the table to the errors, and tests the
    table on other cities. The logarithm of an error is modelled as a polynomial in the logarithms
    of n times epsilon, of n and of the side of the region, and in the values of ``crowding`` and
    ``sparsity``.
    """
    import pandas as pd

    place = Situation.of(n, public)
    names = [methods] if isinstance(methods, str) else list(methods)
    bands = list(SIZE_BANDS_M) if sizes_m is None else [_sizes(sizes_m)]
    price = float(exact(epsilon))
    rows = []
    for name in names:
        title = method(name).title
        for band in bands:
            if (found := _expected(name, place, price, band)) is not None:
                rows.append({"method": name, "n": place.n, "epsilon": price,
                             "from_m": band[0], "to_m": band[1], **found})  # fmt: skip
        if not rows or rows[-1]["method"] != name:
            raise InputError(
                f"{title} was not measured for squares of these sizes; give other sizes_m or "
                "another method."
            )
    return pd.DataFrame(rows)


def epsilon_for(
    name: str,
    wanted: float,
    *,
    n: int,
    measure: str = "rel_error",
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
    public: Points | None = None,
) -> float:
    """Return the smallest epsilon at which the expected error of a method is at most ``wanted``.

    Parameters
    ----------
    name : str
        Short name of the method.
    wanted : float
        The largest allowed error. For ``measure="rel_error"``, 0.1 means 10 %; for the other
        measures, the error is in records.
    n : int
        The number of records; a rough number is enough.
    measure : str
        The kind of error, a column of ``expected_error``: ``"rel_error"``, ``"abs_error"`` or
        ``"abs_error_anywhere"``.
    sizes_m : (float, float)
        Smallest and largest side of the squares in metres.
    public : Points, optional
        Public points that are about as clustered as the records; see ``expected_error``.

    Returns
    -------
    float
        Epsilon, rounded up to two significant digits.

    Raises
    ------
    InputError
        If the expected error is larger than ``wanted`` at every epsilon for which it is known; the
        message gives the smallest expected error. Also if the method or the measure is unknown, or
        a number is outside the range of the table of expected errors.

    Examples
    --------
    >>> import snhkit as snh
    >>> epsilon = snh.epsilon_for("identity", 0.1, n=200_000)
    >>> snh.expected_error("identity", n=200_000, epsilon=epsilon).rel_error[0] <= 0.1
    np.True_
    """
    positive("wanted", wanted)
    if measure not in PLANNED:
        raise InputError(f"measure must be one of {', '.join(PLANNED)}, not {measure!r}.")
    place, band = Situation.of(n, public), _sizes(sizes_m)
    low, high = (bound / place.n for bound in plan_table()["n_epsilon"])
    least = math.inf
    for epsilon in np.geomspace(low * 1.001, min(high, 20) * 0.96, _STEPS):
        rounded = _up(float(epsilon))
        if rounded > high:
            break
        found = _expected(name, place, rounded, band)
        if found is None:
            raise InputError(
                f"{method(name).title} was not measured for squares of these sizes; give other "
                "sizes_m or another method."
            )
        least = min(least, found[measure])
        if found[measure] <= wanted:
            return rounded
    raise InputError(
        f"{method(name).title}: no epsilon gives an expected {measure} of at most {wanted:g}; the "
        f"smallest is {least:.3g}. Allow a larger error, or give other sizes_m or another method."
    )


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


CITY_KEYS = ("crowding", "sparsity")
"""What ``plan_table`` holds of each city."""


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
    text = resources.files("snhkit.experiment").joinpath("plan_table.json").read_text("utf-8")
    return json.loads(text)


def _sizes(sizes_m: tuple[float, float]) -> tuple[float, float]:
    low, high = two_numbers("sizes_m", sizes_m)
    middle = (low + high) / 2
    least, most = (sum(band) / 2 for band in (SIZE_BANDS_M[0], SIZE_BANDS_M[-1]))
    if not (0 < low <= high and 0.75 * least <= middle <= 1.25 * most):
        raise InputError(
            f"sizes_m must be (low, high) with 0 < low <= high, and (low + high) / 2 must be from "
            f"{0.75 * least:g} to {1.25 * most:g} metres, not {sizes_m}."
        )
    return low, high


def _expected(
    name: str, place: Situation, epsilon: float, sizes_m: tuple[float, float]
) -> dict[str, float] | None:
    """Return the expected errors of a method with their bounds, by the column's name.

    If the mean side lies between those of two size bands, the predictions for both bands are
    interpolated. If the method was not measured for squares of these sizes, the result is None.
    """
    fits: Mapping[str, Any] = plan_table()["fits"].get(method(name) and name, {})
    middles = [sum(band) / 2 for band in SIZE_BANDS_M]
    at = np.interp(np.log(sum(sizes_m) / 2), np.log(middles), np.arange(len(middles)))
    below, above = int(np.floor(at)), int(np.ceil(at))
    terms = {i: place.terms(name, epsilon, i) for i in (below, above)}
    found: dict[str, float] = {}
    for measure in PLANNED:
        parts = [fits.get(f"{SIZE_BANDS_M[i][0]:g}", {}).get(measure) for i in (below, above)]
        if None in parts:
            return None
        logs, spread = (
            (1 - at + below) * low + (at - below) * high
            for low, high in zip(
                _predicted(parts[0], terms[below]), _predicted(parts[1], terms[above]), strict=True
            )
        )
        across = np.quantile(logs, (0.1, 0.5, 0.9))
        # The differences between cities and the residuals of the fit are combined.
        wide = np.hypot(across - across[1], _TAIL * spread)
        found[measure] = math.exp(across[1])
        found[f"{measure}_low"] = math.exp(across[1] - wide[0])
        found[f"{measure}_high"] = math.exp(across[1] + wide[2])
    return found


def _predicted(part: Mapping[str, Any], terms: NDArray) -> tuple[NDArray[np.float64], float]:
    return terms @ np.array(part["coefficients"]), float(part["spread"])


def _up(epsilon: float) -> float:
    """Return a number rounded up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return float(written(exact(f"{math.ceil(epsilon / unit - 1e-9) * unit:.10f}")))
