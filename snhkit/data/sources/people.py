"""People: one key for each person, whatever the type in which a source has the user id."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pandas.util
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from snhkit.data.sources.report import MOST_TEXTS, SPACES
from snhkit.errors import InputError

# The contents of these modules are created at import, so a type checker cannot know them.
pc: Any = pyarrow.compute
hash_array: Any = pandas.util.hash_array

_KEY = "snhkit, person i"  # 16 characters, as the hash requires; not a secret
_MISSING = pa.array(
    ["", "null", "none", "nan", "na", "n/a", "#n/a", "<na>", "nil", "undefined", "missing", "-"]
)
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"  # fits into 64 bits, whatever the digits
_MOST_WHOLE = 10**18
_EXACT = {16: 2**11, 32: 2**24, 64: 2**53}  # floats of so many bits are exact below


def id_family(kind: pa.DataType) -> str:
    """Return "number" or "text", which can be the same people, "bytes", or "" if all is null."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_null(kind):
        return ""
    if "binary" in str(kind):
        return "bytes"
    raise InputError(f"user ids must be numbers or text, not {kind}.")


def person_keys(
    column: pa.Array, beside: str = ""
) -> tuple[NDArray[np.int64], dict[str, int] | None]:
    """Return a key for the person of each row, shape (n,), 0 where the id is missing.

    The dictionary has the key of each text, None if these are many. ``beside`` describes a file
    whose ids are numbers, so that "042" and "1e3" are refused.
    """
    # The key is a hash of the id in one canonical form: the whole number, if it is one in any type
    # (42, 42.0, "+42", " 42.0"), else the text without surrounding spaces in Unicode's form NFC,
    # else the bytes. Among a hundred million people, two have one key, and so count as one person,
    # with a probability of 1 in 4,000.
    family = id_family(column.type)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        keys, texts = person_keys(column.dictionary, beside)
        return _at(keys, column.indices), texts
    if not family:
        return np.zeros(len(column), np.int64), {}
    if pa.types.is_integer(kind):
        return _of_whole(column), {}
    if pa.types.is_floating(kind):
        return _of_floats(column), {}
    if "view" in str(kind):
        column = column.cast(pa.large_string() if family == "text" else pa.large_binary())
    encoded = column.dictionary_encode()
    values = encoded.dictionary
    if family == "bytes":
        ids = np.array([value or b"" for value in values.to_pylist()], object)
        keys = np.where(ids == b"", 0, _hashed(ids)) if len(ids) else np.zeros(0, np.int64)
        return _at(keys, encoded.indices), {}
    if pa.types.is_decimal(kind):
        texts = pa.array([_written(value) for value in values.to_pylist()], pa.string())
        return _at(_of_texts(texts, ""), encoded.indices), {}
    keys = _of_texts(values, beside)
    told = None
    if len(values) <= MOST_TEXTS:
        told = dict(zip(values.to_pylist(), keys.tolist(), strict=True))
    return _at(keys, encoded.indices), told


class Unasked:
    """A column of ids that nobody has asked for; their keys are made at their first use."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column

    @staticmethod
    def suits(kind: pa.DataType) -> bool:
        """Return whether no id of a type is refused."""
        return bool(pa.types.is_integer(kind)) or str(kind) in ("string", "large_string")

    def __getitem__(self, at: slice | NDArray[np.int64]) -> "Unasked":
        return Unasked(self.column[at] if isinstance(at, slice) else self.column.take(pa.array(at)))


def _at(keys: NDArray[np.int64], indices: pa.Array) -> NDArray[np.int64]:
    return pa.array(keys).take(indices).fill_null(0).to_numpy(zero_copy_only=False)


def _hashed(ids: NDArray) -> NDArray[np.int64]:
    found = hash_array(ids, hash_key=_KEY, categorize=False).view(np.int64)
    return np.where(found == 0, 1, found)


def _of_whole(column: pa.Array) -> NDArray[np.int64]:
    missing = np.asarray(column.is_null()) if column.null_count else None
    ids = (column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False)
    large = ids >= _MOST_WHOLE
    if ids.dtype.kind == "i":
        large |= ids <= -_MOST_WHOLE
    keys = _hashed(ids.astype(np.int64))
    if large.any():
        keys[large] = _hashed(ids[large].astype(str).astype(object))
    if missing is not None:
        keys[missing] = 0
    return keys


def _of_floats(column: pa.Array) -> NDArray[np.int64]:
    ids = column.to_numpy(zero_copy_only=False)
    known = np.isfinite(ids)
    bits = ids.dtype.itemsize * 8
    if known.any() and np.abs(ids[known]).max() >= _EXACT[bits]:
        raise InputError(
            f"user ids are floating-point numbers above 2**{_EXACT[bits].bit_length() - 1}, "
            "where different ids round to the same number; write the column as text or as whole "
            "numbers."
        )
    keys = np.zeros(ids.size, np.int64)
    whole = known & (np.floor(ids) == ids)
    keys[whole] = _hashed(ids[whole].astype(np.int64))
    rest = ~whole & ~np.isnan(ids)
    if rest.any():
        keys[rest] = _hashed(np.array([str(value) for value in ids[rest]], object))
    return keys


def _of_texts(texts: pa.Array, beside: str) -> NDArray[np.int64]:
    """Return the keys of different texts, shape (n,); 0 for words for a missing value."""
    if not len(texts):
        return np.zeros(0, np.int64)
    whole = pc.match_substring_regex(texts, _WHOLE)
    if not pc.all(whole, skip_nulls=False).as_py():
        texts = pc.utf8_trim(pc.utf8_normalize(texts, "NFC"), SPACES)
        texts = pc.replace_substring_regex(texts, r"^(?:\+|(-))?([0-9]+)(?:\.0+)?$", r"\1\2")
        texts = pc.replace_substring_regex(texts, r"^-0$", "0")
        none = pc.is_in(pc.utf8_lower(texts), value_set=_MISSING.cast(texts.type))
        texts = pc.if_else(none, pa.scalar(None, texts.type), texts)
        whole = pc.match_substring_regex(texts, _WHOLE).fill_null(False)
    at = whole.to_numpy(zero_copy_only=False)
    keys = np.zeros(len(texts), np.int64)
    keys[at] = _hashed(texts.filter(whole).cast(pa.int64()).to_numpy())
    rest = ~at & ~np.asarray(texts.is_null())
    if rest.any():
        others = texts.filter(pa.array(rest)).to_pylist()
        if beside and (unclear := next(filter(_is_other_number, others), None)):
            raise InputError(
                f"user ids are text such as {unclear!r}, but those of {beside} are numbers, and "
                "one person may have ids of both; write the ids of all files in one way."
            )
        keys[rest] = _hashed(np.array(others, object))
    return keys


def _is_other_number(text: str) -> bool:
    """Return whether a text looks like a number, but not as ``_written`` writes it: 042, 1 000."""
    if not re.fullmatch(r"\d+([eE]\d+)?", re.sub(r"[\W_]+", "", text)):
        return False
    try:
        value = Decimal(text)
    except InvalidOperation:
        return True
    return abs(value.adjusted()) > 99 or _written(value) != text


def _written(value: Decimal | None) -> str | None:
    if value is None or value.is_nan():
        return None
    return str(int(value)) if value == value.to_integral_value() else format(value.normalize(), "f")
