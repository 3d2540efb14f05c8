from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, dlaplace, norm

from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.privacy import PrivacyUnit, ReplayableEntropy, SystemEntropy
from snhkit.privacy.budget import written
from snhkit.privacy.unit import kept_records
from snhkit.privacy.zcdp import epsilon_of

GAUSSIAN = Fraction(1), Fraction(1, 10**6), Fraction(1, 50)  # epsilon, delta and rho
CITY = Region.around(lat=0, lon=0, side_m=1_000_000 / 10)


def records_of(users) -> Points:
    """Return one record for each entry of ``users``, distinguished by x."""
    x = np.arange(len(users)) / 10
    return Points(CITY, np.stack([x, x], axis=1), user=users)


def test_the_unit_record():
    unit = PrivacyUnit("record")
    assert (unit.kind, unit.sensitivity) == ("record", 1)
    assert unit.sentence == "one record added or removed"
    points = records_of([1, 1])
    assert unit.bound(points, SystemEntropy()) is points
    assert unit.bound(Points(CITY, [[1, 1]]), SystemEntropy()).user is None


def test_the_unit_user():
    unit = PrivacyUnit("user", max_per_user=np.int64(10))
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
        ("person", 3, "unit must be 'record' or 'user', or .* not 'person'"),
    ],
)
def test_incomplete_units_are_refused(unit, most, message):
    with pytest.raises(InputError, match=message):
        PrivacyUnit(unit, most)


def test_points_without_users_are_refused():
    with pytest.raises(InputError, match=r"read them with their user column.*unit='record'"):
        PrivacyUnit("user", 2).bound(Points(CITY, [[1, 1]]), SystemEntropy())


@given(st.lists(st.integers(-3, 9), max_size=60), st.integers(1, 5))
def test_each_user_keeps_at_most_max_per_user_records(users, most):
    points = records_of(np.array(users, np.int64))
    kept = PrivacyUnit("user", most).bound(points, SystemEntropy())
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
    kept = PrivacyUnit("user", 2).bound(
        records_of(np.tile(np.arange(people), each)), SystemEntropy()
    )
    assert kept.user is not None
    turn = np.rint(kept.xy[:, 0] * 10).astype(int) // people
    pairs = turn[np.argsort(kept.user, kind="stable")].reshape(people, 2)
    seen = [int((pairs == pair).all(axis=1).sum()) for pair in combinations(range(each), 2)]
    assert sum(seen) == people
    assert chisquare(seen).pvalue > 1e-7


def test_only_a_seed_repeats_the_choice():
    points, unit = records_of(np.zeros(1_000, int)), PrivacyUnit("user", 10)
    one, two = (unit.bound(points, SystemEntropy()).xy for _ in range(2))
    assert (one != two).any()
    one, two = (unit.bound(points, ReplayableEntropy(1)).xy for _ in range(2))
    assert (one == two).all()


class TestNeighbours:
    """If n is public, one unit is replaced: removed and added, so epsilon counts twice."""

    def test_sentences(self):
        told = PrivacyUnit("record", n_public=True).promise(Fraction(1, 5))
        assert told == (
            "epsilon = 0.4 (2 x 0.2), hides one record replaced by another; n is public"
        )
        assert PrivacyUnit("record").promise(Fraction(1, 5), Fraction(1, 10**6)) == (
            "epsilon = 0.2, delta = 0.000001, hides one record added or removed"
        )
        told = PrivacyUnit("user-week", 3, "household", True).promise(Fraction(1), Fraction(1, 8))
        assert told == (
            "epsilon = 2 (2 x 1), delta = 0.125 x (1 + e^1), hides all (at most 3) records of one "
            "household in one week replaced by as many others; n is public"
        )
        told = PrivacyUnit("record", n_public=True).promise(*GAUSSIAN)
        epsilon = epsilon_of(Fraction(1, 25), Fraction(1, 10**6))
        assert told == (
            f"epsilon = {written(epsilon)}, delta = 0.000001 (zCDP with rho = 0.04), hides one "
            "record replaced by another; n is public"
        )
        assert PrivacyUnit("record").promise(*GAUSSIAN) == (
            "epsilon = 1, delta = 0.000001 (zCDP with rho = 0.02), hides one record added or "
            "removed"
        )

    @pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(2)])
    def test_one_record_replaced_costs_exactly_twice_as_much_in_a_histogram(self, epsilon):
        """The worst outcome of two cells' counts, by the law of the noise, in closed form."""
        law = dlaplace(float(epsilon))
        outcomes = np.arange(-30, 31)
        # A record moves from the first cell to the second: counts (1, 0) become (0, 1).
        one = law.logpmf(outcomes - 1)[:, None] + law.logpmf(outcomes)[None, :]
        other = law.logpmf(outcomes)[:, None] + law.logpmf(outcomes - 1)[None, :]
        unit = PrivacyUnit("record", n_public=True)
        assert np.abs(one - other).max() == pytest.approx(unit.factor * float(epsilon))
        added = law.logpmf(outcomes - 1) - law.logpmf(outcomes)
        assert np.abs(added).max() == pytest.approx(float(epsilon))

    def test_one_record_replaced_costs_twice_the_rho_of_gaussian_noise(self):
        """One count falls and another rises: the divergences of two independent noises add up."""
        rho, delta = Fraction(1, 50), Fraction(1, 10**6)
        once, twice = (epsilon_of(k * rho, delta) for k in (1, 2))
        public, private = (PrivacyUnit("record", n_public=known) for known in (True, False))
        assert public.neighbours_epsilon(once, delta, rho) == twice > once
        assert private.neighbours_epsilon(once, delta, rho) == once

    def test_delta_of_group_privacy_bounds_the_replacement_in_gaussian_noise(self):
        """(e, d) for one step of a Gaussian gives at most (2 e, (1 + e^e) d) for two steps."""

        def delta(epsilon, std, steps):  # Balle and Wang 2018, Theorem 8
            a, b = steps / (2 * std), epsilon * std / steps
            return norm.cdf(a - b) - np.exp(epsilon) * norm.cdf(-a - b)

        for std in (0.8, 2.0, 9.0):
            for epsilon in (0.1, 1.0, 3.0):
                once = delta(epsilon, std, 1)
                assert delta(2 * epsilon, std, 2) <= (1 + np.exp(epsilon)) * once


class TestWindows:
    @pytest.mark.parametrize(
        ("kind", "days", "name"),
        [
            ("user", None, "user"),
            ("user-day", 1, "user-day"),
            ("user-1-days", 1, "user-day"),
            ("user-7-days", 7, "user-week"),
            ("user-30-days", 30, "user-30-days"),
        ],
    )
    def test_names(self, kind, days, name):
        unit = PrivacyUnit(kind, 2)
        assert (unit.kind, unit.window_days, unit.sensitivity) == (name, days, 2)
        assert PrivacyUnit.restore(unit.to_dict()) == unit

    @pytest.mark.parametrize("kind", ["user-0-days", "user-days", "user-1.5-days", "day", 7, None])
    def test_other_names_are_refused(self, kind):
        with pytest.raises(InputError, match="unit must be 'record' or 'user'"):
            PrivacyUnit(kind, 2)

    def test_weeks_begin_on_monday(self):
        """1970-01-01 was a Thursday; the Monday after was day 4."""
        points = Points(CITY, np.ones((4, 2)), user=[1] * 4, time=np.array([-4, -3, 3, 4]) * 86_400)
        assert PrivacyUnit("user-week", 1).owners(points).tolist() == [0, 1, 1, 2]

    @given(
        st.lists(st.tuples(st.integers(0, 3), st.integers(-20, 20)), max_size=60),
        st.integers(1, 3),
        st.sampled_from(["user-day", "user-week", "user-30-days"]),
    )
    def test_each_person_keeps_at_most_so_many_records_in_a_window(self, rows, most, kind):
        users, days = np.array(rows, int).reshape(-1, 2).T
        x = np.arange(len(users)) / 10
        points = Points(CITY, np.stack([x, x], axis=1), user=users, time=days * 86_400)
        unit = PrivacyUnit(kind, most)
        kept = unit.bound(points, ReplayableEntropy(1))
        width = unit.window_days
        before = Counter(zip(users.tolist(), ((days + 3) // width).tolist(), strict=True))
        after = Counter(zip(kept.user.tolist(), ((kept.day + 3) // width).tolist(), strict=True))
        assert after == {key: min(count, most) for key, count in before.items()}
        at = (kept.xy[:, 0] * 10).round().astype(int)
        assert (users[at] == kept.user).all()
        assert (days[at] == kept.day).all()

    def test_days_of_two_zones_are_not_the_same_neighbours(self):
        """A day in Tokyo overlaps two days in Paris, so costs do not add up."""
        for public in (False, True):
            paris, tokyo, unknown = (
                PrivacyUnit("user-day", 2, n_public=public, tz=tz)
                for tz in ("Europe/Paris", "Asia/Tokyo", None)
            )
            assert PrivacyUnit.restore(paris.to_dict()).has_neighbours_of(paris)
            assert not paris.has_neighbours_of(tokyo)
            assert not unknown.has_neighbours_of(paris)
        assert unknown.to_dict().keys() == {"kind", "max_per_user", "whose", "n_public"}

    def test_days_must_be_known(self):
        points = Points(CITY, [[1, 1]], user=[1])
        with pytest.raises(InputError, match=r"time column \(time='COLUMN'\).*unit='user'"):
            PrivacyUnit("user-day", 2).bound(points, SystemEntropy())


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"kind": "record", "delta": 1},
        {"kind": "user", "max_per_user": 10**30, "whose": "person", "n_public": None},
        {"kind": "user", "max_per_user": 1, "whose": "\x1b[2J", "n_public": False},
        {"kind": "user", "max_per_user": 1, "whose": "x" * 41, "n_public": False},
        {"kind": "user", "max_per_user": 1, "whose": 3, "n_public": False},
        {"kind": ["user"], "max_per_user": 1, "whose": "person", "n_public": False},
        {"kind": "user", "max_per_user": 1, "tz": "Asia/Tokyo"},
        {"kind": "user-day", "max_per_user": 1, "tz": "\x1b[2J"},
        {"kind": "user", "max_per_user": 1, "dropped": 1.5},
        {"kind": "user", "max_per_user": 1, "dropped": float("nan")},
        {"kind": "user", "max_per_user": 1, "dropped": "0.5"},
        {"kind": "record", "dropped": 0.5},
        {"kind": "user-" + "9" * 6 + "-days", "max_per_user": 1, "whose": "p", "n_public": False},
    ],
)
def test_units_in_files_are_checked(values):
    with pytest.raises(InputError):
        PrivacyUnit.restore(values)


people = st.lists(st.integers(-3, 3), max_size=60)


def kept(person, xy, most, key=(1, 2)):
    person, xy = np.array(person, np.int64), np.array(xy, float).reshape(-1, 2)
    return kept_records(person, xy, most, np.array(key, np.uint64))


def places(n, seed):
    return np.random.default_rng(seed).integers(0, 4, (n, 2)).astype(float)


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
