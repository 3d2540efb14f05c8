"""Judges of answers to the exercises of lecture 5, "Choosing the cell, without cheating"."""

from typing import Any

from snhkit.teaching.judges import number
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _bill(answer: Any) -> Verdict:
    return number(
        answer,
        24 * 0.2,
        "24 builds from the same records cost 0.2 each, even if 23 of them are not published.",
        "Each build used the records, even if its grid was not published.",
        slips={
            0.2: "That is what she meant to spend. All 24 grids were built from the records.",
            0.6: "There are three widths, but also eight draws of each.",
            1.6: "There are eight draws, but also three widths.",
        },
    )


def _scaled(answer: Any, epsilon: float, private: int, public: int) -> Verdict:
    return number(
        answer,
        epsilon * private / public,
        f"n·ε is {epsilon * private:,.0f} for both cities.",
        "n·ε must be the same for both cities.",
        slips={
            epsilon * public / private: "The quotient is inverted: fewer records need a larger ε.",
            epsilon: "With the same ε, noise dominates the smaller city, which needs wider cells.",
        },
    )


JUDGES = {"05-bill": _bill, "05-scaled": _scaled}
