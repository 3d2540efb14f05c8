"""User ids: which ids belong to one person, which are missing, and which look wrong."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError

__all__ = ["EXACT", "MISSING", "SPACES", "person_codes", "refuse_mixed_types"]

MISSING = frozenset(
    ["", "null", "none", "nan", "na", "n/a", "#n/a", "<na>", "nil", "undefined", "missing", "-"]
)
"""Words for a missing value, in lower case."""

EXACT = 2**53
"""Floating-point numbers represent every whole number below this bound."""

SPACES = " \t\r\n\v\f\xa0\u200b\ufeff"
"""Characters that are removed from both ends of an id."""

_WHOLE_AS_FLOAT = re.compile(r"([+-]?\d+)\.0+")
_SCIENTIFIC = re.compile(r"[+-]?\d(\.\d+)?[eE]\+?\d+")
# A note names the user with the most records, if these are more than this share of all rows and
# more than this multiple of the median number of records of a user.
_CROWDED_SHARE, _CROWDED_RATIO = 0.1, 20


def person_codes(
    source: str, uniques: Sequence[object], codes: NDArray[np.integer]
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return a number for the person of each row, and notes on user ids that look wrong.

    Ids count as the same if they differ only in surrounding spaces, in Unicode normalization, or
    as 42 and 42.0 do. Words for a missing value, such as "NULL", are not ids.

    Parameters
    ----------
    source : str
        Name of the source, for messages.
    uniques : sequence
        The distinct ids, as they are written in the source.
    codes : ndarray of int, shape (n,)
        The position in ``uniques`` of each row's id; negative where the id is missing.

    Returns
    -------
    codes : ndarray of int, shape (n,)
        The person of each row, from 0; -1 where the id is missing.
    notes : tuple of str
        Notes for the owner of the records on ids that look wrong. They quote ids.

    Raises
    ------
    InputError
        If ids have several types, or are floating-point numbers too large to tell people apart.

    Examples
    --------
    >>> codes, notes = person_codes("trips.csv", ["42", "NULL", "42.0", "042"], np.arange(4))
    >>> codes
    array([ 0, -1,  0,  1])
    >>> print(*notes, sep="\\n")
    1 user id was written in several ways, such as '42' and '42.0', and counts as one person
    1 user id differs from another only in case, punctuation or leading zeros, such as '42' and \
'042'; make these equal if they are one person
    """
    refuse_mixed_types(source, uniques)
    floats = [u for u in uniques if isinstance(u, (float, np.floating))]
    if floats and np.abs(np.array(floats, float)).max(initial=0) >= EXACT:
        raise InputError(
            f"{source}: user ids are floating-point numbers above 2**53, where "
            "different ids round to the same number; read the column as text or as "
            "whole numbers."
        )
    people: dict[object, int] = {}
    first: list[object] = []
    spelt: list[tuple[object, object]] = []
    person = np.full(len(uniques) + 1, -1, np.int64)  # its last entry is for missing ids
    for i, given in enumerate(uniques):
        known = _normal(given)
        if known is None:
            continue
        code = people.setdefault(known, len(people))
        if code < len(first):
            spelt.append((first[code], given))
        else:
            first.append(given)
        person[i] = code
    found = person[np.where(codes < 0, len(uniques), codes)]
    return found, tuple(_notes(list(people), spelt, found))


def refuse_mixed_types(source: str, values: Iterable[object]) -> None:
    """Raise InputError if ids are of several types, as 1001 and "1001" are.

    Examples
    --------
    >>> refuse_mixed_types("the frame", [1001, "1001"])
    Traceback (most recent call last):
    snhkit.errors.InputError: the frame: user ids are of mixed types: number (1001) and text ...
    """
    kinds: dict[str, object] = {}
    for value in values:
        if value is not None and value == value:  # nan is missing
            kinds.setdefault(_kind(value), value)
    if len(kinds) > 1:
        told = " and ".join(f"{kind} ({_shown(value)})" for kind, value in kinds.items())
        raise InputError(
            f"{source}: user ids are of mixed types: {told}; one person may have ids of both. "
            "Convert the column to one type, as in frame['user'].astype(str)."
        )


def _kind(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true or false"
    if isinstance(value, (Real, Decimal)):
        return "number"
    return "text" if isinstance(value, (str, bytes)) else type(value).__name__


def _normal(value: object) -> object | None:
    """Return the same text for all spellings of one id; None if the id means a missing value."""
    if isinstance(value, bytes):
        value = value.decode(errors="surrogateescape")
    if not isinstance(value, str):
        return None if value is None or value != value else value
    text = unicodedata.normalize("NFC", value).strip(SPACES)
    if text.casefold() in MISSING:
        return None
    whole = _WHOLE_AS_FLOAT.fullmatch(text)
    return whole[1] if whole else text


def _notes(
    people: list[object], spelt: list[tuple[object, object]], found: NDArray[np.int64]
) -> Iterable[str]:
    if spelt:
        were = "was" if len(spelt) == 1 else "were"
        yield (
            f"{_ids(len(spelt))} {were} written in several ways, such as {_both(spelt[0])}, "
            f"and {'counts as one person' if len(spelt) == 1 else 'count as one person each'}"
        )
    texts = [person for person in people if isinstance(person, str)]
    similar: dict[str, str] = {}
    pairs = [
        (other, text)
        for text in texts
        if (other := similar.setdefault(_bare(text), text)) is not text
    ]
    if pairs:
        yield (
            f"{_ids(len(pairs))} differ{'s' if len(pairs) == 1 else ''} from another only in case, "
            f"punctuation or leading zeros, such as {_both(pairs[0])}; make these equal if they "
            "are one person"
        )
    rounded = [text for text in texts if _SCIENTIFIC.fullmatch(text)]
    if rounded:
        yield (
            f"{_ids(len(rounded))} look{'s' if len(rounded) == 1 else ''} rounded by a "
            f"spreadsheet, such as {_shown(rounded[0])}; rounding merges different people"
        )
    records = np.bincount(found[found >= 0], minlength=1)
    most = int(records.max())
    if len(people) > 2 and most > max(
        _CROWDED_SHARE * found.size, _CROWDED_RATIO * float(np.median(records))
    ):
        yield (
            f"the user id {_shown(people[int(records.argmax())])} has {most:,} of {found.size:,} "
            "records; does it stand for several people?"
        )


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold()).lstrip("0")


def _ids(count: int) -> str:
    return "1 user id" if count == 1 else f"{count:,} user ids"


def _both(pair: tuple[object, object]) -> str:
    return f"{_shown(pair[0])} and {_shown(pair[1])}"


def _shown(value: object) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 40 else text[:37] + "..."
