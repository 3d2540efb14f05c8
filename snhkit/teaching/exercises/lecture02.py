"""Judges of answers to the exercises of lecture 2, "Privacy by hand"."""

from collections.abc import Callable
from typing import Any

import numpy as np

from snhkit.privacy import ReplayableEntropy
from snhkit.teaching.betting import WITH, bets_won, surest
from snhkit.teaching.judges import number, numbers, unanswered
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]

_ROUNDS = 40_000


def _largest_epsilon(answer: Any) -> Verdict:
    return number(
        answer,
        np.log(1.5),
        "The odds may grow from 1 to 0.6 / 0.4 = 1.5, and ln 1.5 is 0.405.",
        "The odds of 60 % are 0.6 / 0.4. Which ε makes e^ε that large?",
        slips={
            1.5: "1.5 is how much the odds may grow. ε is the logarithm of that.",
            np.log(0.6): "The chance is not the odds: turn 60 % into odds first.",
            -np.log(0.6): "The chance is not the odds: turn 60 % into odds first.",
            np.log10(1.5): "That is the logarithm to base 10; the definition has e.",
        },
    )


def _sensitivity(answer: Any) -> Verdict:
    return numbers(
        answer,
        [1, 2],
        ["removed", "moved"],
        "A removed record changes one cell. A moved record changes two cells.",
        [
            "In how many of the 1,600 cells was the record counted?",
            "One cell loses the record. Does another gain it?",
        ],
    )


def _bet(answer: Any, epsilon: float) -> Verdict:
    missing = Verdict(None, "The function must return True or False for a count such as 18.")
    if unanswered(answer):
        return missing
    bet: Callable[[int], bool] = answer
    if not callable(bet):
        return Verdict(False, f"{answer!r} is not a function.", "Keep the line `def bet(count):`.")
    try:
        first = bet(WITH)
    except Exception as error:  # whatever a student's function raises
        said = f"bet({WITH}) raises {type(error).__name__}: {error}."
        return Verdict(False, said, "The function gets one number, the released count.")
    if unanswered(first):
        return missing
    won, best = bets_won(bet, epsilon, _ROUNDS, ReplayableEntropy(2)), surest(epsilon)
    if won > best - 0.01:
        return Verdict(
            True,
            f"Your strategy wins {won:.1%} of {_ROUNDS:,} bets. In the long run, no strategy wins "
            f"more than {best:.1%}.",
        )
    if abs(won - 0.5) < 0.01:
        hint = "For which counts is it more likely that she is in?"
        told = f"Your strategy wins {won:.1%} of the bets, no more than a coin would."
        return Verdict(False, told, hint)
    if won < 0.5:
        told = f"Your strategy wins {won:.1%} of the bets."
        return Verdict(False, told, "The opposite bets would win more than half.")
    return Verdict(
        False,
        f"Your strategy wins {won:.1%} of {_ROUNDS:,} bets; {best:.1%} is possible.",
        "Which of 17 and 18 explains the count better? Look at the upper picture of section 2.",
    )


def _answers(answer: Any) -> Verdict:
    return number(
        answer,
        800,
        "The variance of the mean is 199.8 / k, or 1/4 at k ≈ 800 answers, whose ε add up to 80.",
        "The variance of a mean of k answers is the variance of one, divided by k.",
        slips={
            400: "Half a record is the standard error; its square, the variance, is 1/4.",
            28.3: "The standard error falls with the square root of k, so k is the square of that.",
            80: "That is ε for all answers together. The question is how many answers.",
        },
    )


JUDGES = {
    "02-largest-epsilon": _largest_epsilon,
    "02-sensitivity": _sensitivity,
    "02-bet": _bet,
    "02-answers": _answers,
}
