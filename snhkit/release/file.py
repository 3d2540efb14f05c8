"""The container of a release file: safetensors arrays, and a description in JSON.

A release file is one safetensors file. Its metadata has the key ``snhkit``, whose value is a JSON
object: ``format``, ``kind`` (of model), ``settings`` and the names and values that
``Release.description`` lists. Its arrays are those of the model. The file contains no executable
code.
"""

import json
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from snhkit.checks import cut
from snhkit.errors import InputError, ReleaseFileError
from snhkit.privacy import Spend
from snhkit.privacy.budget import fraction
from snhkit.privacy.spend import Cost, total
from snhkit.privacy.zcdp import rho_of

FORMAT = 1
# The largest number in a file. Counts and variances are smaller, and answers that are computed from
# numbers up to this one are finite.
_LARGEST = 2**128
_MOST_ARRAYS = 1_000
# The most lists, objects and values in a description. In memory, each takes up to thirty times as
# many bytes as in the text.
_MOST_VALUES = 1_000_000
_DTYPES = frozenset({"float16", "float32", "float64", "int32", "int64"})

_MAX_DEPTH = 32  # levels of nested objects and lists
_MAX_TEXT = 10_000  # characters
_LARGEST_N = 2**53
_LARGEST_COST = 2**100


def encode(description: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> bytes:
    """Return the bytes of a release file."""
    text = json.dumps({"format": FORMAT, **description})
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(contiguous, metadata={"snhkit": text})


def read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, NDArray]]:
    """Return the description and the arrays of a release file, unchecked, in bounded memory."""
    path = Path(path)
    if not path.is_file():
        raise ReleaseFileError(f"{path}: there is no such file.")
    try:
        with safe_open(path, framework="numpy") as file:
            text, names = (file.metadata() or {}).get("snhkit"), list(file.keys())
            if len(names) > _MOST_ARRAYS:
                raise ReleaseFileError(
                    f"{path}: it has more than {_MOST_ARRAYS:,} arrays, the limit for a release."
                )
            arrays = {name: file.get_tensor(name) for name in names}
    except ReleaseFileError:
        raise
    except (SafetensorError, OSError, AttributeError, TypeError, ValueError) as error:
        raise ReleaseFileError(f"{path}: not a safetensors file ({error}).") from None
    if text is None:
        raise ReleaseFileError(f"{path}: a safetensors file, but not a release of snhkit.")
    if sum(map(text.count, ",[{")) > _MOST_VALUES:
        raise ReleaseFileError(
            f"{path}: its description has more than {_MOST_VALUES:,} values, the "
            "limit for a release."
        )
    try:
        return json.loads(text), arrays
    except (ValueError, RecursionError) as error:
        raise ReleaseFileError(
            f"{path}: damaged: its description is not a JSON object ({error})."
        ) from None


def check_format(description: Any) -> None:
    """Raise InputError if a release file has a format that this version of snhkit cannot read."""
    if isinstance(description, dict) and description.get("format", FORMAT) != FORMAT:
        raise InputError(
            f"format {str(description['format'])[:20]} is not supported; this version reads "
            f"format {FORMAT}. Install a newer one."
        )


def check_arrays(arrays: Mapping[str, NDArray], also_dtype: str | None) -> None:
    """Raise InputError if the type of an array, or a number in it, is not allowed in a release."""
    for name, array in arrays.items():
        if array.dtype.name not in {*_DTYPES, also_dtype}:
            raise InputError(
                f"the array {name!r} has type {array.dtype.name}, which no release uses."
            )
        if array.dtype.kind == "f" and not (np.abs(array) <= np.float64(_LARGEST)).all():
            raise InputError(
                f"the array {name!r} holds a number that is not finite, or above 2**128."
            )


def check_numbers(value: Any) -> None:
    """Raise InputError if a number in a model's settings is not finite, or is above 2**128."""
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            check_numbers(part)
    elif isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
        raise InputError(
            "the settings of the model hold a number that is not finite, or above 2**128; the "
            "file is damaged or was changed."
        )


def check_header(header: Any) -> dict[str, Any]:
    """Return a header after a check of all fields but the inside of ``settings``, and costs."""
    if not isinstance(header, dict):
        raise InputError("damaged: its header is not a JSON object.")
    _refuse_deep(header, _MAX_DEPTH)
    for name, (fits, words) in _FIELDS.items():
        if name not in header:
            raise InputError(f"damaged: its header has no {name!r}.")
        if not fits(header[name]):
            raise InputError(
                f"damaged: {name!r} must be {words}, not {cut(repr(header[name]), 60)}."
            )
    epsilon = fraction("an epsilon", header["epsilon"])
    if not epsilon:
        raise InputError("epsilon must be greater than 0.")
    if max(epsilon, 1 / epsilon) > _LARGEST_COST:
        raise InputError("damaged: epsilon must be from 2**-100 to 2**100.")
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
    """Raise InputError if spends of Gaussian noise cost more than epsilon and delta allow."""
    rho, told = used.rho, header.get("delta")
    if not isinstance(told, str):
        raise InputError("damaged: its noise is Gaussian, but its header has no 'delta'.")
    if used.epsilon:
        raise InputError("damaged: only some of its spends are for Gaussian noise.")
    delta = fraction("a delta", told)
    if not 0 < delta < 1 or max(rho, 1 / rho) > _LARGEST_COST:
        raise InputError(
            "damaged: its delta or rho is out of range: delta must lie between 0 and 1, and rho "
            "from 2**-100 to 2**100."
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
