"""Judges of answers to the exercises of lecture 1, "Explore"."""

from fractions import Fraction
from typing import Any

from snhkit.teaching.judges import choice, number
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _not_in_the_bar(answer: Any) -> Verdict:
    return choice(
        answer,
        "uniformity",
        "± is the standard deviation of the noise. Uneven records in a cell add another error.",
        {"noise": "± is the standard deviation of the noise, so it does contain the noise."},
    )


def _builds_left(answer: Any, left: Fraction) -> Verdict:
    return number(
        answer,
        left // Fraction(1, 4),
        f"An epsilon of {float(left):g} is left, and each build costs 0.25.",
        f"The ledger shows that {float(left):g} is left. Each build costs its whole epsilon.",
        within=1e-9,
        slips={12: "The whole budget of 3 would allow that. Part of it has been spent."},
    )


JUDGES = {"01-not-in-the-bar": _not_in_the_bar, "01-builds-left": _builds_left}
