"""Synthetic traces: what stay point detection finds in them."""

import numpy as np
import pandas as pd
import pytest

import snhkit as snh
from snhkit.data import city
from snhkit.errors import InputError
from snhkit.reproduction import stay_points, synthetic_trace
from snhkit.reproduction.stay_points import _times


@pytest.fixture(scope="module")
def trace() -> pd.DataFrame:
    return synthetic_trace("tulsa", visits=600, seed=3)


def test_fixes_follow_each_other_inside_the_city(trace):
    assert list(trace.columns) == ["user", "lat", "lon", "time"]
    for _, fixes in trace.groupby("user"):
        assert (np.diff(fixes.time) >= 0).all()
    region = city("tulsa").region
    assert region.contains(region.to_xy(trace.lat, trace.lon)).all()


def test_people_move_no_faster_than_they_can(trace):
    region = city("tulsa").region
    xy = region.to_xy(trace.lat, trace.lon)
    same = np.diff(trace.user) == 0
    apart, seconds = np.hypot(*np.diff(xy, axis=0).T)[same], np.diff(trace.time)[same]
    assert (apart <= 6 * (seconds + 1) + 60).all()  # and the error of two fixes


def test_stay_points_finds_the_visits_of_half_an_hour(trace):
    points = snh.synthetic_points("tulsa", 600, seed=3)
    order = np.argsort(points.user, kind="stable")
    region, xy, user = points.region, points.xy[order], points.user[order]
    found = stay_points(trace)
    there = region.to_xy(found.lat, found.lon)
    apart = np.hypot(*(there[:, None] - xy[None]).transpose(2, 0, 1))
    apart[found.user.to_numpy()[:, None] != user] = np.inf  # visits of other people
    assert np.quantile(apart.min(axis=1), 0.9) < 30
    assert 0.45 < len(found) / 600 < 0.75  # P(lognormal > 30 min) = 0.63, near ones merge
    assert (found.left - found.arrived >= 1_800).all()


def test_each_users_clock_starts_in_the_morning():
    rng = np.random.default_rng(0)
    user = np.array([0, 0, 1, 2, 2])
    arrived, left = _times(rng, rng.uniform(0, 5_000, (5, 2)), user)
    first = arrived[[0, 2, 3]]
    assert ((first >= 6 * 3600) & (first <= 10 * 3600)).all()
    assert (arrived[[1, 4]] - left[[0, 3]] >= 120).all()
    arrived, left = _times(rng, np.zeros((9_000, 2)), np.zeros(9_000, int))
    assert np.quantile(left - arrived, (0, 0.5, 1)) == pytest.approx([240, 2_400, 43_200], rel=0.02)


def test_the_same_seed_draws_the_same_trace(trace):
    pd.testing.assert_frame_equal(synthetic_trace("tulsa", 600, seed=3), trace)
    assert not synthetic_trace("tulsa", 600, seed=4).equals(trace)
    with pytest.raises(InputError, match="n must be from"):
        synthetic_trace("tulsa", 0)
