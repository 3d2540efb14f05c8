"""The exercises of lecture 6, "Your own data"."""

from typing import Any

from snhkit.teaching.judges import number, numbers
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _exponents(answer: Any) -> Verdict:
    return numbers(
        answer,
        [40, 1],
        ["by record", "by user"],
        "Forty records are protected by 40 ε; a person is protected by ε for all trips.",
        [
            'With unit="record" ε hides one trip, and costs of forty trips add up.',
            "The noise was already increased by max_per_user, so the promise for a person is ε.",
        ],
    )


def _average(answer: Any) -> Verdict:
    return numbers(
        answer,
        [2**-0.5, 0.5],
        ["averaged", "one grid"],
        "A mean of two has half the variance; noise at twice the ε has half the standard error.",
        [
            "The variance of the mean of two is half of one variance. The error bar is its root.",
            "The noise's width is in proportion to 1/ε.",
        ],
    )


def _people(answer: Any) -> Verdict:
    return number(
        answer,
        1,
        "One trip of each person is kept, so each person is counted once.",
        "A count of trips is a count of people if each person has one trip.",
        within=1e-9,
    )


JUDGES = {"06-exponents": _exponents, "06-average": _average, "06-people": _people}
