"""Judges of answers to the exercises of lecture 3, "Why grids fail"."""

from typing import Any

import numpy as np

from snhkit.builders import Identity
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.experiment import compare
from snhkit.geometry import Points, RangeQueries, Region
from snhkit.methods import METHODS
from snhkit.teaching.judges import number, unanswered
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]

_PLAYERS = ("ug", "identity", "ag", "privtree", "dawa")
_EPSILON, _LEAST, _MOST = 0.2, 1_000, 200_000


def _noise_of_a_box(answer: Any) -> Verdict:
    one = 2**0.5 / 0.2
    return number(
        answer,
        5 * one,
        "25 variances of 2/ε² add up to 1,250, and the root of that is 35 records.",
        "Each of the 25 cells has the variance 2/ε². Add up the variances, then take the root.",
        slips={
            one: "That is the noise of one cell; 25 cells lie in the box.",
            25 * one: "Standard deviations do not add up, but variances do.",
            1_250: "That is the variance. The standard error is its root.",
            25: "Each cell has the standard deviation √2/ε, not 1/ε.",
        },
    )


def _one_cell_wins(answer: Any, city: Region) -> Verdict:
    if unanswered(answer):
        return Verdict(None, "Put the positions of about 30,000 records in the place of the dots.")
    try:
        records = Points(city, answer)
    except InputError as error:
        return Verdict(False, str(error), "Positions are in metres from the lower-left corner.")
    if not _LEAST <= len(records) <= _MOST:
        told = f"There are {len(records):,} records."
        return Verdict(False, told, f"Give {_LEAST:,} to {_MOST:,} records.")
    data = PrivateDataset(records, budget=2, unit="record", n_public=True)
    builders = {"one cell": Identity(city.side_m)}
    builders |= {METHODS[name].title: METHODS[name].builder() for name in _PLAYERS}
    built = {k: data.release(b, epsilon=_EPSILON, seed=1) for k, b in builders.items()}
    boxes = RangeQueries.sample(city, 500, (300, 1_000), seed=1)
    table = compare(built, boxes, truth=records)
    errors = dict(zip(table["method"], table["rel_error"], strict=True))
    one = errors.pop("one cell")
    rival = min(errors, key=errors.__getitem__)
    told = f"The error of one cell is {one:.2%}, that of {rival} {errors[rival]:.2%}."
    if one < errors[rival]:
        return Verdict(True, told)
    even = np.bincount((records.xy // (city.side_m / 4) @ [4, 1]).astype(int), minlength=16)
    if even.max() > 1.2 * even.min():
        hint = "The answer of one cell is right if the records are spread evenly. Are yours?"
        return Verdict(False, told, hint)
    return Verdict(False, told, "Random positions form clusters. Use equal distances.")


JUDGES = {"03-noise-of-a-box": _noise_of_a_box, "03-one-cell-wins": _one_cell_wins}
