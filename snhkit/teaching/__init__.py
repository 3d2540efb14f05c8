"""Code for the lectures only: checks of exercises, games, attacks, and figures."""

import lazy_loader as lazy

from snhkit.teaching.assignments import Assignment, assignment, own_numbers
from snhkit.teaching.betting import BettingGame, surest
from snhkit.teaching.check import check, claim, exercise_names
from snhkit.teaching.copies import with_solutions, without_solutions
from snhkit.teaching.daily import guessed_after, running_totals, running_totals_std
from snhkit.teaching.judges import Verdict
from snhkit.teaching.promises import (
    counts_of_answers,
    gaussian_delta,
    gaussian_std,
    moved,
    randomised_cells,
)
from snhkit.teaching.quarters import quarter
from snhkit.teaching.rebuilding import bounds_of_cells, cells_in, random_boxes, rebuilt
from snhkit.teaching.selection import first_quiet, noisy_max
from snhkit.teaching.suspects import FAULTS, faulty_map, suspects
from snhkit.teaching.unicity import Traces, invented_hours

__getattr__, _, _ = lazy.attach(  # Matplotlib is imported with the first figure
    __name__, submod_attrs={"figures": ["curves", "dots", "histograms", "pictures"]}
)

__all__ = [
    "FAULTS",
    "Assignment",
    "BettingGame",
    "Traces",
    "Verdict",
    "assignment",
    "bounds_of_cells",
    "cells_in",
    "check",
    "claim",
    "counts_of_answers",
    "exercise_names",
    "faulty_map",
    "first_quiet",
    "gaussian_delta",
    "gaussian_std",
    "guessed_after",
    "invented_hours",
    "moved",
    "noisy_max",
    "own_numbers",
    "quarter",
    "random_boxes",
    "randomised_cells",
    "rebuilt",
    "running_totals",
    "running_totals_std",
    "surest",
    "suspects",
    "with_solutions",
    "without_solutions",
]
