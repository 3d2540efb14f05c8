"""Records: positions and, if known, the person and the local time of each record."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray

from snhkit.checks import floats, frozen
from snhkit.errors import InputError
from snhkit.geometry.region import Region

DAY_S = 86_400
"""Seconds of a day."""

_FIRST_MONDAY = 3  # the days from a Monday to 1970-01-01, a Thursday


@dataclass(frozen=True, eq=False, repr=False)
class Points:
    """Records inside a region.

    The attributes are read-only copies of the arguments, so later changes to the arguments do not
    change the records.

    Parameters
    ----------
    region : Region
        The region that contains the records.
    xy : array_like, shape (n, 2)
        Positions in metres from the region's lower-left corner, all of them inside the region.
    user : array_like of int, shape (n,), or callable, optional
        The number of the person that each record belongs to; equal numbers mean the same person.
        A function that returns these numbers is called when they are first needed.
    time : array_like of int, shape (n,), optional
        The local time of each record, in seconds since 1970-01-01T00:00 on the same clock.
    tz : str, optional
        The time zone of that clock, which releases tell if they depend on it.

    Raises
    ------
    InputError
        If the shapes disagree, a position is not inside the region, or users or times are not
        whole numbers.

    Examples
    --------
    >>> from snhkit import Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> len(Points(city, [[1.0, 2.0], [99.0, 0.0]]))
    2

    Notes
    -----
    The records are the paper's D (Sec. 2.2). The repr does not show the number of records, because
    this number may be private.
    """

    region: Region
    xy: Float[np.ndarray, "n 2"]
    _user: Any = None
    time: Int[np.ndarray, " n"] | None = None
    tz: str | None = None

    def __init__(
        self,
        region: Region,
        xy: ArrayLike,
        user: ArrayLike | Callable[[], ArrayLike | None] | None = None,
        time: ArrayLike | None = None,
        tz: str | None = None,
    ) -> None:
        places = floats("Points: xy", xy)
        if places.size == 0:
            places = places.reshape(-1, 2)
        if places.ndim != 2 or places.shape[1] != 2:
            raise InputError(f"Points: xy must have shape (n, 2), not {places.shape}.")
        places = frozen(places)
        outside = np.flatnonzero(~region.contains(places))
        if outside.size:
            raise InputError(
                f"Points: row {outside[0]} (counted from 0) is not inside the region "
                f"(rows outside: {outside.size}); remove these rows, or read the "
                "records with read_points, which drops and counts them."
            )
        object.__setattr__(self, "region", region)
        object.__setattr__(self, "xy", places)
        if user is not None and not callable(user):
            user = _column("user", user, len(places))
        if time is not None:
            time = _column("time", time, len(places))
        object.__setattr__(self, "_user", user)
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "tz", tz)

    @property
    def user(self) -> Int[np.ndarray, " n"] | None:
        """The number of the person that each record belongs to, if known."""
        found: Any = self._user
        if callable(found):
            made: Any = found()
            found = None if made is None else _column("user", made, len(self))
            object.__setattr__(self, "_user", found)
        return found

    @property
    def day(self) -> Int[np.ndarray, " n"] | None:
        """The local day of each record, as the number of days since 1970-01-01, if known."""
        return None if self.time is None else self.time // DAY_S

    def __len__(self) -> int:
        return len(self.xy)

    def __reduce__(self) -> tuple[Any, ...]:
        return Points, (self.region, self.xy, self.user, self.time, self.tz)

    def __repr__(self) -> str:
        known = "not looked at yet" if callable(self._user) else "known"
        users = "unknown" if self._user is None else known
        return f"Points(region={self.region!r}, users={users})"


_WANTED = {
    "user": "whole numbers, one for each person and none missing; convert names with "
    "numpy.unique(names, return_inverse=True)[1]",
    "time": "whole numbers of seconds since 1970-01-01",
}


def _column(name: str, values: ArrayLike, n: int) -> Int[np.ndarray, " n"]:
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"Points: {name} must have shape ({n},), one for each row of xy, not {array.shape}."
        )
    if (array.size and array.dtype.kind not in "iu") or np.ma.is_masked(values):
        raise InputError(f"Points: {name} must be {_WANTED[name]}.")
    return frozen(array.astype(np.int64))


def windows(day: NDArray[np.int64], days: int) -> NDArray[np.int64]:
    """Return the window of ``days`` days of each day; window 0 begins on Monday, 1969-12-29."""
    return (day + _FIRST_MONDAY) // days
