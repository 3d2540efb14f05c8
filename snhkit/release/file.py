"""The container of a release file: safetensors arrays, and a description in JSON.

A release file is one safetensors file. Its metadata has the key ``snhkit``, whose value is a JSON
object: ``format``, ``kind`` (of model), ``settings`` and the names and values that
``Release.description`` lists. Its arrays are those of the model. The file contains no executable
code.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from snhkit.errors import InputError, ReleaseFileError

__all__ = [
    "check_arrays",
    "check_format",
    "check_numbers",
    "encode",
    "read",
]

FORMAT = 1
# The largest number in a file. Counts and variances are smaller, and answers that are computed from
# numbers up to this one are finite.
_LARGEST = 2**128
_MOST_ARRAYS = 1_000
# The most lists, objects and values in a description. In memory, each takes up to thirty times as
# many bytes as in the text.
_MOST_VALUES = 1_000_000
_DTYPES = frozenset({"float16", "float32", "float64", "int32", "int64"})


def encode(description: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> bytes:
    """Return the bytes of a release file.

    Parameters
    ----------
    description : mapping
        The description of the release, as JSON values by name.
    arrays : mapping of str to ndarray
        The arrays of the model, by name.
    """
    text = json.dumps({"format": FORMAT, **description})
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(contiguous, metadata={"snhkit": text})


def read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, NDArray]]:
    """Return the description and the arrays of a release file, without a check of their values.

    A small file from an untrusted source cannot fill the memory: the arrays cannot be larger than
    the file, and the number of values in the description is limited.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    description : dict
        The description, as JSON values by name.
    arrays : dict of str to ndarray
        The arrays of the model.

    Raises
    ------
    ReleaseFileError
        If there is no such file, or the file is not a safetensors file with a description.
    """
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
            f"format {FORMAT}."
        )


def check_arrays(arrays: Mapping[str, NDArray], also_dtype: str | None) -> None:
    """Raise InputError if the type of an array, or a number in it, is not allowed in a release.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        The arrays of the file.
    also_dtype : str or None
        One more data type that is allowed for this kind of model.
    """
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
