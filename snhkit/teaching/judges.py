"""Verdicts on answers to exercises: on numbers, lists of numbers, choices, and functions."""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SIGNS = {True: "✓ Right.", False: "✗ Not yet.", None: "… Nothing to check yet."}


@dataclass(frozen=True, repr=False)
class Verdict:
    """The verdict on an answer to an exercise, which a notebook shows below the cell.

    Parameters
    ----------
    right : bool or None
        Whether the answer is right; None if the exercise has not been answered.
    says : str
        The reason why the answer is right, or what is wrong with it.
    hint : str
        The hint for an answer that is not right.

    Examples
    --------
    >>> Verdict(False, "1.5 is the odds, not their logarithm.", "Take np.log of the odds.")
    ✗ Not yet. 1.5 is the odds, not their logarithm. Hint: Take np.log of the odds.
    """

    right: bool | None
    says: str
    hint: str = ""

    def __bool__(self) -> bool:
        return self.right is True

    def __repr__(self) -> str:
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"{_SIGNS[self.right]} {self.says}{hint}"

    def _repr_html_(self) -> str:
        colour = {True: "#00664b", False: "#a63c00", None: "#555555"}[self.right]
        hint = f" <em>Hint: {html.escape(self.hint)}</em>" if self.hint else ""
        sign = f"<strong style='color:{colour}'>{_SIGNS[self.right]}</strong>"
        return f"<div style='font-size:1.1em'>{sign} {html.escape(self.says)}{hint}</div>"


_NOTHING = Verdict(None, "Put your answer in the place of the dots, and run both cells.")


def unanswered(answer: Any) -> bool:
    """Return whether an answer is missing: None, dots (an ellipsis), or a list with dots."""
    if isinstance(answer, (list, tuple, set)):
        return any(part is ... for part in answer)
    return answer is ... or answer is None


def as_numbers(answer: Any, shape: tuple[int, ...]) -> NDArray[np.float64] | Verdict:
    """Return an answer as an array of the given shape, or a verdict that says why not."""
    if unanswered(answer):
        return _NOTHING
    wanted = "one number" if shape == () else f"{' × '.join(map(str, shape))} numbers"
    try:
        given = np.asarray(answer, float)
    except (TypeError, ValueError):
        return Verdict(False, f"The answer must be {wanted}, not {type(answer).__name__}.")
    if given.size == 1 and shape == ():
        given = given.reshape(())
    if given.shape != shape:
        return Verdict(False, f"The answer must be {wanted}, not {given.size}.")
    if not np.isfinite(given).all():
        return Verdict(False, f"The answer must be finite, not {answer!r}.")
    return given


def number(
    answer: Any,
    wanted: float,
    why: str,
    hint: str,
    *,
    within: float = 0.02,
    slips: Mapping[float, str] | None = None,
) -> Verdict:
    """Return the verdict on an answer that should be one number."""
    given = as_numbers(answer, ())
    if isinstance(given, Verdict):
        return given
    if _near(given, wanted, within):
        return Verdict(True, why)
    for value, mistake in (slips or {}).items():
        if _near(given, value, within):
            return Verdict(False, mistake)
    off = "too large" if given > wanted else "too small"
    return Verdict(False, f"{float(given):.4g} is {off}.", hint)


def numbers(
    answer: Any, wanted: ArrayLike, names: list[str], why: str, hints: list[str], *, within=0.02
) -> Verdict:
    """Return the verdict on several numbers: which are wrong, and a hint for the first."""
    right = np.asarray(wanted, float)
    given = as_numbers(answer, right.shape)
    if isinstance(given, Verdict):
        return given
    off = [k for k in range(right.size) if not _near(given.flat[k], right.flat[k], within)]
    if not off:
        return Verdict(True, why)
    told = [
        f"{names[k]} ({given.flat[k]:.4g} is too "
        f"{'large' if given.flat[k] > right.flat[k] else 'small'})"
        for k in off
    ]
    return Verdict(False, f"Off: {', '.join(told)}.", hints[off[0]])


def choice(answer: Any, wanted: str, why: str, wrong: Mapping[str, str]) -> Verdict:
    """Return the verdict on an answer that should be a certain word, in upper or lower case."""
    if unanswered(answer):
        return _NOTHING
    said = str(answer).strip().casefold()
    if said == wanted.casefold():
        return Verdict(True, why)
    for word, mistake in wrong.items():
        if said == word.casefold():
            return Verdict(False, mistake)
    known = sorted([wanted, *wrong])
    return Verdict(False, f"{answer!r} is not one of the choices.", f"Give one of {known}.")


def result_of(answer: Any, *args: Any) -> Any:
    """Return what a student's function returns; a verdict if it is none, raises or has dots."""
    if unanswered(answer):
        return _NOTHING
    if not callable(answer):
        hint = "Keep the line that begins with def."
        return Verdict(False, f"{answer!r} is not a function.", hint)
    try:
        result = answer(*args)
    except Exception as error:  # whatever a student's function raises
        told = f"{_call(answer, args)} raises {type(error).__name__}: {error}."
        inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        hint = "" if inside else "Keep the parameters of the def line, and their order."
        return Verdict(False, told, hint)
    if result is None:
        return Verdict(False, f"{_call(answer, args)} returns None.", "It must return a result.")
    return _NOTHING if unanswered(result) else result


def function(
    answer: Any,
    cases: Sequence[tuple[tuple[Any, ...], ArrayLike]],
    why: str,
    hint: str,
    *,
    within: float = 1e-6,
    slips: Sequence[tuple[Callable[..., Any], str]] = (),
) -> Verdict:
    """Return the verdict on a function of numbers, by pairs of inputs and right results.

    ``slips`` has pairs of a wrong function and the text that explains it.
    """
    results, wrong = [], None
    for args, wanted in cases:
        if isinstance(result := result_of(answer, *args), Verdict):
            if wrong is None:
                return result if result.right is None else replace(result, hint=result.hint or hint)
            break  # what is wrong without an error is easier to understand
        right = np.asarray(wanted, float)
        given = as_numbers(result, right.shape)
        if isinstance(given, Verdict):
            return Verdict(False, f"{_call(answer, args)}: {given.says}", hint)
        results.append(given)
        if wrong is None and not _near(given, right, within):
            digits = 4 if _shown(given, 4) != _shown(right, 4) else 9
            shown = f"{_shown(given, digits)}, but should be {_shown(right, digits)}"
            wrong = f"{_call(answer, args)} is {shown}."
    if wrong is None:
        return Verdict(True, why)
    for slip, mistake in slips:
        pairs = zip(results, cases, strict=False)
        if all(_near(given, slip(*args), within) for given, (args, _) in pairs):
            return Verdict(False, f"{wrong} {mistake}")
    return Verdict(False, wrong, hint)


def _call(answer: Any, args: tuple[Any, ...]) -> str:
    shown = ", ".join("..." if callable(arg) else repr(arg) for arg in args)
    return f"{getattr(answer, '__name__', 'the function')}({shown})"


def _shown(numbers: NDArray, digits: int) -> str:
    return ", ".join(f"{number:.{digits}g}" for number in np.ravel(numbers))


def _near(given: ArrayLike, wanted: ArrayLike, within: float) -> bool:
    atol = np.where(np.equal(wanted, 0), within, 1e-12)
    return bool(np.isclose(given, wanted, rtol=within, atol=atol).all())
