import pytest

from snhkit.data.sources.columns import Rules, layout_of
from snhkit.errors import InputError


def find_columns(source, names, lat, lon, user, time=None):
    found = dict(layout_of(source, names, Rules(lat, lon, user, time, people="found")).roles)
    return tuple(found.get(role) for role in ("lat", "lon", "user", "time"))


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["lat", "lon"], (0, 1, None)),
        (["time", "LONGITUDE", " Latitude "], (2, 1, None)),
        (["x", "y", "User ID"], (1, 0, 2)),
        (["lat", "lng", "x", "y"], (0, 1, None)),  # projected ones come second
        (["device_id", "lat", "long", "UID"], (1, 2, 3)),
    ],
)
def test_usual_names(names, found):
    assert find_columns("f", names, None, None, None) == (*found, None)


def test_said_names_and_positions_win():
    names = ["lat", "lon", "start_lat", "start_lon", "who"]
    assert find_columns("f", names, "start_lat", 3, "WHO", "lat") == (2, 3, 4, 0)
    assert find_columns("f", [0, 1], 1, 0, None) == (1, 0, None, None)


@pytest.mark.parametrize(
    ("names", "said", "told"),
    [
        (["lat", "Latitude", "lon"], {}, "'lat' or 'Latitude' could be the latitude.*lat="),
        (["lat", "lat", "lon"], {}, "position from 0, as in lat=0"),
        (["lat", "lat", "lon"], {"lat": "lat"}, r"2 columns are called 'lat'.*lat=0"),
        (["lat", "lon", "user", "uid"], {}, "could be the user.*user="),
        (["a", "lon"], {}, r"name of a latitude \(lat, latitude, y\).*'a', 'lon'.*lat=\.\.\."),
        (["lat", "b"], {}, "common name of a longitude"),
        ([], {}, "It has no columns"),
        (["lat", "lon"], {"lat": "latt"}, "no column is called 'latt'. Did you mean 'lat'"),
        (["lat", "lon"], {"lon": 7}, "numbered from 0 to 1"),
        (["lat", "lon"], {"lon": "lat"}, "must be different columns"),
        (["lat", "lon"], {"user": 0}, "must be different columns"),
        (["lat", "lon", "user"], {"time": 2}, "must be different columns"),
        (["lat", "lon"], {"time": "when"}, "no column is called 'when'"),
    ],
)
def test_refusals(names, said, told):
    with pytest.raises(InputError, match=told):
        find_columns("f", names, *(said.get(role) for role in ("lat", "lon", "user", "time")))


def test_long_names_and_lists_are_cut():
    with pytest.raises(InputError) as refused:
        find_columns("f", ["n" * 10_000] * 5_000, None, None, None)
    assert len(str(refused.value)) < 2_000
    assert "and 4,980 more" in str(refused.value)
