"""Judges of answers to the exercises of lecture 8, "Scale out"."""

from typing import Any

from snhkit.teaching.judges import number
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _memory(answer: Any) -> Verdict:
    return number(
        answer,
        24,
        "Each of a billion records takes 24 bytes, which makes 24 GB.",
        "Three numbers of 8 bytes for each record.",
        slips={
            8: "That is for one number per record, but there are three.",
            3: "That is for one byte per number, but each number takes 8 bytes.",
        },
    )


def _relative(answer: Any) -> Verdict:
    return number(
        answer,
        0.01,
        "The noise stays the same, and the counts are a hundred times as large.",
        "Divide the same noise by counts that are a hundred times as large.",
        slips={
            1: "The noise itself stays the same, but the counts grow.",
            0.1: "No root is needed, since the noise does not grow at all.",
        },
    )


def _machines(answer: Any) -> Verdict:
    return number(
        answer,
        4,
        "16 variances add up, and the root of 16 is 4.",
        "Variances add up, standard deviations do not.",
        slips={16: "That is the factor of the variance."},
    )


JUDGES = {"08-memory": _memory, "08-relative": _relative, "08-machines": _machines}
