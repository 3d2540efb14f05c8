"""Judges of answers to the exercises of lecture 6, "Your own data"."""

from typing import Any

from snhkit.teaching.judges import number, numbers
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _exponents(answer: Any) -> Verdict:
    return numbers(
        answer,
        [40, 1],
        ["by record", "by user"],
        'With unit="record", forty trips are protected by 40 ε; with unit="user", by ε.',
        [
            'With unit="record", ε hides one trip, and the epsilons of forty trips add up.',
            'With unit="user", the noise is max_per_user times as large, so ε protects all trips.',
        ],
    )


def _average(answer: Any) -> Verdict:
    return numbers(
        answer,
        [2**-0.5, 0.5],
        ["averaged", "one grid"],
        "A mean of two grids has half the variance; one grid at 2 ε has half the standard error.",
        [
            "The variance of the mean of two counts is half of one variance; take the root.",
            "The standard error of the noise is in proportion to 1/ε.",
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
