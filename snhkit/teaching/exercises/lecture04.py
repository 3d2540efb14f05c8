"""Judges of answers to the exercises of lecture 4, "Inside SNH"."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import RangeQueries
from snhkit.teaching.judges import as_numbers, number, numbers
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


def _by_hand(answer: Any, noisy: NDArray, cell_m: float, box: RangeQueries) -> Verdict:
    starts = np.arange(len(noisy)) * cell_m
    parts = []
    for low, width in ((box.x[0], box.width[0]), (box.y[0], box.height[0])):
        inside = np.minimum(starts + cell_m, low + width) - np.maximum(starts, low)
        parts.append(np.clip(inside, 0, None) / cell_m)
    across, up = parts
    right, touched = across @ noisy @ up, (across > 0) @ noisy @ (up > 0)
    given = as_numbers(answer, ())
    if isinstance(given, Verdict):
        return given
    if abs(given - right) <= 0.51:
        return Verdict(True, f"The box covers parts of six cells: {right:.2f} records in all.")
    if abs(given - touched) <= 0.51:
        return Verdict(False, "That counts each cell that the box touches as a whole cell.",
                       "For each cell, take the share of its area inside the box.")  # fmt: skip
    return Verdict(
        False,
        f"{float(given):.4g} differs from the right number by {abs(float(given) - right):.1f}.",
        "The columns have the weights 1/4, 1 and 1/2, and the rows 3/4 and 1. The weight of a cell "
        "is the product.",
    )


def _one_network(answer: Any) -> Verdict:
    return numbers(
        answer,
        [62.5, (70 / 62.5) ** 2],
        ["the size", "the factor"],
        "The only network is for the middle of 25 to 100 m, and a count grows with the area.",
        [
            "One network is trained for the middle of 25 to 100 m.",
            "The factor is a quotient of areas, (70 / size)².",
        ],
        within=0.01,
    )


def _fresh_grids(answer: Any) -> Verdict:
    return number(
        answer,
        0.8,
        "Eight grids of the same people are eight entries in the ledger, and costs add up.",
        "Is a record in one cell of one of the grids, or in one cell of each grid?",
        slips={
            0.1: "That is the epsilon of one grid. The epsilons of eight grids add up.",
            1.6: "That is for replacing a record by another. One record is in each grid once.",
        },
    )


JUDGES = {
    "04-by-hand": _by_hand,
    "04-one-network": _one_network,
    "04-fresh-grids": _fresh_grids,
}
