"""A check of the header of a release file: its fields, their types, and whether they agree."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from numbers import Real
from typing import Any

from snhkit.errors import InputError
from snhkit.privacy import Cost, Spend, total
from snhkit.privacy.budget import fraction
from snhkit.privacy.zcdp import rho_of

__all__ = ["check_header"]

_MAX_DEPTH = 32  # levels of nested objects and lists
_MAX_TEXT = 10_000  # characters
_LARGEST_N = 2**53
_LARGEST_RHO = 2**100


def check_header(header: Any) -> dict[str, Any]:
    """Check every field of a release file's header, and return the header.

    Parameters
    ----------
    header : object
        The header, decoded from JSON. The header may be from an untrusted file.

    Returns
    -------
    dict
        The same header. The content of ``settings``, which depends on the kind of model, is checked
        by the model's ``restore``, not here.

    Raises
    ------
    InputError
        If a field is missing or has a wrong type (the message names the first such field), if a
        text is too long or values are nested too deeply, or if the costs in ``spends`` do not
        fit. The costs must add up to ``epsilon``. For Gaussian noise, they must add up to no more
        than ``epsilon`` and ``delta`` allow.

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
    spends = list(map(Spend.of_list, header["spends"]))
    used = total(spends)
    if used.rho:
        _check_gaussian(header, epsilon, used)
    elif used.epsilon != epsilon:
        raise InputError(
            f"damaged: epsilon is {header['epsilon']}, but the spends add up to {used.epsilon}."
        )
    return header


def _check_gaussian(header: dict[str, Any], epsilon: Fraction, used: Cost) -> None:
    """Raise InputError if spends of Gaussian noise cost more than the header's epsilon and delta.

    ``used`` is the sum of the costs of the header's spends.
    """
    rho, told = used.rho, header.get("delta")
    if not isinstance(told, str):
        raise InputError("damaged: its noise is Gaussian, but its header has no 'delta'.")
    if used.epsilon:
        raise InputError("damaged: only some of its spends are for Gaussian noise.")
    delta = fraction("a delta", told)
    if not 0 < delta < 1 or max(rho, 1 / rho, epsilon) > _LARGEST_RHO:
        raise InputError(
            "damaged: its delta, rho or epsilon is out of range: delta must lie between 0 and 1, "
            "rho from 2**-100 to 2**100, and epsilon must be at most 2**100."
        )
    if rho > rho_of(epsilon, delta):
        raise InputError(
            f"damaged: its spends add up to rho = {rho}, more than epsilon = {header['epsilon']} "
            f"at delta = {told} allows."
        )


def _refuse_deep(value: Any, depth: int) -> None:
    """Raise InputError if JSON values are nested too deeply or hold a very long text."""
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        raise InputError(f"damaged: a text in its header is longer than {_MAX_TEXT:,} characters.")
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
        isinstance(spend, list) and 3 <= len(spend) <= 5 and all(isinstance(s, str) for s in spend)
        for spend in value
    )


_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "format": (_is_count, "a whole number"),
    "kind": (_is_text, "text"),
    "method": (_is_text, "the name of a method"),
    "hyperparameters": (_is_object, "a JSON object"),
    "region": (_is_region, "an object with the numbers lat, lon and side_m"),
    "epsilon": (_is_text, "a fraction written as text"),
    "unit": (_is_object, "a JSON object"),
    "n": (lambda n: n is None or _is_count(n), f"null or a whole number from 0 to {_LARGEST_N}"),
    "replayable": (lambda told: isinstance(told, bool), "true or false"),
    "spends": (_is_spends, "a list of lists, each of three to five texts"),
    "settings": (_is_object, "a JSON object"),
    "versions": (
        lambda told: _is_object(told) and all(isinstance(v, str) for v in told.values()),
        "an object whose values are texts",
    ),
}
