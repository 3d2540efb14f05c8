"""What the lectures need beside the toolkit: checks of exercises, games, and attacks to study."""

from snhkit.teaching.betting import BettingGame, bets_won, surest
from snhkit.teaching.check import check, exercise_names
from snhkit.teaching.claim import claim
from snhkit.teaching.copies import with_solutions, without_solutions
from snhkit.teaching.verdict import Verdict

__all__ = [
    "BettingGame",
    "Verdict",
    "bets_won",
    "check",
    "claim",
    "exercise_names",
    "surest",
    "with_solutions",
    "without_solutions",
]
