"""The header of a release file: its fields, their types, and how they must agree."""

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from snhkit.errors import InputError
from snhkit.privacy import total
from snhkit.release.file import decoded_spend, fraction

__all__ = ["check_header"]

_MAX_DEPTH = 32  # objects and lists inside each other
_MAX_TEXT = 10_000  # characters
_LARGEST_N = 2**53


def check_header(header: Any) -> dict[str, Any]:
    """Return the header of a release file, provided that every field has its type.

    Parameters
    ----------
    header : object
        JSON values, which may come from anyone.

    Returns
    -------
    dict
        The header. The settings of the model are checked by the model's own ``restore``.

    Raises
    ------
    InputError
        Naming the first field that is missing or is not of its type, or if the spends do not add
        up to epsilon.

    Examples
    --------
    >>> check_header({"format": 1, "kind": "grid"})
    Traceback (most recent call last):
    snhkit.errors.InputError: damaged: its header has no 'method'.
    >>> check_header([])
    Traceback (most recent call last):
    snhkit.errors.InputError: damaged: its header is not a JSON object.
    """
    if not isinstance(header, dict):
        raise InputError("damaged: its header is not a JSON object.")
    _refuse_deep(header, _MAX_DEPTH)
    for name, (fits, words) in _FIELDS.items():
        if name not in header:
            raise InputError(f"damaged: its header has no {name!r}.")
        if not fits(header[name]):
            raise InputError(f"damaged: {name!r} must be {words}, not {_shown(header[name])}.")
    epsilon = fraction("an epsilon", header["epsilon"])
    if not epsilon:
        raise InputError("epsilon must be greater than 0.")
    spent = total(decoded_spend(*spend) for spend in header["spends"])
    if spent != epsilon:
        raise InputError(
            f"damaged: epsilon is {header['epsilon']}, but the spends add up to {spent}."
        )
    return header


def _refuse_deep(value: Any, depth: int) -> None:
    """Raise InputError if JSON values are nested too deeply or hold a very long text."""
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        raise InputError(f"damaged: a text of its header is longer than {_MAX_TEXT:,} characters.")
    if isinstance(value, (dict, list)):
        if not depth:
            raise InputError("damaged: its header is nested too deeply.")
        for part in value.values() if isinstance(value, dict) else value:
            _refuse_deep(part, depth - 1)


def _shown(value: Any) -> str:
    """Return the beginning of a value as text, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_N


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_region(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"lat", "lon", "side_m"}
        and all(isinstance(v, Real) and not isinstance(v, bool) for v in value.values())
    )


def _is_spends(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(spend, list) and 3 <= len(spend) <= 4 and all(isinstance(s, str) for s in spend)
        for spend in value
    )


_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "format": (_is_count, "a whole number"),
    "kind": (_is_text, "text"),
    "method": (_is_text, "the name of a method"),
    "hyperparameters": (_is_object, "a JSON object"),
    "region": (_is_region, "an object of the numbers lat, lon and side_m"),
    "epsilon": (_is_text, "a fraction written as text"),
    "unit": (_is_object, "a JSON object"),
    "n": (lambda n: n is None or _is_count(n), f"null or a whole number from 0 to {_LARGEST_N}"),
    "replayable": (lambda told: isinstance(told, bool), "true or false"),
    "spends": (_is_spends, "a list of lists of three or four texts"),
    "settings": (_is_object, "a JSON object"),
    "versions": (
        lambda told: _is_object(told) and all(isinstance(v, str) for v in told.values()),
        "an object of texts",
    ),
}
