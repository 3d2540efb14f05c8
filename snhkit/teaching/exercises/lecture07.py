"""Judges of answers to the exercises of lecture 7, "Reproduce the paper"."""

from typing import Any

from snhkit.teaching.judges import number
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _relative(answer: Any) -> Verdict:
    return number(
        answer,
        0.35,
        "The error of 7 is divided by 0.1 % of n, which is 20, since the truth is below that.",
        "What is 0.1 % of 20,000, and is the truth below it?",
        slips={
            7 / 3: "The truth is below 0.1 % of n, so 0.1 % of n is the divisor.",
            7: "That is the absolute error.",
            0.7: "Divide by the truth or by 0.1 % of n (the larger), not by the answer.",
        },
    )


def _luck(answer: Any) -> Verdict:
    return number(
        answer,
        0.04,
        "5 · (1/5)³ = 1/25: if all are equally good, one figure in 25 has one winner throughout.",
        "A given method wins at one ε with probability 1/5. With what probability does it win at "
        "all three? And any of the five?",
        slips={
            0.008: "That is the probability for one given method. It could be any of the five.",
            0.2: "That is the probability of winning at one ε.",
        },
    )


JUDGES = {"07-relative": _relative, "07-luck": _luck}
