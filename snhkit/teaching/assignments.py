"""What differs from student to student: the league's assignments, and numbers in exercises.

All of it follows from the key of the class and a student's name.
"""

import hmac
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from snhkit.errors import InputError
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
    drawn = _drawn(key, student)
    return Assignment(
        student,
        _CITIES[drawn[0] % len(_CITIES)],
        _EPSILONS[drawn[1] % len(_EPSILONS)],
        _SIZES_M[drawn[2] % len(_SIZES_M)],
        int.from_bytes(drawn[3:7], "big"),
    )


def _drawn(key: str, student: str, purpose: str = "") -> bytes:
    """Return bytes that look random and follow from a class key, a name and a purpose."""
    name = unicodedata.normalize("NFC", student).casefold() + purpose
    return hmac.digest(key.encode(), name.encode("utf-8", "replace"), "sha256")


def _all(**values: Iterable[float]) -> list[dict[str, float]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


_OWN_EPSILONS = (0.05, 0.12, 0.15, 0.25, 0.35, 0.4, 0.45, 0.6)
OWN_NUMBERS: dict[str, list[dict[str, float]]] = {
    # The two hidden counts of the row are 1 to 4, and one of them is the column's.
    "00-hidden": [
        {"row": 19 + one + two, "column": 6 + one}
        for one, two in product(range(1, 5), repeat=2)
        if (one, two) != (3, 1)
    ],
    "04-fresh-grids": _all(networks=(3, 5, 7, 11, 13, 17), epsilon=_OWN_EPSILONS),
    "05-bill": _all(widths=(5, 7, 11), draws=(3, 6, 9, 13), epsilon=_OWN_EPSILONS),
    "06-exponents": _all(trips=range(11, 40), epsilon=(0.5, 2, 3)),
    "08-memory": _all(numbers=(2, 4, 5, 7), billions=(3, 5, 7, 8, 9, 11, 13)),
    "08-relative": _all(times=range(20, 98, 3)),
    "08-machines": _all(machines=[*range(5, 16), *range(17, 26)]),
    "11-delta": _all(
        records=(200_000, 300_000, 700_000), one_in=(10_000, 11_000, 13_000, 17_000, 19_000)
    ),
}
"""The numbers of exercises of which a student gets one set, by exercise."""


def own_numbers(exercise: str, key: str, student: str) -> dict[str, float]:
    """Return the numbers that a student has in an exercise, in place of those of the lecture.

    Parameters
    ----------
    exercise : str
        The name of the exercise, such as "04-fresh-grids".
    key : str
        The key of the class.
    student : str
        The student's name. Upper and lower case do not matter.

    Returns
    -------
    dict of str to number
        The numbers by name, which ``check`` takes as facts.

    Raises
    ------
    InputError
        If no name is given.

    Examples
    --------
    >>> own_numbers("04-fresh-grids", "sample", "Ada")
    {'networks': 5, 'epsilon': 0.15}
    """
    if not isinstance(student, str) or not student.strip():
        raise InputError("STUDENT is empty: write your name into the first code cell, and run it.")
    sets = OWN_NUMBERS[exercise]
    return sets[int.from_bytes(_drawn(key, student, f"\0{exercise}"), "big") % len(sets)]
