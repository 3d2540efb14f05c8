from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.geometry.strata import By

SECONDS = st.integers(-(2**33), 2**33)
EDGES = [hour * 3_600 + second for hour in range(-24, 8 * 24) for second in (0, 3_599)]


@example(EDGES, 1)
@given(st.lists(SECONDS, min_size=1, max_size=20), st.sampled_from([1, 2, 3, 4, 6, 8, 12]))
def test_strata_of_times_are_those_of_the_calendar(seconds, step):
    found = np.array(seconds)
    clocks = [datetime.fromtimestamp(second, UTC) for second in seconds]
    hours, days = By.hour(step), By.weekday()
    both = By.weekday_hour(step)
    for clock, hour, day, two in zip(
        clocks, hours.of_times(found), days.of_times(found), both.of_times(found), strict=True
    ):
        assert int(hours.labels[hour][:2]) <= clock.hour < int(hours.labels[hour][:2]) + step
        assert days.labels[day] == clock.strftime("%a")
        assert both.labels[two] == f"{days.labels[day]} {hours.labels[hour]}"


@pytest.mark.parametrize(
    "by",
    [
        By.hour(),
        By.hour(3),
        By.weekday(),
        By.weekday_hour(12),
        By.column("kind", ["a", "b"]),
        By.column("kind", ["a", "b"], other=False),
    ],
)
def test_strata_survive_a_file(by):
    assert By.restore(by.to_dict()) == by
    assert by.complete == ("kind" not in by.name or "other" in by.labels)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: By.hour(5), "step must be 1, 2, 3, 4, 6, 8 or 12 hours, not 5"),
        (lambda: By.hour(0), "step"),
        (lambda: By.column("kind", "bike"), "must be a list of texts"),
        (lambda: By.column("kind", ["a", "a"]), "given twice"),
        (lambda: By.column("kind", ["a", "other"]), "'other' stands for all other values"),
        (lambda: By.column("kind", ["a", "other"], other=False), "'other' stands for all"),
        (lambda: By.column("kind", ["a\x1b[2J"]), "printable"),
        (lambda: By.column("kind", map(str, range(300))), "2 to 200"),
        (lambda: By.column("", ["a", "b"]), "name of the column"),
        (lambda: By.parse("hours"), "hour, hour:3"),
        (lambda: By.parse("hour:x"), "hour, hour:3"),
        (lambda: By.restore({"kind": "hour"}), "kind, labels, step and column"),
        (lambda: By.restore(By.hour().to_dict() | {"kind": "minute"}), "'minute' are unknown"),
        (lambda: By.restore(By.hour().to_dict() | {"step": 2}), "do not fit"),
        (lambda: By.restore(By.hour().to_dict() | {"step": "2"}), "step"),
        (lambda: By.restore(By.hour().to_dict() | {"labels": "ab"}), "must be a list"),
        (lambda: By.restore(By.weekday().to_dict() | {"labels": [1, 2]}), "a list of texts"),
    ],
)
def test_wrong_strata_are_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_points_without_what_divides_them_are_refused():
    points = Points(Region.around(lat=0, lon=0, side_m=9), [[1, 1]])
    with pytest.raises(InputError, match="read them with their time column"):
        By.hour().of_points(points)
    with pytest.raises(InputError, match=r"PrivateDataset\.scan"):
        By.column("kind", ["a", "b"]).of_points(points)


@pytest.mark.parametrize("text", ["hour", "hour:6", "weekday", "weekday_hour:12", "kind=a,b"])
def test_strata_are_written_as_they_are_read(text):
    assert str(By.parse(text)) == text
