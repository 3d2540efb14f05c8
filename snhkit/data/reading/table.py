"""The table that every reader returns, and the limits that all readers share."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError

__all__ = ["MAX_BYTES", "MAX_ROWS", "ROLES", "Table", "Users", "parsing", "refuse_rows"]

MAX_ROWS = 100_000_000
MAX_BYTES = 8 * 2**30
ROLES: tuple[str, ...] = ("lat", "lon", "user", "time")
"""What a column can be read as: latitude, longitude, user id or time."""


@dataclass(frozen=True, eq=False, repr=False)
class Users:
    """The user of each of n rows, as a number.

    Parameters
    ----------
    name : str
        Name of the column.
    codes : ndarray of int, shape (n,)
        The person of each row, from 0; -1 where the id is missing.
    notes : tuple of str
        Notes for the owner of the records on ids that look wrong.
    """

    name: str
    codes: NDArray[np.int64]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """All rows of a source, before unusable rows and rows outside the region are left out.

    Parameters
    ----------
    lat, lon : ndarray, shape (n,)
        Degrees; nan where there is no number.
    users : Users, optional
        The column of user ids, if there is one.
    numbers : ndarray of int, shape (n,)
        The number of each row in the source, for messages.
    numbering : str
        How rows are numbered, as a phrase for messages, such as "rows count from 0".
    swap : str
        Advice on reading the source if latitude and longitude are swapped.
    value : callable
        Returns the value in the source, given a row from 0 to n - 1 and a role from ``ROLES``.
    malformed : mapping of int to str
        The defect of each row that could not be split into fields, by row number.
    times : ndarray of int, shape (n,), optional
        The time of each row in microseconds since 1970; ``NO_TIME`` where a row has no time. None
        if no column of times was named.
    """

    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    users: Users | None
    numbers: NDArray[np.int64]
    numbering: str
    swap: str
    value: Callable[[int, str], object] = lambda row, role: None
    malformed: Mapping[int, str] = field(default_factory=dict)
    times: NDArray[np.int64] | None = None


def refuse_rows(source: str, rows: int) -> None:
    """Raise InputError if a source has more rows than can be read at once."""
    if rows > MAX_ROWS:
        raise InputError(
            f"{source}: it has {rows:,} rows; at most {MAX_ROWS:,} are read. Count larger "
            "Parquet or CSV files with PrivateDataset.scan."
        )


@contextmanager
def parsing(source: str, kind: str) -> Iterator[None]:
    """Turn every exception of a parser into an InputError, because input is untrusted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError:
        raise
    except Exception as failure:
        reason = (str(failure) or type(failure).__name__).splitlines()[0][:160]
        raise InputError(
            f"{source}: could not be read as {kind} ({reason}). Is the file complete?"
        ) from None
