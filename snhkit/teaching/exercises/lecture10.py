"""The exercises of lecture 10, "People over time"."""

from typing import Any

from snhkit.teaching.judges import number, numbers
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _week(answer: Any) -> Verdict:
    return numbers(
        answer,
        [0.2, 1.4],
        ["one day of a person", "all seven days of a person"],
        "A day of a person is in one release. The person is in seven, and costs add up.",
        ["A user-day is in one of the seven releases only.", "The person is in all seven."],
    )


def _share(answer: Any) -> Verdict:
    return numbers(
        answer,
        [1 / 365, 365 * 2**0.5],
        ["ε a day", "noise"],
        "1/365 a day, and noise of about 516 in each count: a daily map needs crowds.",
        ["The days add up to 1.", "The standard deviation is √2/ε, with the ε of one day."],
    )


def _total(answer: Any) -> Verdict:
    return number(
        answer,
        365**0.5,
        "Variances of 365 noises add up; the root of 365 is 19.1.",
        "Add 365 variances, then take the root.",
        slips={365: "That is the factor of the variances. The error is its root."},
    )


JUDGES = {"10-week": _week, "10-share": _share, "10-total": _total}
