"""The recommendation of the method with the least expected error."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import By, Points, Region
from snhkit.geometry.strata import STEPS
from snhkit.markup import html_table, percent
from snhkit.methods import METHODS, title
from snhkit.metrics import SIZE_BANDS_M, band_name
from snhkit.planning.expected import known_errors
from snhkit.planning.table import PLANNED, Situation, plan_table
from snhkit.privacy import Epsilon

_TRIED = ("0.1", "0.2", "0.5", "1", "2")  # values of epsilon
_ONE_MAP = "one map"
_MOSTLY_NOISE = 0.5  # the relative error from which fewer strata are recommended
_CLOSE = 1.1  # errors that differ by a smaller factor may be in reverse order in another city


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation:
    """A recommended method, with the expected errors of all methods.

    Parameters
    ----------
    method : str
        Short name of the method with the least expected error.
    close : tuple of str
        Short names of methods whose expected error is at most a tenth larger.
    measure : str
        The column of ``evidence`` by which methods were compared, such as "rel_error".
    evidence : DataFrame
        The table of ``expected_error`` for all methods, with the least error first.
    split : mapping of str to float
        If strata were given, the expected ``rel_error`` of the method for them, for fewer strata of
        the same kind, and for "one map", by texts that ``By.parse`` and ``--by`` take.
    """

    method: str
    close: tuple[str, ...]  # methods whose expected error is at most a tenth larger
    measure: str  # the column of ``evidence`` by which methods were compared
    evidence: pd.DataFrame  # of ``expected_error``, the least error first
    split: Mapping[str, float] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The recommendation in sentences, with the expected errors behind it."""
        row = self.evidence.iloc[0]
        name = self.measure
        size = band_name((row.from_m, row.to_m))
        low, high = f"{row[f'{name}_low']:.3g}", f"{row[f'{name}_high']:.3g}"
        told = (
            f"{title(self.method)}: for squares of {size} its expected {name} is "
            f"{row[name]:.3g}; in 8 of 10 places it is from {low} to {high}."
        )
        if row.outside:
            told += f" Outside the measured range: {row.outside}."
        if self.close:
            told += (
                " Methods whose error is at most a tenth larger: "
                f"{', '.join(map(title, self.close))}."
            )
        last = self.evidence.iloc[-1]
        measured = plan_table()["provenance"]
        return (
            f"{told} The largest error is {last[name]:.3g}, that of {title(last.method)}. "
            f"{self._cost_of_split}All "
            f"errors were measured on {measured['places']} public data sets, "
            f"{measured['date']}."
        )

    @property
    def _cost_of_split(self) -> str:
        """What the strata cost in accuracy, and fewer strata if one has mostly noise."""
        if not self.split:
            return ""
        (asked, error), *fewer = self.split.items()
        whole = self.split[_ONE_MAP]
        told = (
            f"With strata by {asked}, {title(self.method)} has an expected rel_error of "
            f"{error:.3g} in each of them; with one map of all records, {whole:.3g}. "
        )
        if error <= _MOSTLY_NOISE:
            return told
        name, better = next((each for each in fewer if each[1] <= _MOSTLY_NOISE), fewer[-1])
        return f"{told}That is mostly noise: {name} would be better, with {better:.3g}. "

    def __repr__(self) -> str:
        return self.reason

    def _repr_html_(self) -> str:
        rows = self.evidence.itertuples(index=False)
        texts = [[f"{one:.3g}" if isinstance(one, float) else one for one in row] for row in rows]
        return f"<p>{self.reason}</p>{html_table(list(self.evidence.columns), texts)}"


def recommend(
    n: int,
    epsilon: Epsilon,
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
    *,
    public: Points | None = None,
    region: Region | None = None,
    unit: str = "record",
    max_per_user: int | None = None,
    measure: str = "rel_error",
    by: By | None = None,
) -> Recommendation:
    """Return the method with the least expected error, and the expected errors of all methods.

    No record is used, and no epsilon is spent. Methods that take many minutes on a CPU, or whose
    releases must not be published, are left out.

    Parameters
    ----------
    n : int
        The number of records; a rough number is enough.
    epsilon : int, float, str, Decimal or Fraction
        The epsilon of a release; see ``expected_error``.
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
    measure : str
        The error to minimise: ``"rel_error"`` or ``"abs_error"``, the mean relative or absolute
        error of squares around records, or ``"abs_error_anywhere"``, the mean absolute error of
        squares anywhere in the region.
    by : By, optional
        The strata of a release, such as ``By.hour()``. The errors are then those of one stratum
        that has its share of the n records. The reason says what the split costs, and names fewer
        strata if counts in one stratum would be mostly noise.

    Returns
    -------
    Recommendation
        The method, the methods with nearly the same error, and the expected errors of all methods.

    Raises
    ------
    InputError
        If an argument is invalid, or the measure is unknown.

    See Also
    --------
    PrivateDataset.plan : The recommendation for a data set, which knows its unit and region.

    Examples
    --------
    >>> import snhkit as snh
    >>> snh.recommend(n=200_000, epsilon=0.2, sizes_m=(1_000, 5_000)).method in ("ag", "privtree")
    True
    """
    if measure not in PLANNED:
        raise InputError(f"measure must be one of {', '.join(PLANNED)}, not {measure!r}.")
    names = [
        name
        for name in plan_table()["fits"]
        if not (METHODS[name].slow or METHODS[name].demonstration)
    ]
    place = Situation.of(n, public, region, unit, max_per_user)
    evidence = known_errors(names, place.divided(by), epsilon, sizes_m).sort_values(
        measure, kind="stable", ignore_index=True
    )
    errors = dict(zip(evidence["method"], evidence[measure], strict=True))
    best = str(evidence["method"].iloc[0])
    close = tuple(name for name, error in errors.items() if error <= _CLOSE * errors[best])
    split: dict[str, float] = {}
    for one in _coarser(by) if by else ():
        table = known_errors([best], place.divided(one), epsilon, sizes_m)
        split[str(one) if one else _ONE_MAP] = float(table["rel_error"].iloc[0])
    return Recommendation(best, close[1:], measure, evidence, split)


def prospects(n: int, **terms: Any) -> list[tuple[str, list[str]]]:
    """Return, for some epsilons, the best method's expected error for each size band."""
    rows = []
    for epsilon in _TRIED:
        texts = []
        for band in SIZE_BANDS_M:
            try:
                found = recommend(n, epsilon, band, **terms).evidence
                texts.append(percent(found["rel_error"].iloc[0]))
            except (InputError, IndexError):
                texts.append("unknown")
        rows.append((epsilon, texts))
    return rows


def _coarser(by: By) -> Iterator[By | None]:
    """Yield strata, fewer of the same kind and, at last, None for one map."""
    yield by
    if by.kind in ("hour", "weekday_hour"):
        for step in STEPS:
            if step > by.step:
                yield getattr(By, by.kind)(step)
    yield None
