"""The unit of privacy: one record, or all records of one person."""

from dataclasses import dataclass
from typing import Literal

from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.privacy.bounding import kept_records
from snhkit.privacy.entropy import Entropy

__all__ = ["PrivacyUnit"]


@dataclass(frozen=True)
class PrivacyUnit:
    """The unit of privacy, whose presence or absence a release hides.

    Parameters
    ----------
    kind : "record" or "user"
        "record" for one record, "user" for all records of one person.
    max_per_user : int, optional
        The largest number of records of a person that are kept, at least 1; required for "user",
        not allowed for "record".

    Raises
    ------
    InputError
        If ``kind`` is another word, if ``max_per_user`` is missing for "user" or given for
        "record", or if it is not a whole number of at least 1.

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
        most = whole("max_per_user", self.max_per_user, least=1)
        object.__setattr__(self, "max_per_user", most)

    @classmethod
    def of(cls, unit: str, max_per_user: int | None = None) -> "PrivacyUnit":
        """Return the unit that the arguments of ``PrivateDataset`` describe.

        Parameters
        ----------
        unit : str
            "record" or "user".
        max_per_user : int, optional
            The largest number of records of a person that are kept, for "user".

        Returns
        -------
        PrivacyUnit
            The unit.

        Raises
        ------
        InputError
            If the arguments do not describe a unit, as for the class.
        """
        return cls(unit, max_per_user)  # pyright: ignore[reportArgumentType]

    @property
    def sensitivity(self) -> int:
        """The largest total change of a partition's counts when one unit is added or removed."""
        return 1 if self.max_per_user is None else self.max_per_user

    @property
    def sentence(self) -> str:
        """A description of what may be added or removed, for people."""
        if self.max_per_user is None:
            return "one record added or removed"
        return f"all (at most {self.max_per_user:,}) records of one person"

    def bound(self, points: Points, entropy: Entropy) -> Points:
        """Return the points with at most ``max_per_user`` records of each user.

        The records that are kept are a uniformly random choice (``kept_records``), in the given
        order.

        Parameters
        ----------
        points : Points
            The records; for the unit "user" they need user identifiers.
        entropy : Entropy
            The source of the random choice.

        Returns
        -------
        Points
            The records that are kept; all of them for the unit "record".

        Raises
        ------
        InputError
            If the unit is "user" and the points have no user identifiers.

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
                "unit='user' needs the user of each record, and these points have none: "
                "read them with their user column, or hide single records only, with unit='record'."
            )
        kept = kept_records(points.user, points.xy, self.max_per_user, entropy.words(2))
        return Points(points.region, points.xy[kept], points.user[kept])
