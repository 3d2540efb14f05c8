"""What the lectures need beside the toolkit: checks of exercises, games, and attacks to study."""

from snhkit.teaching.betting import BettingGame, bets_won, surest
from snhkit.teaching.check import check, exercise_names
from snhkit.teaching.claim import claim
from snhkit.teaching.copies import with_solutions, without_solutions
from snhkit.teaching.rebuilding import bounds_of_cells, cells_in, random_boxes, rebuilt
from snhkit.teaching.suspects import FAULTS, faulty_map, suspects
from snhkit.teaching.unicity import Traces, invented_hours
from snhkit.teaching.verdict import Verdict

__all__ = [
    "FAULTS",
    "BettingGame",
    "Traces",
    "Verdict",
    "bets_won",
    "bounds_of_cells",
    "cells_in",
    "check",
    "claim",
    "exercise_names",
    "faulty_map",
    "invented_hours",
    "random_boxes",
    "rebuilt",
    "surest",
    "suspects",
    "with_solutions",
    "without_solutions",
]
