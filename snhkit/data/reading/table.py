"""The columns that every reader hands over, and the limits that every reader keeps."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError

__all__ = ["MAX_BYTES", "MAX_ROWS", "Table", "parsing", "refuse_rows"]

MAX_ROWS = 100_000_000
MAX_BYTES = 8 * 2**30


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows as they were found, not yet judged.

    Parameters
    ----------
    lat, lon : ndarray, shape (n,)
        Degrees; nan where there is no number.
    user : ndarray of int, shape (n,), optional
        A code for each user; -1 where missing.
    numbers : ndarray of int, shape (n,)
        What each row is called.
    numbering : str
        How rows are numbered, for people.
    swap : str
        What to do if latitude and longitude are swapped.
    malformed : tuple of int
        Numbers of rows that could not be cut into fields.
    """

    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    user: NDArray[np.int64] | None
    numbers: NDArray[np.int64]
    numbering: str
    swap: str
    malformed: tuple[int, ...] = ()


def refuse_rows(source: str, rows: int) -> None:
    """Refuse more rows than are read at once."""
    if rows > MAX_ROWS:
        raise InputError(f"{source}: it claims {rows:,} rows; at most {MAX_ROWS:,} are read.")


@contextmanager
def parsing(source: str, kind: str) -> Iterator[None]:
    """Turn whatever a parser of a possibly hostile file raises into an InputError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError:
        raise
    except Exception as failure:
        reason = (str(failure) or type(failure).__name__).splitlines()[0][:160]
        raise InputError(
            f"{source}: could not be read as {kind} ({reason}). Is the file whole?"
        ) from None
