"""Strata: a declared division of records by time or by kind; each record is in one stratum."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Int

from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry.points import DAY_S, Points, windows

LEFT_OUT = -1
"""The number of the stratum of records that are not counted."""

OTHER = "other"

STEPS = (1, 2, 3, 4, 6, 8, 12)
"""The numbers of hours that a stratum can have."""

_HOUR_S = 3_600
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ALIKE = 7  # strata; a map of all of fewer, or of kinds, costs more than it gains, as measured
_MOST, _LONGEST = 200, 40  # strata, and characters of a label


@dataclass(frozen=True)
class By:
    """Strata of records: hours of the day, days of the week, or the values of a column.

    Strata are declared, public and disjoint, so that maps of all of them together cost the epsilon
    of one map. ``By.hour``, ``By.weekday``, ``By.weekday_hour`` and ``By.column`` make them.

    Parameters
    ----------
    kind : "hour", "weekday", "weekday_hour" or "column"
        What divides the records.
    labels : tuple of str
        The names of the strata.
    step : int
        The number of hours in a stratum; 1, 2, 3, 4, 6, 8 or 12.
    from_column : str, optional
        For the kind "column", the name of the column.

    Raises
    ------
    InputError
        If the labels are not from 2 to 200 different short printable texts, or the other arguments
        do not fit them.

    Examples
    --------
    >>> By.hour(step=6).labels
    ('00-05', '06-11', '12-17', '18-23')
    >>> By.column("vehicle", ["bike", "scooter"]).labels
    ('bike', 'scooter', 'other')
    """

    kind: Literal["hour", "weekday", "weekday_hour", "column"]
    labels: tuple[str, ...]
    step: int = 1
    from_column: str | None = None

    def __post_init__(self) -> None:
        labels = tuple(self.labels)
        object.__setattr__(self, "labels", labels)
        for label in labels:
            if not (label.strip() and label.isprintable() and len(label) <= _LONGEST):
                raise InputError(
                    f"By: a label must be a printable text of at most {_LONGEST} characters, not "
                    f"{label!r}."
                )
        if twice := [label for k, label in enumerate(labels) if label in labels[:k]]:
            raise InputError(f"By: the label {twice[0]!r} is given twice.")
        if not 2 <= len(labels) <= _MOST:
            raise InputError(f"By: give 2 to {_MOST} labels, not {len(labels):,}.")
        if self.kind == "column":
            named = self.from_column
            if not (isinstance(named, str) and named.strip() and named.isprintable()):
                raise InputError(f"By: the name of the column must be a text, not {named!r}.")
        elif self.from_column is not None or labels != _labels(self.kind, self.step):
            raise InputError(f"By: the labels do not fit the kind {self.kind!r}.")

    @classmethod
    def hour(cls, step: int = 1) -> "By":
        """Return strata of ``step`` hours of the day each, on the clocks of the records' zone.

        On the day on which clocks are set back, the records of two hours are in one stratum; on the
        day on which they are set forward, those of one hour are missing.
        """
        return cls("hour", _labels("hour", step), step)

    @classmethod
    def weekday(cls) -> "By":
        """Return the seven days of the week, on the calendar of the records' zone."""
        return cls("weekday", _WEEKDAYS)

    @classmethod
    def weekday_hour(cls, step: int = 1) -> "By":
        """Return strata of ``step`` hours of each day of the week."""
        return cls("weekday_hour", _labels("weekday_hour", step), step)

    @classmethod
    def column(cls, name: str, values: Any, *, other: bool = True) -> "By":
        """Return a stratum for each value of a column, and one for all other values.

        Parameters
        ----------
        name : str
            The column.
        values : sequence of str
            The values, which are public and not taken from the records.
        other : bool
            Whether records with another value, or none, are counted in a stratum "other"; else they
            are left out.
        """
        if isinstance(values, str):
            raise InputError(f"By.column: values must be a list of texts, not {values!r}.")
        labels = (*map(str, values),)
        if OTHER in labels:
            raise InputError(f"By.column: {OTHER!r} stands for all other values; leave it out.")
        return cls("column", (*labels, *([OTHER] if other else [])), from_column=name)

    @classmethod
    def parse(cls, text: str) -> "By":
        """Return the strata that a text of the command line names.

        Examples
        --------
        >>> By.parse("hour:6") == By.hour(6), By.parse("vehicle=bike,scooter").name
        (True, 'vehicle')
        """
        name, equals, values = text.partition("=")
        if equals:
            return cls.column(name.strip(), [value.strip() for value in values.split(",")])
        kind, _, step = text.partition(":")
        if kind == "weekday" and not step:
            return cls.weekday()
        if kind in ("hour", "weekday_hour") and (not step or (step.isdecimal() and step.isascii())):
            return getattr(cls, kind)(int(step or 1))
        raise InputError(
            "strata are hour, hour:3, weekday, weekday_hour, weekday_hour:6 or a column with its "
            f"values, as in vehicle=bike,scooter; not {text[:60]!r}."
        )

    @classmethod
    def restore(cls, values: Any) -> "By":
        """Return the strata from values of ``to_dict`` in a file, after a check of the values."""
        names = {"kind", "labels", "step", "column"}
        if not isinstance(values, Mapping) or set(values) != names:
            raise InputError("the strata must be an object with kind, labels, step and column.")
        if values["kind"] not in ("hour", "weekday", "weekday_hour", "column"):
            raise InputError(f"strata of the kind {str(values['kind'])[:40]!r} are unknown.")
        labels, step, column = (values[name] for name in ("labels", "step", "column"))
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError("the labels of strata must be a list of texts.")
        if not isinstance(step, int) or not isinstance(column, str | None):
            raise InputError("the step of strata must be a whole number, and their column a text.")
        return cls(values["kind"], tuple(labels), step, column)

    def to_dict(self) -> dict[str, Any]:
        """Return the strata as JSON values by name."""
        return {
            "kind": self.kind,
            "labels": list(self.labels),
            "step": self.step,
            "column": self.from_column,
        }

    def __str__(self) -> str:
        """Return the text that ``parse`` takes."""
        if self.from_column is None:
            return self.kind if self.step == 1 else f"{self.kind}:{self.step}"
        return f"{self.from_column}={','.join(one for one in self.labels if one != OTHER)}"

    @property
    def name(self) -> str:
        """What divides the records, in a word: the kind, or the name of the column."""
        return self.from_column or self.kind

    @property
    def times(self) -> bool:
        """Whether the strata divide records by their time."""
        return self.kind != "column"

    @property
    def complete(self) -> bool:
        """Whether every record is in a stratum, so that none is left out."""
        return self.times or OTHER in self.labels

    @property
    def alike(self) -> bool:
        """Whether a map of all strata tells much about each: at least seven strata by time."""
        return self.times and len(self) >= _ALIKE

    def __len__(self) -> int:
        return len(self.labels)

    def of_times(self, time: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Return the number of the stratum of each time, in local seconds since 1970."""
        hour = time % DAY_S // _HOUR_S // self.step
        if self.kind == "hour":
            return hour
        monday = windows(time // DAY_S, 7) * 7
        day = windows(time // DAY_S, 1) - monday
        return day if self.kind == "weekday" else day * (24 // self.step) + hour

    def of_points(self, points: Points) -> Int[np.ndarray, " n"]:
        """Return the number of the stratum of each record in memory.

        Raises
        ------
        InputError
            If the points have no times, or the strata are those of a column.
        """
        if not self.times:
            raise InputError(
                f"records in memory have no column {self.from_column!r}; open the file or frame "
                "with PrivateDataset.scan, which takes it."
            )
        if points.time is None:
            raise InputError(
                f"strata by {self.name} need the time of each record, and these points have none: "
                "read them with their time column (time='COLUMN')."
            )
        return self.of_times(points.time)


def _labels(kind: str, step: int) -> tuple[str, ...]:
    if kind == "weekday":
        return _WEEKDAYS
    if whole("step", step, least=1) not in STEPS:
        raise InputError(f"By: step must be 1, 2, 3, 4, 6, 8 or 12 hours, not {step}.")
    hours = [
        f"{start:02}" if step == 1 else f"{start:02}-{start + step - 1:02}"
        for start in range(0, 24, step)
    ]
    if kind == "hour":
        return tuple(hours)
    return tuple(f"{day} {hour}" for day in _WEEKDAYS for hour in hours)
