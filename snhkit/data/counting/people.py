"""Numbers for people, each computed from the user id alone, without a list of all ids."""

from typing import Any

import numpy as np
import pandas.util
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from snhkit.data.reading.users import EXACT, MISSING, SPACES
from snhkit.errors import InputError

__all__ = ["person_ids"]

# The contents of these modules are created at import, so a type checker cannot know them.
pc: Any = pyarrow.compute
hash_array: Any = pandas.util.hash_array

_KEY = "snhkit, person i"  # 16 characters, as the hash requires; not a secret


def person_ids(
    name: str, column: pa.ChunkedArray, users: frozenset[str] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return a number for the person of each row, which depends on the user id only.

    The number is a 64-bit hash of the id. Spellings of one id, such as 42 and 42.0, are first made
    equal as in ``person_codes``. In a file with a hundred million people, the probability that two
    of them get the same number is about 1 in 4,000; the two would count as one person.

    Parameters
    ----------
    name : str
        Name of the source, for messages.
    column : ChunkedArray
        The user id of each of n rows.
    users : frozenset of str, optional
        The ids of the users whose rows are wanted.

    Returns
    -------
    person : ndarray of int64, shape (n,)
        The number of each row's person; 0 where the id is missing.
    listed : ndarray of bool, shape (n,), or None
        Whether each row's id is one of ``users``; None if ``users`` is None.

    Raises
    ------
    InputError
        If ids are neither numbers nor text, or are floating-point numbers of 2^53 or more.

    Examples
    --------
    >>> ids = pa.chunked_array([["42", " 42.0", "NULL", "7"]])
    >>> person, listed = person_ids("trips.csv", ids, frozenset(["7"]))
    >>> bool(person[0] == person[1]), int(person[2]), listed.tolist()
    (True, 0, [False, False, False, True])
    """
    if pa.types.is_nested(column.type):
        raise InputError(f"{name}: user ids must be numbers or text, not {column.type}.")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        most = pc.max(pc.abs(column)).as_py()
        if most is not None and most >= EXACT:
            raise InputError(
                f"{name}: user ids are floating-point numbers above 2**53, where "
                "different ids round to the same number; write the column as text or as "
                "whole numbers."
            )
        column = pa.chunked_array([pa.array(column.to_numpy(), from_pandas=True)])
    if pa.types.is_integer(column.type):
        return _whole_ids(column, users)
    encoded = column.combine_chunks().dictionary_encode()
    texts = _normal(encoded.dictionary)
    missing = np.asarray(texts.is_null())
    ids = np.asarray(texts.fill_null(""), dtype=object)
    hashed = hash_array(ids, hash_key=_KEY, categorize=False).view(np.int64)
    hashed = np.append(np.where(missing, 0, np.where(hashed == 0, 1, hashed)), 0)
    indices = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    if users is None:
        return hashed[indices], None
    wanted = np.append(np.isin(ids.astype(str), list(users)) & ~missing, False)
    return hashed[indices], wanted[indices]


def _whole_ids(
    column: pa.ChunkedArray, users: frozenset[str] | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:

    missing = np.asarray(column.is_null())
    ids = column.fill_null(0).to_numpy()
    hashed = hash_array(ids, categorize=False).view(np.int64)
    person = np.where(missing, 0, np.where(hashed == 0, 1, hashed))
    if users is None:
        return person, None
    wanted = [int(user) for user in users if user.strip().lstrip("+-").isdigit()]
    return person, np.isin(ids, wanted) & ~missing


def _normal(ids: pa.Array) -> pa.Array:
    """Return ids as text, the same for all spellings of an id; null where it is missing."""
    if not (pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        if pa.types.is_floating(ids.type):  # 42.0 and 42 are one person
            texts = [None if v is None or v != v else f"{v:.17g}" for v in ids.to_pylist()]
            return pa.array(texts, pa.string())
        if pa.types.is_binary(ids.type) or pa.types.is_large_binary(ids.type):
            texts = [None if v is None else v.decode(errors="replace") for v in ids.to_pylist()]
            ids = pa.array(texts, pa.string())
        else:
            return ids.cast(pa.string())
    texts = pc.utf8_normalize(ids, "NFC")
    texts = pc.utf8_trim(texts, SPACES)
    texts = pc.replace_substring_regex(texts, r"^([+-]?[0-9]+)\.0+$", r"\1")
    none = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(sorted(MISSING)))
    return pc.if_else(none, pa.scalar(None, texts.type), texts)
