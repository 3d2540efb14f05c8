"""Windows of days, for units of privacy that hide the records of a person in one window."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["windows"]

_FIRST_MONDAY = 3  # the days from a Monday to 1970-01-01, a Thursday


def windows(day: NDArray[np.int64], days: int) -> NDArray[np.int64]:
    """Return the index of the window of ``days`` days that each day lies in, shape (n,).

    Window 0 begins on a Monday, 1969-12-29, so windows of 7 days are calendar weeks.

    Examples
    --------
    >>> windows(np.array([0, 3, 4, 10, 11]), days=7)
    array([0, 0, 1, 1, 2])
    """
    return (day + _FIRST_MONDAY) // days
