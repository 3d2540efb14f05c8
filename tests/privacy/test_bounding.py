import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.privacy.bounding import kept_records

people = st.lists(st.integers(-3, 3), max_size=60)


def kept(person, xy, most, key=(1, 2)):
    person, xy = np.array(person, np.int64), np.array(xy, float).reshape(-1, 2)
    return kept_records(person, xy, most, np.array(key, np.uint64))


def places(n, seed):
    return np.random.default_rng(seed).integers(0, 4, (n, 2)).astype(float)


@given(people, st.integers(1, 5), st.integers(0, 99))
def test_no_more_than_most_records_of_a_person_are_kept(person, most, seed):
    found = np.array(person, int)[kept(person, places(len(person), seed), most)]
    for one in set(person):
        assert (found == one).sum() == min(most, person.count(one))


@given(people, st.integers(1, 5), st.integers(0, 99))
def test_the_choice_does_not_depend_on_the_order(person, most, seed):
    xy = places(len(person), seed)
    order = np.random.default_rng(seed).permutation(len(person))
    there = kept(person, xy, most)
    again = order[kept(np.array(person, int)[order], xy[order], most)]

    def multiset(at):
        return sorted((person[i], *xy[i]) for i in at)

    assert multiset(there) == multiset(again)


@given(people, st.integers(1, 5), st.integers(0, 99))
def test_the_choice_for_a_person_does_not_depend_on_others(person, most, seed):
    xy = places(len(person), seed)
    rest = np.flatnonzero(np.array(person, int) != 0)
    there = [i for i in kept(person, xy, most) if person[i] != 0]
    assert there == rest[kept(np.array(person, int)[rest], xy[rest], most)].tolist()


def test_people_at_one_place_do_not_share_their_ranks():
    person, xy = [0] * 9 + [1] * 6, [[1, 1]] * 12 + [[2, 2], [3, 3], [4, 4]]
    for word in range(40):
        key = (word, 5)
        alone = kept(person[9:], xy[9:], 3, key) + 9
        there = kept(person, xy, 3, key)
        assert there[there >= 9].tolist() == alone.tolist()


@pytest.mark.parametrize("alike", [False, True])
def test_every_record_has_the_same_chance(alike):
    xy = np.zeros((4, 2)) if alike else np.arange(8.0).reshape(4, 2)
    if alike:
        xy[3] = 1  # three at one place, one at another
    rng = np.random.default_rng(0)
    trials = 4_000
    keys = rng.integers(0, 2**64, (trials, 2), np.uint64)
    times = np.zeros(4)
    for key in keys:
        times[kept([0] * 4, xy, 1, key)] += 1
    if alike:  # which of the three is kept is no matter
        times = np.array([times[:3].sum() / 3] * 3 + [times[3]])
    assert np.abs(times - trials / 4).max() < 5 * np.sqrt(trials * 3 / 16)


@pytest.mark.parametrize("word", [0, 1])
def test_the_choice_needs_both_words_of_the_key(word):
    xy = np.arange(20.0).reshape(10, 2)
    keys = [(k, 5) if word == 0 else (5, k) for k in range(30)]
    assert len({tuple(kept([0] * 10, xy, 3, key)) for key in keys}) > 10
