"""Judges of answers to the exercises of lecture 11, "Other promises"."""

from typing import Any

import numpy as np

from snhkit.teaching.judges import choice, number
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _delta(answer: Any) -> Verdict:
    return number(
        answer,
        1,
        "With probability 1/100,000 for each of 100,000 records, one is expected to be revealed.",
        "Multiply the probability for one record by the number of records.",
        slips={1e-5: "That is the probability for one record. There are 100,000 records."},
    )


def _local_noise(answer: Any) -> Verdict:
    return number(
        answer,
        10_000**0.5,
        "Variances add up: 10,000 people add 10,000 times the variance of one noise.",
        "Each person adds noise of her own. What is the variance of a sum?",
        slips={
            10_000: "That is the quotient of the variances. Errors are their roots.",
            1: "The owner adds noise once. Without an owner, every person adds noise.",
        },
    )


def _council(answer: Any) -> Verdict:
    return choice(
        answer,
        "C",
        "C says how much may be learned, from which data, and what is not hidden.",
        {
            "A": "Nothing is absolutely safe, and lecture 0 showed that anonymising does not help.",
            "B": "ε is not the probability of a leak: it bounds what every release reveals.",
            "D": "Facts about crowds are not hidden, and should not be.",
        },
    )


def _apart(answer: Any) -> Verdict:
    return number(
        answer,
        np.exp(3),
        "The factor for 3 km, at an ε of 1 per km, is e³ ≈ 20.",
        "The factor is e to the distance in km times ε per km.",
        slips={3: "That is the exponent. The factor is e to this exponent."},
    )


JUDGES = {
    "11-delta": _delta,
    "11-local-noise": _local_noise,
    "11-apart": _apart,
    "11-council": _council,
}
