"""Judges of answers to the exercises of lecture 2, "Privacy by hand"."""

from collections.abc import Callable
from typing import Any

import numpy as np

from snhkit.teaching.betting import WITH, chance_to_win, surest
from snhkit.teaching.judges import number, numbers, unanswered
from snhkit.teaching.verdict import Verdict

__all__ = ["JUDGES"]


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
    try:
        won, best = chance_to_win(bet, epsilon), surest(epsilon)
    except Exception as error:  # for some other count
        said = f"bet raises {type(error).__name__} for some counts: {error}."
        return Verdict(False, said, "It must return True or False for every whole number.")
    if won > best - 1e-6:
        return Verdict(
            True,
            f"Your strategy wins {won:.1%} of the bets in the long run. No strategy wins more.",
        )
    if abs(won - 0.5) < 0.02:
        hint = "For which counts is it more likely that she is in?"
        told = f"Your strategy wins {won:.1%} of the bets, no more than a coin would."
        return Verdict(False, told, hint)
    if won < 0.5:
        told = f"Your strategy wins {won:.1%} of the bets."
        return Verdict(False, told, "The opposite bets would win more than half.")
    return Verdict(
        False,
        f"Your strategy wins {won:.1%} of the bets; {best:.1%} is possible.",
        "Which of 17 and 18 explains the count better? Look at the upper picture of section 2.",
    )


def _answers(answer: Any) -> Verdict:
    return numbers(
        answer,
        [800, 80],
        ["how many answers", "their total ε"],
        "The variance of the mean is 199.8 / k, or 1/4 at k ≈ 800 answers, whose ε add up to 80.",
        [
            "The variance of a mean of k answers is that of one, divided by k. It should be 1/4.",
            "Each answer costs 0.1, and costs add up.",
        ],
    )


JUDGES = {
    "02-largest-epsilon": _largest_epsilon,
    "02-sensitivity": _sensitivity,
    "02-bet": _bet,
    "02-answers": _answers,
}
