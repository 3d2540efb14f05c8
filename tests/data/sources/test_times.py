from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.data.sources.times import NO_TIME, instant, times_of
from snhkit.errors import InputError

NOON = 1_793_534_400_000_000


@pytest.mark.parametrize(
    "values",
    [
        pa.array([NOON / 1e6, float("nan")]),
        pa.array(["2026-11-01 13:00:00+01:00", None]),
        pa.array(["2026-11-01T12:00", None]).dictionary_encode(),
        pa.array([str(NOON // 1_000_000), None]),
        pa.array([f"{NOON // 1_000_000}.0", ""]),
        pa.array(["20261101T120000", "noon"]),
    ],
)
def test_times_are_microseconds_in_utc(values):
    assert times_of("trips", values)[0].tolist() == [NOON, NO_TIME]


def test_dates_begin_at_midnight():
    column = pa.array([date(2026, 11, 1)])
    assert times_of("trips", column)[0].tolist() == [NOON - 43_200_000_000]


def test_what_is_no_time_is_refused():
    with pytest.raises(InputError, match="times must be timestamps, dates"):
        times_of("trips", pa.array([True]))
    with pytest.raises(InputError, match="numbers such as 20261101"):
        times_of("trips", pa.array(["20261101", "1793534400"]))  # a day and a number of seconds
    assert (times_of("trips", pa.nulls(2))[0] == NO_TIME).all()


SINCE = ["2026-11-01T13:00+01:00", datetime(2026, 11, 1, 12, tzinfo=UTC), NOON // 10**6, NOON / 1e3]


@pytest.mark.parametrize("given", SINCE)
def test_instants_are_microseconds_in_utc(given):
    assert instant("since", given) == NOON


@pytest.mark.parametrize("given", ["noon", [], float("nan")])
def test_what_is_no_instant_is_refused(given):
    with pytest.raises(InputError, match="since must be a time such as"):
        instant("since", given)


def test_an_hour_that_clocks_show_twice_is_the_earlier_one():
    # In Paris the hour from 2:00 on 25 October 2026 comes twice, first in summer time.
    column = pa.array([datetime(2026, 10, 25, 2, 30)])
    found = times_of("trips", column, "Europe/Paris")[0]
    assert found[0] == instant("since", "2026-10-25T00:30Z")


@pytest.mark.parametrize("given", [datetime(2026, 7, 1, 14), np.datetime64("2026-07-01T14:00")])
def test_an_instant_without_a_zone_is_local(given):
    assert instant("since", given, "Europe/Paris") == instant("since", "2026-07-01T12:00Z")


@pytest.mark.parametrize("tz", [None, "Europe/Paris"])
@pytest.mark.parametrize("odd", [None, "", "2026-07-01T12:00:00+02:00", "2026-07-01 12:00:00 UTC"])
def test_a_text_without_a_zone_is_local_whatever_the_others_are(tz, odd):
    found = times_of("trips", pa.array(["2026-07-01T12:00:00", odd]), tz)[0]
    assert found[0] == instant("since", "2026-07-01T12:00Z" if tz is None else "2026-07-01T10:00Z")
    if odd:
        at = "2026-07-01T10:00Z" if odd.endswith("+02:00") else "2026-07-01T12:00Z"
        assert found[1] == instant("since", at)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["2026-07-01T10:00:00Z"]),
        pa.array(["2026-07-01T12:00:00+02:00"]),
        pa.array([datetime(2026, 7, 1, 10, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        pa.array([datetime(2026, 7, 1, 10, tzinfo=UTC)], pa.timestamp("s", "Asia/Tokyo")),
    ],
)
def test_times_with_a_zone_of_their_own_keep_it(column):
    found = times_of("trips", column, "Europe/Paris")[0]
    assert found[0] == instant("since", "2026-07-01T10:00Z")


@given(st.lists(st.integers(315_532_800 * 10**9, 4_102_444_799 * 10**9), min_size=1, max_size=5))
def test_numbers_of_each_unit_keep_their_microseconds(nanoseconds):
    """Rounded down from nanoseconds; those of one unit stay within the years 1980 to 2100."""
    for unit, per in (("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6),
                      ("nanoseconds", 10**9)):  # fmt: skip
        given = [n * per // 10**9 for n in nanoseconds]
        found, told = times_of("trips", pa.array([*given, None]))
        assert told == unit
        assert found.tolist() == [g * 10**6 // per for g in given] + [NO_TIME]


def test_floats_are_rounded_to_the_nearest_microsecond():
    """Floats of seconds in 2026 are 2.4e-7 s apart, some of them below the microsecond."""
    wanted = NOON + np.arange(1_000)
    for seconds in (wanted / 1e6, np.nextafter(wanted / 1e6, 0)):
        assert times_of("trips", pa.array(seconds))[0].tolist() == wanted.tolist()
