"""The errors to expect of methods, computed from public numbers before any epsilon is spent."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from snhkit.builder import Builder
from snhkit.checks import positive, two_numbers
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import By, Points, Region
from snhkit.methods import method, name_of
from snhkit.metrics import SIZE_BANDS_M
from snhkit.planning.table import PLANNED, Situation, plan_table
from snhkit.privacy import Epsilon, exact, written

_STEPS = 160  # values of epsilon that are tried in the search


def expected_error(
    methods: str | Builder | Sequence[str | Builder],
    *,
    n: int,
    epsilon: Epsilon,
    sizes_m: tuple[float, float] | None = DEFAULT_SIZES_M,
    public: Points | None = None,
    region: Region | None = None,
    unit: str = "record",
    max_per_user: int | None = None,
    by: By | None = None,
) -> pd.DataFrame:
    """Return the errors to expect of methods, without the use of any record.

    The errors come from a table, ``plan_table``, that was measured on public data sets. Therefore
    no epsilon is spent.

    Parameters
    ----------
    methods : str, Builder, or sequence of these
        Methods by short names, or builders with their default settings.
    n : int
        The number of records that are kept; a rough number is enough.
    epsilon : int, float, str, Decimal or Fraction
        The epsilon of a release.
    sizes_m : (float, float), optional
        Smallest and largest side of the squares in metres. With None, the result has a row for each
        of the default size bands of ``compare_sizes``.
    public : Points, optional
        At least 100 public points of the region that are about as clustered as the records.
        Without public points, the bounds of the errors allow for both clustered and evenly spread
        records.
    region : Region, optional
        The region of the records; by default that of the public points, or 13.2 km wide.
    unit : str
        The unit of privacy, as in ``PrivateDataset``. The noise of a count grows with the number of
        records of a unit.
    max_per_user : int, optional
        For all units but "record", the largest number of records that are kept of a unit.
    by : By, optional
        The strata of a release, such as ``By.hour()``. The errors are then those of one stratum
        that has its share of the n records; see ``recommend``, which says what the split costs.

    Returns
    -------
    DataFrame
        One row for each method and size band, with the columns

        - ``method``, ``n`` (of a stratum, if there are strata), ``epsilon``, ``from_m`` and
          ``to_m``;
        - ``rel_error``, the expected mean relative error of squares around records;
        - ``abs_error``, the expected mean absolute error, in records, of squares around records;
        - ``abs_error_anywhere``, the expected mean absolute error, in records, of squares placed
          uniformly in the region;
        - for each of the three errors, bounds such as ``rel_error_low`` and ``rel_error_high``;
        - ``outside``, a text that is not empty if n times epsilon, the side of the region or the
          public points are outside the measured range, so that the nearest measured values apply.

        The errors of 8 of 10 places are expected to lie between the bounds. With
        ``sizes_m=None``, bands for which the method was not measured are left out.

    Raises
    ------
    InputError
        If a method is unknown or was not measured for these sizes, or an argument is invalid.

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
    ``python benchmarks/plan_table.py`` measures errors, fits the table to them, and tests the table
    on families of places that were left out of the fit. The logarithm of the error of ``Identity``
    is a quadratic function of the logarithm of n times epsilon, linear in the side of the region
    and in the results of ``crowding`` and ``sparsity``. The ratio of another method's error to it
    has four coefficients, and is monotone in n times epsilon.
    """
    several = isinstance(methods, Sequence) and not isinstance(methods, str)
    names = [name_of(one) for one in (methods if several else [methods])]  # pyright: ignore
    place = Situation.of(n, public, region, unit, max_per_user).divided(by)
    table = known_errors(names, place, epsilon, sizes_m)
    for name in names:
        if name not in set(table["method"]):
            raise InputError(
                f"{method(name).title} was not measured for squares of these sizes; give other "
                "sizes_m or another method."
            )
    return table


def known_errors(
    names: Sequence[str],
    place: Situation,
    epsilon: Epsilon,
    sizes_m: tuple[float, float] | None,
) -> pd.DataFrame:
    """Return the table of ``expected_error`` without methods that were not measured."""
    bands = list(SIZE_BANDS_M) if sizes_m is None else [_sizes(sizes_m)]
    price, per_record = float(exact(epsilon)), place.record_epsilon(epsilon)
    rows = [
        {
            "method": name,
            "n": place.n,
            "epsilon": price,
            "from_m": band[0],
            "to_m": band[1],
            **found,
            "outside": place.outside_at(per_record),
        }
        for name in names
        for band in bands
        if (found := _expected(name, place, per_record, band)) is not None
    ]
    return pd.DataFrame(rows, columns=None if rows else ["method"])


def epsilon_for(
    name: str | Builder,
    wanted: float,
    *,
    n: int,
    measure: str = "rel_error",
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
    public: Points | None = None,
    region: Region | None = None,
    unit: str = "record",
    max_per_user: int | None = None,
    by: By | None = None,
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
        The number of records that are kept; a rough number is enough.
    measure : str
        The kind of error, a column of ``expected_error``: ``"rel_error"``, ``"abs_error"`` or
        ``"abs_error_anywhere"``.
    sizes_m : (float, float)
        Smallest and largest side of the squares in metres.
    public : Points, optional
        Public points that are about as clustered as the records; see ``expected_error``.
    region : Region, optional
        The region of the records; see ``expected_error``.
    unit : str
        The unit of privacy, as in ``PrivateDataset``.
    max_per_user : int, optional
        For all units but "record", the largest number of records that are kept of a unit.
    by : By, optional
        The strata of a release; see ``expected_error``.

    Returns
    -------
    float
        The epsilon of a release, rounded up to two significant digits.

    Raises
    ------
    InputError
        If the expected error is larger than ``wanted`` at every epsilon for which it is known; the
        message gives the smallest expected error. Also if the method or the measure is unknown, or
        an argument is invalid.

    Examples
    --------
    >>> import snhkit as snh
    >>> epsilon = snh.epsilon_for("identity", 0.1, n=200_000)
    >>> snh.expected_error("identity", n=200_000, epsilon=epsilon).rel_error[0] <= 0.1
    np.True_
    """
    positive("wanted", wanted)
    name = name_of(name)
    if measure not in PLANNED:
        raise InputError(f"measure must be one of {', '.join(PLANNED)}, not {measure!r}.")
    place = Situation.of(n, public, region, unit, max_per_user).divided(by)
    band = _sizes(sizes_m)
    low, high = (
        bound / place.n * place.sensitivity for bound in plan_table()["ranges"]["n_epsilon"]
    )
    least = math.inf
    for epsilon in np.geomspace(low * 1.001, min(high, 20 * place.sensitivity) * 0.96, _STEPS):
        rounded = _up(float(epsilon))
        if rounded > high:
            break
        found = _expected(name, place, rounded / place.sensitivity, band)
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
    """Return expected errors with bounds, interpolated between bands; None if unmeasured."""
    fits: Mapping[str, Any] = plan_table()["fits"].get(method(name) and name, {})
    middles = [sum(band) / 2 for band in SIZE_BANDS_M]
    at = np.interp(np.log(sum(sizes_m) / 2), np.log(middles), np.arange(len(middles)))
    share = {int(np.floor(at)): 1 - at % 1} | ({int(np.ceil(at)): at % 1} if at % 1 else {})
    parts = {band: fits.get(f"{SIZE_BANDS_M[band][0]:g}") for band in share}
    found: dict[str, float] = {}
    for measure in PLANNED:
        logs, spread = 0.0, 0.0
        for band, part in parts.items():
            if part is None:
                return None
            logs += share[band] * place.logs(name, epsilon, band, measure)
            spread += share[band] * part[measure]["spread"]
        across = np.quantile(logs, (0.1, 0.5, 0.9))
        # The differences between places and the errors of the model are combined.
        wide = np.hypot(across - across[1], spread)
        found[measure] = math.exp(across[1])
        found[f"{measure}_low"] = math.exp(across[1] - wide[0])
        found[f"{measure}_high"] = math.exp(across[1] + wide[2])
    return found


def _up(epsilon: float) -> float:
    """Return a number rounded up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return float(written(exact(f"{math.ceil(epsilon / unit - 1e-9) * unit:.10f}")))
