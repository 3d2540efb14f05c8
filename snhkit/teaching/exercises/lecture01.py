"""The exercises of lecture 1, "Explore"."""

from fractions import Fraction
from typing import Any

from snhkit.teaching.judges import choice, number
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _not_in_the_bar(answer: Any) -> Verdict:
    return choice(
        answer,
        "uniformity",
        "± is the noise's standard deviation. How unevenly records lie inside a cell is not in it.",
        {"noise": "± is the standard deviation of the noise, so the noise is what it knows of."},
    )


def _builds_left(answer: Any, left: Fraction) -> Verdict:
    return number(
        answer,
        left // Fraction(1, 4),
        f"{float(left):g} is left, and each build costs 0.25 before anything is looked at.",
        f"The ledger says that {float(left):g} is left. A build is granted whole or not at all.",
        within=1e-9,
        slips={12: "That is what the whole budget of 3 would grant. Something was spent already."},
    )


JUDGES = {"01-not-in-the-bar": _not_in_the_bar, "01-builds-left": _builds_left}
