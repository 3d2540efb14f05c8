"""The share of people whom a few places and times of their records identify.

The measure is that of de Montjoye et al., "Unique in the Crowd", Scientific Reports 3, 2013.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points

_HOURS = 7 * 24


def invented_hours(points: Points, seed: int = 0) -> NDArray[np.int64]:
    """Draw an hour of the week, from 0 to 167, for each of n records; most are in the daytime.

    Examples
    --------
    >>> from snhkit import synthetic_points
    >>> hours = invented_hours(synthetic_points("fargo", n=100))
    >>> hours.shape, bool(hours.max() < 168)
    ((100,), True)
    """
    by_hour = np.repeat([1.0, 4.0, 2.0], [7, 13, 4])
    week = np.tile(by_hour, 7) / (7 * by_hour.sum())
    return np.random.default_rng(seed).choice(_HOURS, size=len(points), p=week)


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """The traces of people: the cells and hours of each person's records, without names.

    A point of a trace is a pair of a cell and a time interval. Several records can give one point.

    Parameters
    ----------
    points : Points
        The n records, with the user of each record (``Points.user``).
    hours : array of int, shape (n,)
        The hour of the week of each record, from 0 to 167.
    cell_m : float
        The width of the cells to which positions are rounded, in metres.
    hours_wide : int
        The length of the time intervals to which hours are rounded, in hours.

    Raises
    ------
    InputError
        If the points have no users, or the numbers of points and hours differ.

    Examples
    --------
    >>> from snhkit import synthetic_points
    >>> points = synthetic_points("fargo", n=5_000)
    >>> traces = Traces(points, invented_hours(points), cell_m=500, hours_wide=2)
    >>> clues = traces.clues_of(traces.people(5)[0], 4)
    >>> traces.who_fits(clues).size >= 1
    True
    """

    points: Points
    hours: NDArray[np.int64]
    cell_m: float = 250.0
    hours_wide: int = 1

    def __post_init__(self) -> None:
        if self.points.user is None:
            raise InputError(
                "Traces: the points have no users, so they cannot be grouped into traces; give "
                "Points(..., user=ids)."
            )
        if len(self.hours) != len(self.points):
            raise InputError(
                f"Traces: hours must have one value for each of the {len(self.points):,} "
                f"points, not {len(self.hours):,} values."
            )
        grid = Grid.of_width(self.points.region, self.cell_m)
        cell = np.minimum((self.points.xy // grid.cell_m).astype(np.int64), grid.m - 1)
        spot = (cell[:, 0] * grid.m + cell[:, 1]) * _HOURS + np.asarray(
            self.hours
        ) // self.hours_wide
        seen = np.unique(np.stack([spot, self.points.user], axis=1), axis=0)
        object.__setattr__(self, "_seen", seen)
        object.__setattr__(self, "_by_user", seen[np.argsort(seen[:, 1], kind="stable")])

    def people(self, least: int) -> NDArray[np.int64]:
        """Return the users whose traces have at least ``least`` different points."""
        users, points = np.unique(self._by_user[:, 1], return_counts=True)  # pyright: ignore
        return users[points >= least]

    def clues_of(self, user: int, known: int, seed: int = 0) -> NDArray[np.int64]:
        """Draw ``known`` different points of a user's trace, shape (known,).

        Each point is given as one number, which stands for a cell and a time interval.

        Raises
        ------
        InputError
            If the trace has fewer points.
        """
        rows = self._by_user  # pyright: ignore[reportAttributeAccessIssue]
        low, high = np.searchsorted(rows[:, 1], [user, user + 1])
        if high - low < known:
            raise InputError(
                f"Traces: the trace of user {user} has {high - low} different points, fewer than "
                f"known = {known}; give a smaller known."
            )
        return np.random.default_rng([seed, int(user)]).permutation(rows[low:high, 0])[:known]

    def who_fits(self, clues: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the users whose traces contain all the points that ``clues_of`` returned."""
        seen = self._seen  # pyright: ignore[reportAttributeAccessIssue]
        fitting = None
        for clue in clues:
            low, high = np.searchsorted(seen[:, 0], [clue, clue + 1])
            here = seen[low:high, 1]
            fitting = here if fitting is None else fitting[np.isin(fitting, here)]
        return np.unique(seen[:, 1]) if fitting is None else fitting

    def unicity(self, known: int, people: int = 300, seed: int = 0) -> float:
        """Return the share of people whom ``known`` random points of their traces identify.

        Parameters
        ----------
        known : int
            The number of points, each a cell and a time interval, that an attacker knows.
        people : int
            The number of people to try. They are drawn among those with at least 5 different
            points, or at least ``known`` if that is more.
        seed : int
            The seed of the draws.

        Raises
        ------
        InputError
            If no person has that many different points.
        """
        all_of_them = self.people(max(known, 5))
        tried = np.random.default_rng(seed).permutation(all_of_them)[:people]
        if not tried.size:
            raise InputError(
                f"Traces: no person has {max(known, 5)} different points; give a smaller "
                "known, or traces with more points."
            )
        alone = [self.who_fits(self.clues_of(one, known, seed)).size == 1 for one in tried]
        return float(np.mean(alone))
