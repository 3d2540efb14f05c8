"""Stay points: against the definition written as two loops, and against a real trace."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snhkit as snh
from snhkit.data import city
from snhkit.errors import InputError
from snhkit.reproduction.stay_points import _times, stay_points, synthetic_trace

TRACES = Path(__file__).parents[3] / "shared" / "data" / "sf_five_taxis_trace.csv.gz"
DEGREE_M = 6_371_008.8 * np.pi / 180


def by_loops(trace: pd.DataFrame, distance_m: float, minutes: float) -> list[tuple]:
    """The definition, for traces along a meridian."""
    found = []
    for user, rows in trace.sort_values(["user", "time"], kind="stable").groupby("user"):
        lat, time = rows["lat"].tolist(), rows["time"].tolist()
        i = 0
        while i < len(lat):
            j = i + 1
            while j < len(lat) and abs(lat[j] - lat[i]) * DEGREE_M <= distance_m:
                j += 1
            if time[j - 1] - time[i] >= 60 * minutes:
                found.append((user, time[i], time[j - 1], j - i))
                i = j
            else:
                i += 1
    return found


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 400), st.integers(0, 12)),
        min_size=1,
        max_size=60,
    )
)
def test_it_is_the_definition(fixes):
    user, minute, place = np.array(fixes).T
    trace = pd.DataFrame(
        {"user": user, "time": 60 * minute, "lat": place * 37 / DEGREE_M, "lon": 5}
    )
    for changes in ({}, {"distance_m": 160.0}, {"minutes": 9}):
        found = stay_points(trace, **changes)
        told = found[["user", "arrived", "left", "fixes"]].itertuples(index=False, name=None)
        assert list(told) == by_loops(trace, **{"distance_m": 100, "minutes": 30} | changes)


def test_the_place_is_the_mean_of_the_fixes():
    trace = pd.DataFrame({"lat": [10, 10.0002, 10.0004], "lon": [20, 20.0003, 20.0003]})
    trace["time"] = pd.date_range("2026-01-01", periods=3, freq="20min", tz="UTC")
    (stay,) = stay_points(trace).itertuples()
    assert (stay.lat, stay.lon) == (pytest.approx(10.0002), pytest.approx(20.0002))
    assert (stay.arrived, stay.left) == (trace["time"][0], trace["time"][2])


def test_distances_are_those_of_the_ground():
    """At 60 degrees a degree of longitude is half as long as one of latitude."""
    apart = 150 / DEGREE_M
    for lat, stays in ((0, 0), (60, 1)):
        trace = pd.DataFrame({"lat": lat, "lon": [0, apart], "time": [0, 1_800]})
        assert len(stay_points(trace)) == stays


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"lat": [1, None]}, "row 1 .counted from 0.: lat is missing"),
        ({"time": ["noon", "one"]}, "pandas.to_datetime"),
    ],
)
def test_what_is_wrong_is_told(change, told):
    trace = pd.DataFrame({"lat": [1, 1], "lon": [1, 1], "time": [0, 1]}).assign(**change)
    with pytest.raises(InputError, match=told):
        stay_points(trace)


def test_missing_columns_and_bounds():
    with pytest.raises(InputError, match="no column lon, time"):
        stay_points(pd.DataFrame({"lat": [1]}))
    with pytest.raises(InputError, match="minutes must be"):
        stay_points(pd.DataFrame({"lat": [1], "lon": 1, "time": 1}), minutes=0)


def test_no_fixes_are_no_stays():
    empty = pd.DataFrame({"lat": [], "lon": [], "time": []}, dtype=float)
    assert len(stay_points(empty)) == 0


@pytest.mark.skipif(not TRACES.is_file(), reason="the traces of five taxis are not here")
def test_taxis_stay_somewhere():
    trace = pd.read_csv(TRACES)
    found = stay_points(trace)
    assert 100 < len(found) < len(trace) / 20
    assert (found["left"] - found["arrived"] >= 1_800).all()
    assert found["fixes"].sum() < len(trace)


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
