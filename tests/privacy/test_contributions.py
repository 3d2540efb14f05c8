"""What a bound on the records of a person drops, and the noise that it makes."""

import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.privacy import PrivacyUnit, SystemEntropy, contributions

CITY = Region.around(lat=45, lon=7, side_m=400)


def points(users, days=None) -> Points:
    return Points(CITY, np.ones((len(users), 2)), users, days)


@pytest.mark.parametrize("kind", ["user", "user-day", "user-week"])
def test_what_is_dropped_is_what_bounding_drops(kind):
    rng = np.random.default_rng(0)
    public = points(rng.zipf(1.5, 500) % 50, rng.integers(0, 20, 500))
    table = contributions(public, kind, epsilon=1, count=100)
    for most, dropped in zip(table["max_per_user"], table["dropped"], strict=True):
        kept = PrivacyUnit(kind, int(most)).bound(public, SystemEntropy())
        assert dropped == pytest.approx(1 - len(kept) / 500)
    assert table["dropped"].iloc[-1] == 0


def test_noise_grows_with_the_bound_and_the_error_has_a_least():
    table = contributions(points([1] * 64 + list(range(2, 66))), epsilon="0.5", count=500)
    assert table["max_per_user"].tolist() == [1, 2, 4, 8, 16, 32, 64]
    assert table["noise"].to_numpy() == pytest.approx(
        np.sqrt(8) * table["max_per_user"].to_numpy(), rel=0.02
    )
    assert 0 < table["error"].argmin() < 6


@pytest.mark.parametrize(
    ("public", "kind", "count", "told"),
    [
        (points([1]), "record", 1, "a window such as 'user-day'"),
        (points([1]), "user-day", 1, "needs the time"),
        (points([]), "user", 1, "no points"),
        (points([1]), "user", 0, "count"),
        (Points(CITY, [[1, 1]]), "user", 1, "needs the user"),
    ],
    ids=["record", "no days", "no points", "no count", "no users"],
)
def test_what_cannot_be_chosen_from(public, kind, count, told):
    with pytest.raises(InputError, match=told):
        contributions(public, kind, epsilon=1, count=count)
