"""A random choice of the records to keep of each person, whatever the order of the records."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept_records", "mixed"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def kept_records(
    person: NDArray[np.int64], xy: NDArray[np.float64], most: int, key: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return the indices of the records to keep, at most ``most`` of each person, ascending.

    Every record gets a number that is computed from its coordinates and a secret key, and the
    records with each person's smallest numbers are kept. Without knowledge of the key, this choice
    is uniformly random. The choice does not depend on the order of the records, nor on the records
    of other people.

    Parameters
    ----------
    person : ndarray of int, shape (n,)
        A number for the person of each record. If the unit of privacy has windows of days, a
        person has a different number in each window.
    xy : ndarray, shape (n, 2)
        The coordinates of each record, in metres.
    most : int
        The largest number of records to keep of each person.
    key : ndarray of uint64, shape (2,)
        Two secret random 64-bit integers.

    Returns
    -------
    ndarray of int
        The indices of the records that are kept.

    Examples
    --------
    >>> places = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> kept_records(np.array([8, 9, 8]), places, 1, np.array([1, 2], np.uint64)).size
    2
    """
    if not person.size:
        return np.zeros(0, np.int64)
    x, y = (np.ascontiguousarray(axis).view(np.uint64) for axis in xy.T)
    number = mixed(mixed(x ^ key[0]) + y)
    # A person's records at the same place get different numbers, from their ranks at that place.
    order = np.lexsort((number, person))
    number, person = number[order], person[order]
    same = (number[1:] == number[:-1]) & (person[1:] == person[:-1])
    number = mixed(number + _GOLDEN * _rank(~same).astype(np.uint64) ^ key[1])
    again = np.lexsort((number, person))
    rank = _rank(person[again][1:] != person[again][:-1])
    return np.sort(order[again[rank < most]])


def _rank(new: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the position of each item inside its run of items, counted from 0.

    ``new`` has a value for every item except the first: True if the item begins a new run.
    """
    place = np.arange(new.size + 1)
    first = np.concatenate([[True], new])
    rank = place - np.maximum.accumulate(np.where(first, place, 0))
    return rank


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hash of each 64-bit integer; every bit of a hash depends on all bits of the input.

    The function is the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable
    pseudorandom number generators", OOPSLA 2014).
    """
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
