"""Judges of answers to the exercises of lecture 0, "Before privacy"."""

from typing import Any

from snhkit.teaching.judges import choice, number, numbers
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _left_over(answer: Any) -> Verdict:
    return number(
        answer,
        1_500_000 / 50**4,
        "0.24 others are left on average, and nobody else in 79 % of cases.",
        "Each clue leaves one in 50 of the other people who are still possible.",
        slips={
            1_500_000 / 200: "Four clues do not leave one in 200: each clue divides by 50 again.",
            30_000: "That is what one clue leaves.",
            1.24: "1.24 counts the person herself, too. How many others are left?",
        },
    )


def _difference(answer: Any) -> Verdict:
    return numbers(
        answer,
        [4, 0],
        ["plot 10", "plot 11"],
        "131 - 127 = 4 homes are in plot 10. Both plots have 4 together, so plot 11 has none.",
        ["The two boxes differ by plot 10 alone.", "Plots 10 and 11 hold 4 together."],
        within=1e-9,
    )


def _hidden(answer: Any) -> Verdict:
    return numbers(
        answer,
        [3, 1],
        ["the first", "the second"],
        "The column gives the first, 9 - 6. Then the row gives the second, 23 - 8 - 11 - 3.",
        ["Begin with the column: only one of its cells is hidden.", "The row sums to 23."],
        within=1e-9,
    )


def _kerckhoffs(answer: Any) -> Verdict:
    return choice(
        ("no", "yes")[answer] if isinstance(answer, bool) else answer,
        "no",
        "Only the random numbers must be secret. The attacker may know how they are distributed.",
        {"yes": "The attacker may compute the probabilities. What is secret then?"},
    )


JUDGES = {
    "00-left-over": _left_over,
    "00-difference": _difference,
    "00-hidden": _hidden,
    "00-kerckhoffs": _kerckhoffs,
}
