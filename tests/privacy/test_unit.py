from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.privacy import PrivacyUnit, ReplayableEntropy, SystemEntropy

CITY = Region.around(lat=0, lon=0, side_m=1_000_000 / 10)


def records_of(users) -> Points:
    """Return one record for each entry of ``users``, distinguished by x."""
    x = np.arange(len(users)) / 10
    return Points(CITY, np.stack([x, x], axis=1), user=users)


def test_the_unit_record():
    unit = PrivacyUnit.of("record")
    assert (unit.kind, unit.sensitivity) == ("record", 1)
    assert unit.sentence == "one record added or removed"
    points = records_of([1, 1])
    assert unit.bound(points, SystemEntropy()) is points
    assert unit.bound(Points(CITY, [[1, 1]]), SystemEntropy()).user is None


def test_the_unit_user():
    unit = PrivacyUnit.of("user", max_per_user=np.int64(10))
    assert (unit.kind, unit.sensitivity) == ("user", 10)
    assert unit.sentence == "all (at most 10) records of one person"
    assert unit == PrivacyUnit("user", 10)


@pytest.mark.parametrize(
    ("unit", "most", "message"),
    [
        ("record", 3, "takes no max_per_user"),
        ("user", None, "needs max_per_user"),
        ("user", 0, "at least 1, not 0"),
        ("user", 2.5, r"whole number, at least 1, not 2\.5"),
        ("user", True, "whole number"),
        ("person", 3, "'record' or 'user', not 'person'"),
    ],
)
def test_incomplete_units_are_refused(unit, most, message):
    with pytest.raises(InputError, match=message):
        PrivacyUnit.of(unit, most)


def test_points_without_users_are_refused():
    with pytest.raises(InputError, match=r"read them with their user column.*unit='record'"):
        PrivacyUnit.of("user", 2).bound(Points(CITY, [[1, 1]]), SystemEntropy())


@given(st.lists(st.integers(-3, 9), max_size=60), st.integers(1, 5))
def test_each_user_keeps_at_most_max_per_user_records(users, most):
    points = records_of(np.array(users, np.int64))
    kept = PrivacyUnit.of("user", most).bound(points, SystemEntropy())
    assert kept.user is not None
    assert kept.region == CITY
    for user in set(users):
        assert (kept.user == user).sum() == min(most, users.count(user))
    rows = np.rint(kept.xy[:, 0] * 10).astype(int)
    assert (np.diff(rows) > 0).all()  # in the order given, none twice
    assert (np.array(users, np.int64)[rows] == kept.user).all()


@pytest.mark.chance(1e-7)
def test_all_choices_of_a_users_records_are_equally_probable():
    # 60,000 users keep 2 of 5 records: ten choices.
    people, each = 60_000, 5
    kept = PrivacyUnit.of("user", 2).bound(
        records_of(np.tile(np.arange(people), each)), SystemEntropy()
    )
    assert kept.user is not None
    turn = np.rint(kept.xy[:, 0] * 10).astype(int) // people
    pairs = turn[np.argsort(kept.user, kind="stable")].reshape(people, 2)
    seen = [int((pairs == pair).all(axis=1).sum()) for pair in combinations(range(each), 2)]
    assert sum(seen) == people
    assert chisquare(seen).pvalue > 1e-7


def test_only_a_seed_repeats_the_choice():
    points, unit = records_of(np.zeros(1_000, int)), PrivacyUnit.of("user", 10)
    one, two = (unit.bound(points, SystemEntropy()).xy for _ in range(2))
    assert (one != two).any()
    one, two = (unit.bound(points, ReplayableEntropy(1)).xy for _ in range(2))
    assert (one == two).all()
