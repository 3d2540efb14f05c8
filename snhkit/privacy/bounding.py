"""A random choice of the records to keep of each person, whatever the order of the records."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["kept_records", "mixed"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def kept_records(
    person: NDArray[np.int64], xy: NDArray[np.float64], most: int, key: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return the indices, ascending, of at most ``most`` records of each person, chosen at random.

    Each record gets a hash of its place and a secret key of two words; the smallest are kept. So
    the choice depends neither on the order of records nor on other people.
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
    """Return each item's position in its run, from 0; ``new`` marks all first items but one."""
    place = np.arange(new.size + 1)
    first = np.concatenate([[True], new])
    rank = place - np.maximum.accumulate(np.where(first, place, 0))
    return rank


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each word: the finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
