import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import Points, Region

CITY = Region.around(lat=0, lon=0, side_m=100)


def test_points_know_their_number_and_do_not_show_it():
    points = Points(CITY, np.full((17, 2), 3.25), user=np.arange(17))
    assert len(points) == 17
    assert "17" not in repr(points)
    assert "3.25" not in repr(points)
    assert points.user is not None
    assert points.user.dtype == np.int64


@pytest.mark.parametrize("nothing", [[], np.empty((0, 2))])
def test_no_points(nothing):
    points = Points(CITY, nothing)
    assert len(points) == 0
    assert points.xy.shape == (0, 2)


@pytest.mark.parametrize("bad", [[100, 5], [5, 100], [-1, 5], [np.nan, 5], [np.inf, 5]])
def test_the_first_row_outside_is_named(bad):
    with pytest.raises(InputError, match=r"row 1 .* is not inside the region \(rows outside: 2\)"):
        Points(CITY, [[1, 1], bad, [2, 2], bad])


@pytest.mark.parametrize(
    ("xy", "user", "message"),
    [
        ([1, 2], None, r"shape \(n, 2\), not \(2,\)"),
        ([[1, 2, 3]], None, r"not \(1, 3\)"),
        ([[1, 2]], [1, 2], r"user must have shape \(1,\)"),
    ],
)
def test_shapes_that_disagree_are_refused(xy, user, message):
    with pytest.raises(InputError, match=message):
        Points(CITY, xy, user)


@pytest.mark.parametrize("user", [["alice"], [np.nan], [1.5]])
def test_users_are_whole_numbers_and_no_name_is_quoted(user):
    with pytest.raises(InputError, match="user must be whole numbers") as refusal:
        Points(CITY, [[1, 2]], user)
    assert "alice" not in str(refusal.value)


def test_masked_rows_are_not_counted_as_if_they_were_there():
    xy = np.ma.masked_array([[1, 1], [2, 2]], mask=[[0, 0], [1, 0]])
    with pytest.raises(InputError, match=r"row 1 .* is not inside"):
        Points(CITY, xy)
    with pytest.raises(InputError, match="none missing"):
        Points(CITY, [[1, 1], [2, 2]], np.ma.masked_array([1, 2], mask=[0, 1]))


@pytest.mark.parametrize("name", ["xy", "user", "time"])
def test_records_cannot_be_reassigned_or_written_through(name):
    given = {"xy": np.ones((2, 2)), "user": np.array([1, 2]), "time": np.array([5, 6])}
    points = Points(Region.around(lat=0, lon=0, side_m=9), **given)
    with pytest.raises(AttributeError):
        setattr(points, name, given[name])
    with pytest.raises(ValueError, match="read-only"):
        getattr(points, name)[0] = 0
    given[name][:] = 8
    assert (getattr(points, name) != 8).all()


@pytest.mark.parametrize("time", [[1], [0.5, 1.0], np.ma.masked_array([1, 2], [True, False])])
def test_times_are_whole_numbers_one_for_each_record(time):
    with pytest.raises(InputError, match="Points: time must"):
        Points(Region.around(lat=0, lon=0, side_m=9), [[1, 1], [2, 2]], time=time)
