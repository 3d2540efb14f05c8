"""Judges of answers to the exercises of lecture 9, "Auditing"."""

from typing import Any

import numpy as np

from snhkit.teaching.judges import as_numbers, number, unanswered
from snhkit.teaching.suspects import FAULTS
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]

_GUILTY = {name for name, fault in FAULTS.items() if fault}


def _bound(answer: Any) -> Verdict:
    return number(
        answer,
        np.log(0.6 / 0.2),
        "ln 3 = 1.1 is the least ε that allows such a quotient.",
        "The definition bounds the quotient of the two probabilities by e^ε.",
        slips={
            3: "3 is the quotient. ε is its logarithm.",
            0.4: "That is the difference of the probabilities. The definition has their quotient.",
        },
    )


def _guilty(answer: Any) -> Verdict:
    if unanswered(answer):
        return Verdict(None, 'Name the mechanisms that are not ε-private, such as {"A", "B"}.')
    parts = answer.replace(",", " ").split() if isinstance(answer, str) else answer
    if not isinstance(parts, (list, tuple, set, frozenset)):
        told = f"The answer must be a set of letters, not {answer!r}."
        return Verdict(False, told, 'Such as {"A", "B"}.')
    named = {str(name).strip().upper() for name in parts}
    if unknown := sorted(repr(name) for name in named - set(FAULTS)):
        told = f"These are no mechanisms: {', '.join(unknown)}."
        return Verdict(False, told, "The mechanisms are A to E.")
    if innocent := sorted(named - _GUILTY):
        return Verdict(
            False,
            f"{innocent[0]} is ε-private.",
            "Only a lower bound on ε that is above the claimed ε proves a fault.",
        )
    if missing := sorted(_GUILTY - named):
        hint = {
            "B": "Compare the bounds of all five mechanisms for the counts 17 and 18.",
            "C": "Not every pair of neighbours reveals a fault. Try the counts 0 and 1.",
            "E": "Call the mechanism twice with the same count. Should the answers differ?",
        }[missing[0]]
        return Verdict(False, f"{len(missing)} more of the mechanisms are not ε-private.", hint)
    return Verdict(True, " ".join(f"{name}: {FAULTS[name]}" for name in sorted(_GUILTY)))


def _neighbour(answer: Any, counts: Any) -> Verdict:
    given = as_numbers(answer, (2,))
    if isinstance(given, Verdict):
        return given
    i, j = (int(part) for part in given)
    if not np.array_equal(given, [i, j]):
        return Verdict(False, "A cell has two whole numbers, such as (3, 5).")
    m = len(counts)
    if not (0 <= i < m and 0 <= j < m):
        return Verdict(False, f"Cell ({i}, {j}) is not on the map.", f"Cells go from 0 to {m - 1}.")
    if counts[i, j] > 0:
        return Verdict(
            False,
            f"Cell ({i}, {j}) holds {counts[i, j]} records, so it gets noise with or without one "
            "more.",
            "In which cells does one more record decide whether noise is added?",
        )
    return Verdict(
        True, "The cell is empty. Its count is always 0 without the record, and noisy with it."
    )


JUDGES = {"09-bound": _bound, "09-guilty": _guilty, "09-neighbour": _neighbour}
