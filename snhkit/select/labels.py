"""Labels, from which ParamSelect learns: the best parameter values found on public data."""

import csv
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from snhkit.errors import InputError
from snhkit.select.features import MOST_ENTROPY

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("dataset", "n", "epsilon", "entropy")
"""The first columns of a table of labels; one more column is named after the parameter."""

MAX_ROWS = 100_000
"""The largest number of rows of a table of labels."""

_MAX_BYTES = 2**24


def read_labels(path: str | os.PathLike[str]) -> "pd.DataFrame":
    """Return the table in a CSV file of labels; InputError names the row and column at fault."""
    import pandas as pd

    source = Path(path).name
    header, rows = rows_of(source, text_of(path))
    if tuple(header[:-1]) != COLUMNS:
        raise InputError(
            f"{source}: its columns must be {', '.join(COLUMNS)} and the parameter's name, "
            f"not {', '.join(header)[:200]!r}."
        )
    if not rows:
        raise InputError(f"{source}: the file has a header but no labels.")
    parsed = [
        (
            row[0],
            number(source, line, "n", row[1], least=1, whole=True),
            number(source, line, "epsilon", row[2], least=0, open_below=True),
            number(source, line, "entropy", row[3], least=0, most=MOST_ENTROPY)
            if row[3]
            else math.nan,
            number(source, line, header[-1], row[4]),
        )
        for line, row in enumerate(rows, start=2)
    ]
    frame = pd.DataFrame(parsed, columns=header)
    if all(row[4].removeprefix("-").isdecimal() and len(row[4]) < 16 for row in rows):
        frame = frame.astype({header[-1]: int})
    return checked(frame)


def checked(labels: "pd.DataFrame") -> "pd.DataFrame":
    """Return a copy of a table of labels; raise InputError if a column or a number is wrong."""
    import pandas as pd

    names = list(labels.columns)
    parts = str(names[-1]).split(".") if names else []
    if len(names) != 5 or tuple(names[:4]) != COLUMNS or not all(map(str.isidentifier, parts)):
        raise InputError(
            f"labels must have the columns {', '.join(COLUMNS)} and the parameter's name, not "
            f"{', '.join(map(str, names))[:200]!r}."
        )
    if not 1 <= len(labels) <= MAX_ROWS:
        raise InputError(f"labels must have between 1 and {MAX_ROWS:,} rows, not {len(labels):,}.")
    for name in names[1:]:
        if not pd.api.types.is_numeric_dtype(labels[name]):
            raise InputError(
                f"labels: the column {name!r} must hold numbers, not {labels[name].dtype}; only "
                "the first column, 'dataset', is text."
            )
    n, epsilon, h, value = (labels[name].to_numpy(float) for name in names[1:])
    good = (n >= 1) & (epsilon > 0) & (np.isnan(h) | (h >= 0)) & np.isfinite(n + epsilon + value)
    if names[4] == "cell_m":
        good &= value > 0
    good &= np.array([isinstance(t, str) and t.isprintable() for t in labels["dataset"]])
    if not good.all():
        raise InputError(
            f"labels: row {int(np.argmin(good))} (counting from 0) is invalid: 'dataset' must be "
            "printable text, n at least 1, epsilon positive, entropy nan or at least 0, and "
            f"{names[4]} a {'positive' if names[4] == 'cell_m' else 'finite'} number."
        )
    return labels.reset_index(drop=True).copy()


def text_of(path: str | os.PathLike[str]) -> str:
    """Return the text of a file; raise InputError if it is unreadable or above 16 MB."""
    source = Path(path)
    try:
        with source.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise InputError(f"{source.name}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InputError(f"{source.name}: the text is not in UTF-8; save it as UTF-8.") from None
    if len(data) > _MAX_BYTES:
        raise InputError(
            f"{source.name}: the file is larger than {_MAX_BYTES:,} bytes, the limit for a table "
            "of labels."
        )
    return text


def rows_of(source: str, text: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a CSV text; the header is row ``first`` of ``source``."""
    try:
        lines = list(csv.reader(text.splitlines(), strict=True))
    except csv.Error as error:
        raise InputError(f"{source}: the file is not valid CSV ({error}).") from None
    if not lines or len(lines) > MAX_ROWS + 1:
        raise InputError(
            f"{source}: the file must have a header and at most {MAX_ROWS:,} rows, not "
            f"{len(lines):,} lines."
        )
    header, *rows = lines
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InputError(
                f"{source}: row {line} has {len(row)} fields, but the header has {len(header)}."
            )
    return header, rows


def number(
    source: str,
    line: int,
    column: str,
    text: str,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    open_below: bool = False,
    whole: bool = False,
) -> float:
    """Return a field's number; raise InputError, with row and column, if it is not allowed."""
    try:
        value = int(text) if whole and len(text) < 20 else float(text)
    except ValueError:
        value = math.nan
    fits = least <= value <= most and math.isfinite(value) and not (open_below and value == least)
    if not fits or (whole and not isinstance(value, int)):
        wanted = "a whole number" if whole else "a finite number"
        wanted += "" if least == -math.inf else f" {'above' if open_below else 'from'} {least:g}"
        wanted += "" if most == math.inf else f" to {most:.4g}"
        raise InputError(f"{source}: row {line}: {column} must be {wanted}, not {text[:40]!r}.")
    return value
