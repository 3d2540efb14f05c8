"""The unit of privacy: one record, all records of a person, or those in a window of days."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.geometry.points import windows
from snhkit.privacy.budget import written
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.zcdp import epsilon_of

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def kept_records(
    person: NDArray[np.int64], xy: NDArray[np.float64], most: int, key: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return the indices, ascending, of at most ``most`` records of each person, chosen at random.

    Each record gets a hash of its place and a secret key of two words; the smallest are kept. So
    the choice depends neither on the order of records nor on other people.
    """
    if not person.size:
        return np.zeros(0, np.int64)
    x, y = (np.ascontiguousarray(axis).view(np.uint64) for axis in xy.T)
    number = mixed(mixed(x ^ key[0]) + y)
    # A person's records at the same place get different numbers, from their ranks at that place.
    order = np.lexsort((number, person))
    number, person = number[order], person[order]
    same = (number[1:] == number[:-1]) & (person[1:] == person[:-1])
    number = mixed(number + _GOLDEN * _rank(~same).astype(np.uint64) ^ key[1])
    again = np.lexsort((number, person))
    rank = _rank(person[again][1:] != person[again][:-1])
    return np.sort(order[again[rank < most]])


def _rank(new: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return each item's position in its run, from 0; ``new`` marks all first items but one."""
    place = np.arange(new.size + 1)
    first = np.concatenate([[True], new])
    rank = place - np.maximum.accumulate(np.where(first, place, 0))
    return rank


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each word: the finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


_NONE = Fraction(0)

_NAMED = {"user-day": 1, "user-week": 7}
_WINDOW = re.compile(r"user-([1-9]\d{0,4})-days")
_MAX_NAME = 40  # characters


@dataclass(frozen=True)
class PrivacyUnit:
    """The unit of privacy, which defines the neighbouring datasets of differential privacy.

    Two datasets are neighbours if adding or removing one unit makes one of them the other. If the
    number of records is public, neighbours have equally many records, so one unit is replaced by
    another instead. A replacement is a removal and an addition, so each epsilon counts twice; for
    Gaussian noise, each rho counts twice.

    Parameters
    ----------
    kind : str
        "record" for one record; "user" for all records of one person; "user-day", "user-week" or
        "user-N-days" for all records of one person in one window of N days. Windows follow
        each other without gaps, counted from a fixed Monday.
    max_per_user : int, optional
        The largest number of records of a person, or of a person in a window, that are kept, at
        least 1. The argument is required for all kinds but "record", where it is not allowed.
    whose : str
        The word for what a user id stands for, such as "household". Descriptions use the word, and
        all datasets of one ledger must have the same word.
    n_public : bool
        Whether the number of records is public.
    tz : str, optional
        For windows of days, the time zone in which days begin, if it is known.
    dropped : float, optional
        The estimated share of records that ``max_per_user`` leaves out, if it was bought; 0 to 1.

    Raises
    ------
    InputError
        If ``kind`` is not one of these words, if ``max_per_user`` is missing, not allowed or not a
        whole number of at least 1, if ``whose`` or ``tz`` is not a short printable text, if
        ``tz`` is given without windows of days, or if ``dropped`` is not a share.

    Examples
    --------
    >>> unit = PrivacyUnit("user-day", max_per_user=5)
    >>> unit.sensitivity, unit.sentence
    (5, 'all (at most 5) records of one person in one day')
    >>> print(PrivacyUnit("record", n_public=True).promise(Fraction(1, 5)))
    epsilon = 0.4 (2 x 0.2), hides one record replaced by another; n is public
    """

    kind: str
    max_per_user: int | None = None  # required for all kinds but "record"
    whose: str = "person"  # what a user id stands for, the same in all datasets of a ledger
    n_public: bool = False  # whether the number of records is public
    tz: str | None = None  # in which the days of windows begin, if it is known
    dropped: float | None = None  # estimated share of records left out, if it was bought

    def __post_init__(self) -> None:
        kind, most = self.kind, self.max_per_user
        if kind != "record":
            days = _days(kind)
            short = {1: "user-day", 7: "user-week", None: "user"}
            object.__setattr__(self, "kind", short.get(days, kind))
        elif most is not None:
            raise InputError("unit='record' takes no max_per_user; leave it out.")
        if self.kind != "record":
            if most is None:
                raise InputError(
                    f"unit={self.kind!r} needs max_per_user, the number of records to keep "
                    "of each person."
                )
            object.__setattr__(self, "max_per_user", whole("max_per_user", most, least=1))
        if not _is_name(self.whose):
            raise InputError(
                "the argument 'whose' must be a word such as 'household', of at most "
                f"{_MAX_NAME} characters, not {self.whose!r}."
            )
        if self.tz is not None and (self.window_days is None or not _is_name(self.tz)):
            raise InputError(
                "tz, the zone of windows of days, must be a text such as 'Europe/Paris', not "
                f"{str(self.tz)[:_MAX_NAME]!r}; other units have none."
            )
        share = self.dropped
        if share is not None and (type(share) is not float or most is None or not 0 <= share <= 1):
            raise InputError(
                "dropped, the share of records that max_per_user leaves out, must be a number from "
                f"0 to 1, such as 0.1, not {str(share)[:_MAX_NAME]!r}; a unit of records has none."
            )
        if not isinstance(self.n_public, bool):
            raise InputError(f"n_public must be true or false, not {self.n_public!r}.")

    @classmethod
    def restore(cls, values: Mapping[str, Any]) -> "PrivacyUnit":
        """Return the unit from values of ``to_dict`` in a file, after a check of the values."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown or "kind" not in values:
            wrong = f"has an unknown key {unknown[0]!r}" if unknown else "has no 'kind'"
            raise InputError(f"the unit of privacy {wrong}.")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of the unit as JSON values by name."""
        return {
            "kind": self.kind,
            "max_per_user": self.max_per_user,
            "whose": self.whose,
            "n_public": self.n_public,
            **({} if self.tz is None else {"tz": self.tz}),
            **({} if self.dropped is None else {"dropped": self.dropped}),
        }

    @property
    def window_days(self) -> int | None:
        """The number of days in a window of the unit; None for "record" and "user"."""
        return None if self.kind == "record" else _days(self.kind)

    @property
    def sensitivity(self) -> int:
        """The largest total change of disjoint cells' counts if one unit is added or removed."""
        return 1 if self.max_per_user is None else self.max_per_user

    @property
    def factor(self) -> int:
        """The factor by which a charge is multiplied for neighbouring datasets.

        The factor is 2 if the number of records is public, and 1 otherwise. It applies to the
        charged rho if the noise is Gaussian, and to the charged epsilon otherwise.
        """
        return 2 if self.n_public else 1

    @property
    def sentence(self) -> str:
        """A description, in words, of the records by which neighbouring datasets differ."""
        if self.max_per_user is None:
            return f"one record {'replaced by another' if self.n_public else 'added or removed'}"
        text = f"all (at most {self.max_per_user:,}) records of {self._one}"
        return f"{text} replaced by as many others" if self.n_public else text

    @property
    def counted(self) -> str:
        """What counts count, in words: records, or at most so many of one person."""
        if self.max_per_user is None:
            return "records"
        return f"records, at most {self.max_per_user:,} of {self._one}"

    @property
    def counting(self) -> str:
        """What a bound on a person's records means for counts, as a sentence; empty if no bound."""
        if self.max_per_user is None:
            return ""
        told = f"Counted are at most {self.max_per_user:,} records of {self._one}."
        if self.dropped is not None:
            share = f"{self.dropped:.0%}".replace("%", " %")
            return (
                f"{told} All further records were left out, by a noisy estimate {share} of all, so "
                "the numbers of all records are larger."
            )
        return (
            f"{told} All further records were left out, so the numbers of all records are larger; "
            "how many were left out was not measured."
        )

    @property
    def sentence_for_any_bound(self) -> str:
        """``sentence``, without ``max_per_user`` if the datasets of a ledger may differ in it."""
        if self.max_per_user is None or self.n_public:
            return self.sentence
        return f"all records of {self._one}"

    def has_neighbours_of(self, other: "PrivacyUnit") -> bool:
        """Return whether two units define the same neighbouring datasets, so that costs add up.

        Adding or removing a person adds or removes all of their records, however many are kept. So
        ``max_per_user`` must be the same only if n, the number of kept records, is public. A day in
        one time zone overlaps two days in another, so ``tz`` must be the same.
        """
        if self.n_public:
            return self == other
        one = (self.kind, self.whose, False, self.tz)
        return one == (other.kind, other.whose, other.n_public, other.tz)

    @property
    def _one(self) -> str:
        """The person, or the person in one window of days, in words."""
        windows = {None: "", 1: " in one day", 7: " in one week"}
        days = self.window_days
        zone = "" if self.tz is None else f" ({self.tz})"
        return f"one {self.whose}{windows.get(days, f' in {days} days')}{zone}"

    def neighbours_epsilon(
        self, epsilon: Fraction, delta: Fraction = _NONE, rho: Fraction = _NONE
    ) -> Fraction:
        """Return the epsilon for neighbours of a charge, which is for adding or removing a unit.

        Where n is public, neighbours differ by a replacement: epsilon is doubled, or rho, since the
        Euclidean norm of the change grows by sqrt(2). With a rho, the epsilon holds with ``delta``.
        """
        if rho and self.n_public:
            return epsilon_of(2 * rho, delta)
        return epsilon if rho else self.factor * epsilon

    def promise(self, epsilon: Fraction, delta: Fraction = _NONE, rho: Fraction = _NONE) -> str:
        """Return a sentence that states the hidden unit of privacy, and epsilon for neighbours.

        The costs are those charged to the ledger for adding or removing one unit.
        """
        told = f"epsilon = {written(self.neighbours_epsilon(epsilon, delta, rho))}"
        if rho:
            told += f", delta = {written(delta)} (zCDP with rho = {written(self.factor * rho)})"
        elif self.n_public:
            told += f" (2 x {written(epsilon)})"
        if delta and not rho:
            # The factor of delta follows from group privacy: see docs/privacy.md.
            more = f" x (1 + e^{written(epsilon)})" if self.n_public else ""
            told += f", delta = {written(delta)}{more}"
        return f"{told}, hides {self.sentence}{'; n is public' if self.n_public else ''}"

    def bound(self, points: Points, entropy: Entropy) -> Points:
        """Return at most ``max_per_user`` records of each unit, chosen at random, in their order.

        InputError is raised if the unit needs users or days that the points do not have.
        """
        if self.max_per_user is None:
            return points
        kept = kept_records(self.owners(points), points.xy, self.max_per_user, entropy.words(2))
        time = None if points.time is None else points.time[kept]
        user: Any = points.user
        return Points(points.region, points.xy[kept], user[kept], time, points.tz)

    def owners(self, points: Points) -> NDArray[np.int64]:
        """Return the index, from 0, of each record's unit of privacy, shape (n,)."""
        if points.user is None:
            raise InputError(
                f"unit={self.kind!r} needs the user of each record, and these points have none: "
                "read them with their user column (user='COLUMN'), or use the weaker unit='record'."
            )
        days = self.window_days
        if days is None:
            return np.unique(points.user, return_inverse=True)[1]
        if points.day is None:
            raise InputError(
                f"unit={self.kind!r} needs the time of each record, and these points have none: "
                "read them with their time column (time='COLUMN'), make them with "
                "Points(..., time=...), or use the stronger unit='user'."
            )
        pairs = np.stack([points.user, windows(points.day, days)], axis=1)
        return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)


def _is_name(text: object) -> bool:
    if not isinstance(text, str) or len(text) > _MAX_NAME:
        return False
    return bool(text.strip()) and text.isprintable()


def _days(kind: object) -> int | None:
    """Return the number of days in a window of a kind of unit; None for "user"."""
    if kind == "user":
        return None
    if isinstance(kind, str) and kind in _NAMED:
        return _NAMED[kind]
    match = _WINDOW.fullmatch(kind) if isinstance(kind, str) else None
    if match is None:
        raise InputError(
            "unit must be 'record' or 'user', or 'user-day', 'user-week' or 'user-30-days' for "
            f"windows of days, not {kind!r}."
        )
    return int(match[1])
