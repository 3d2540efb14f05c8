"""The assignments of the league, which follow from the class key and the names of students."""

import hmac
import unicodedata
from dataclasses import dataclass

from snhkit.geometry import Points, RangeQueries, Region

PEOPLE, BOXES = 4_000, 200  # in each city, and in each sample of boxes
_CITIES = ("chicago", "miami", "milwaukee", "tulsa")
_EPSILONS = ("0.25", "0.5")
_SIZES_M = ((200.0, 800.0), (300.0, 1_000.0), (400.0, 1_500.0))
# Epsilon times the number of people in whom the audit's data sets differ. This many people make a
# fault in the scale of the noise visible with the fewest releases.
_APART = 1.5


@dataclass(frozen=True)
class Assignment:
    """What a student gets: an invented city, an epsilon, and the sizes of the boxes to answer.

    Parameters
    ----------
    student : str
        The student's name.
    city : str
        The key of the city.
    epsilon : str
        The epsilon of the release.
    sizes_m : (float, float)
        The smallest and the largest side of the boxes, in metres.
    seed : int
        The seed of the people and of the public boxes.
    """

    student: str
    city: str
    epsilon: str
    sizes_m: tuple[float, float]
    seed: int

    @property
    def region(self) -> Region:
        """The region of the city."""
        from snhkit.data import city

        return city(self.city).region

    @property
    def records(self) -> Points:
        """The records that the student releases, one of each of 4,000 invented people."""
        from snhkit.data import synthetic_points

        return synthetic_points(self.city, PEOPLE, seed=self.seed)

    @property
    def boxes(self) -> RangeQueries:
        """The public workload: boxes like those on which the release is scored."""
        return RangeQueries.sample(self.records, BOXES, self.sizes_m, self.seed)

    @property
    def apart(self) -> int:
        """The number of people in whom the data sets of an audit differ."""
        return round(_APART / float(self.epsilon))


def assignment(key: str, student: str) -> Assignment:
    """Return the assignment that a class key gives to a student, always the same one.

    Parameters
    ----------
    key : str
        The key of the class, which all students know.
    student : str
        The student's name, which is also the name of the folder that is handed in. Upper and lower
        case do not matter.

    Returns
    -------
    Assignment
        The assignment.

    Examples
    --------
    >>> mine = assignment("sample", "Ada")
    >>> mine.city, mine.epsilon, mine.sizes_m
    ('miami', '0.5', (400.0, 1500.0))
    """
    name = unicodedata.normalize("NFC", student).casefold()
    drawn = hmac.digest(key.encode(), name.encode("utf-8", "replace"), "sha256")
    return Assignment(
        student,
        _CITIES[drawn[0] % len(_CITIES)],
        _EPSILONS[drawn[1] % len(_EPSILONS)],
        _SIZES_M[drawn[2] % len(_SIZES_M)],
        int.from_bytes(drawn[3:7], "big"),
    )
