"""Judges of answers to the exercises of lecture 10, "People over time"."""

from typing import Any

from snhkit.teaching.judges import number, numbers
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _week(answer: Any) -> Verdict:
    return numbers(
        answer,
        [0.2, 1.4],
        ["one day of a person", "all seven days of a person"],
        "A day of a person is in one release. The person is in seven, whose epsilons add up.",
        [
            "A day of a person is in only one of the seven releases.",
            "The person is in all seven releases.",
        ],
    )


def _share(answer: Any) -> Verdict:
    return numbers(
        answer,
        [1 / 365, 365 * 2**0.5],
        ["ε a day", "noise"],
        "ε is 1/365 a day, so the noise of each count has a standard deviation of about 516.",
        ["The days add up to 1.", "The standard deviation is √2/ε, with the ε of one day."],
    )


def _total(answer: Any) -> Verdict:
    return number(
        answer,
        365**0.5,
        "The variances of 365 days add up, and the root of 365 is 19.1.",
        "Add 365 variances, then take the root.",
        slips={365: "That is the factor of the variances. The error is its root."},
    )


JUDGES = {"10-week": _week, "10-share": _share, "10-total": _total}
