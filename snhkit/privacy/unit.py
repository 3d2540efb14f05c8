"""Whose presence is hidden: one record, or all the records of one person."""

import operator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.privacy.noise import Entropy

__all__ = ["PrivacyUnit"]


@dataclass(frozen=True)
class PrivacyUnit:
    """The unit of privacy: what may be added or removed without the results telling.

    Parameters
    ----------
    kind : "record" or "user"
        One record, or all the records of one person.
    max_per_user : int, optional
        For "user": how many records of a person are kept at most.

    Raises
    ------
    InputError
        If kind is another word, "user" comes without ``max_per_user``, or "record" with it.

    Examples
    --------
    >>> unit = PrivacyUnit.of("user", max_per_user=5)
    >>> unit.sensitivity, unit.sentence
    (5, 'all (at most 5) records of one person')
    """

    kind: Literal["record", "user"]
    max_per_user: int | None = None

    def __post_init__(self) -> None:
        if self.kind == "record":
            if self.max_per_user is not None:
                raise InputError("unit='record' takes no max_per_user; leave it out.")
            return
        if self.kind != "user":
            raise InputError(f"unit must be 'record' or 'user', not {self.kind!r}.")
        if self.max_per_user is None:
            raise InputError("unit='user' needs max_per_user: how many records of a person count?")
        try:
            most = operator.index(self.max_per_user)
        except TypeError:
            most = 0
        if isinstance(self.max_per_user, bool) or most < 1:
            raise InputError(
                f"max_per_user must be a whole number, at least 1, not {self.max_per_user!r}."
            )
        object.__setattr__(self, "max_per_user", most)

    @classmethod
    def of(cls, unit: str, max_per_user: int | None = None) -> "PrivacyUnit":
        """The unit said in the words of ``PrivateDataset``."""
        return cls(unit, max_per_user)  # pyright: ignore[reportArgumentType]

    @property
    def sensitivity(self) -> int:
        """By how much one unit can change the counts of a partition, all together."""
        return 1 if self.max_per_user is None else self.max_per_user

    @property
    def sentence(self) -> str:
        """The unit in plain words."""
        if self.max_per_user is None:
            return "one record added or removed"
        return f"all (at most {self.max_per_user:,}) records of one person"

    def bound(self, points: Points, entropy: Entropy) -> Points:
        """The points that count: of each user at most ``max_per_user``, every one as likely.

        Parameters
        ----------
        points : Points
            Records; for the unit "user" they say whose they are.
        entropy : Entropy
            Where the randomness of the choice comes from.

        Raises
        ------
        InputError
            If the unit is "user" and the points do not say whose they are.

        Examples
        --------
        >>> from snhkit.geometry import Region
        >>> from snhkit.privacy import SystemEntropy
        >>> city = Region.around(lat=0, lon=0, side_m=100)
        >>> points = Points(city, [[1, 1], [2, 2], [3, 3]], user=[8, 9, 8])
        >>> PrivacyUnit.of("user", max_per_user=1).bound(points, SystemEntropy()).user
        array([..., ...])
        """
        if self.max_per_user is None:
            return points
        if points.user is None:
            raise InputError(
                "unit='user' needs to know whose each record is, and these points do not say: "
                "read them with their user column, or promise less with unit='record'."
            )
        key = entropy.words(len(points))
        shuffled = np.lexsort((key, points.user))
        user = points.user[shuffled]
        place = np.arange(len(user))
        first = np.ones(len(user), bool)
        first[1:] = user[1:] != user[:-1]
        rank = place - np.maximum.accumulate(np.where(first, place, 0))
        kept = np.sort(shuffled[rank < self.max_per_user])
        return Points(points.region, points.xy[kept], points.user[kept])
