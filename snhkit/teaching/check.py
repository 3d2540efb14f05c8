"""What a lecture says of a run: ``check`` judges an answer, ``claim`` a statement."""

import os
from collections.abc import Callable
from typing import Any

from snhkit.errors import InputError
from snhkit.teaching.judges import Verdict

_GRADING = "NBGRADER_EXECUTION"


def check(exercise: str, answer: Any, **facts: Any) -> Verdict:
    """Return the verdict on an answer: right, or what is wrong with it and a hint.

    Parameters
    ----------
    exercise : str
        The name of the exercise, as in the exercise's cell, such as "02-largest-epsilon".
    answer : any
        The student's answer; an ellipsis (dots) means that there is no answer yet.
    **facts : any
        Values from the notebook that the verdict depends on, such as ``epsilon=0.5``.

    Returns
    -------
    Verdict
        The verdict, which is true in an ``if`` statement only if the answer is right. A notebook
        shows its text.

    Raises
    ------
    InputError
        If there is no exercise of this name.
    AssertionError
        Under nbgrader (which sets ``NBGRADER_EXECUTION``), if the answer is not right, so that
        no points are given.

    Examples
    --------
    >>> from snhkit.teaching import check
    >>> check("02-largest-epsilon", ...)
    … Nothing to check yet. Put your answer in the place of the dots, and run both cells.
    >>> check("02-largest-epsilon", lambda sure: sure / (1 - sure))
    ✗ Not yet. <lambda>(0.6) is 1.5, but should be 0.4055. That is how much the odds may grow. ...
    """
    judges = _judges()
    if exercise not in judges:
        raise InputError(
            f"check: there is no exercise {exercise!r}; the exercises are "
            f"{', '.join(sorted(judges))}."
        )
    verdict = judges[exercise](answer, **facts)
    if os.environ.get(_GRADING) and not verdict:
        raise AssertionError(repr(verdict))
    return verdict


def exercise_names() -> list[str]:
    """Return the names of all exercises that ``check`` knows, in order."""
    return sorted(_judges())


def claim(holds: bool, says: str, otherwise: str) -> None:
    """Print a claim of a lecture if it is true in this run; otherwise, print what happened instead.

    The numbers of a lecture change with the noise, the city and epsilon. An assertion would stop
    the notebook when a student changes one of them; this function does not.

    Parameters
    ----------
    holds : bool
        Whether the claim holds in this run.
    says : str
        The text of the claim.
    otherwise : str
        The text to print if the claim does not hold: what this run shows instead, and why.

    Examples
    --------
    >>> claim(2 > 1, "Two is more than one.", "It is not: one of them was changed.")
    ✓ Two is more than one.
    >>> claim(1 > 2, "One is more than two.", "One is less, whatever the noise.")
    ≠ In this run it is different. One is less, whatever the noise.
    """
    print(f"✓ {says}" if holds else f"≠ In this run it is different. {otherwise}")


def _judges() -> dict[str, Callable[..., Verdict]]:
    from snhkit.teaching.exercises import JUDGES  # which imports all methods

    return JUDGES
