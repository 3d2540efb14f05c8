import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import entropy, spearmanr

from snhkit.data import CITIES, city, synthetic_points
from snhkit.data.synthetic import _users, layout
from snhkit.errors import InputError


def entropy_512(xy):
    return entropy(np.histogram2d(*xy.T, bins=512)[0].ravel())


# From seed to seed the standard deviation is 0.04 nats at Fargo (270 records), else up to 0.012.
@pytest.mark.parametrize("world", ["private", "public"])
@pytest.mark.parametrize("key", CITIES)
def test_entropy_is_the_published_one(key, world):
    place = city(key)
    for seed in (0, 20_000):
        points = synthetic_points(key, place.n_at_entropy, world, seed)
        assert len(points) == place.n_at_entropy
        assert abs(entropy_512(points.xy) - place.entropy_512_nats) < 0.15


def test_same_call_same_records_and_other_seeds_others():
    first, again = synthetic_points("tulsa", 500), synthetic_points("tulsa", 500)
    np.testing.assert_array_equal(first.xy, again.xy)
    np.testing.assert_array_equal(first.user, again.user)
    for other in (
        synthetic_points("tulsa", 500, seed=1),
        synthetic_points("tulsa", 500, "public"),
    ):
        gates = layout(city("tulsa")).gates
        assert np.isin(np.intersect1d(first.xy, other.xy), gates).all()


def test_default_sizes():
    assert len(synthetic_points("fargo")) == 100_000
    assert len(synthetic_points("fargo", world="public")) == city("fargo").n_at_entropy


@pytest.mark.parametrize("n", [1, 2, 7])
def test_few_records(n):
    assert len(synthetic_points("miami", n)) == n


def visits(world, seed=0):
    """Records near each venue of Milwaukee, and the share of all that are near one."""
    venues = layout(city("milwaukee")).venues
    gap, nearest = cKDTree(venues).query(synthetic_points("milwaukee", 60_000, world, seed).xy)
    near = gap < 12.01
    return np.bincount(nearest[near], minlength=len(venues)), near.mean()


def test_worlds_share_venues_but_not_popularity():
    (private, stay), (public, checked_in) = visits("private"), visits("public")
    assert stay > 0.8
    assert checked_in > 0.9
    visited = (private + public) >= 20
    between = spearmanr(private[visited], public[visited]).statistic
    within = spearmanr(private[visited], visits("private", seed=1)[0][visited]).statistic
    assert within > 0.9
    assert between < 0.7
    assert np.argmax(private) != np.argmax(public)
    # Not strangers either: the public world tells something about the private one.
    ranks = spearmanr(private, public).statistic
    assert ranks > 0.2


def test_popularity_is_heavy_tailed():
    counts = np.sort(visits("private")[0])[::-1]
    assert counts[:50].sum() > 0.3 * counts.sum()  # of 5,000 venues
    assert 5 < np.count_nonzero(counts) / 200 < 25


def test_users_have_heavy_tails_and_districts():
    points = synthetic_points("chicago", 40_000)
    assert points.user is not None
    records = np.bincount(points.user)
    assert records.min() >= 1
    assert np.median(records) <= 5
    assert records.max() >= 100
    heavy = [points.xy[points.user == u] for u in np.argsort(records)[-20:]]
    spread = [np.median(np.linalg.norm(xy - np.median(xy, axis=0), axis=1)) for xy in heavy]
    everyone = np.median(np.linalg.norm(points.xy - np.median(points.xy, axis=0), axis=1))
    assert np.median(spread) < 0.6 * everyone


def test_one_record_in_five_is_in_any_district():
    district = np.repeat(np.arange(10), 2_000)
    user = _users(np.random.default_rng(0), district)
    table = np.zeros((user.max() + 1, 10))
    np.add.at(table, (user, district), 1)
    heavy = table[table.sum(axis=1) >= 50]
    home = (heavy.max(axis=1) / heavy.sum(axis=1)).mean()
    assert home == pytest.approx(0.8 + 0.2 / 10, abs=0.05)


def test_public_records_repeat_the_coordinates_of_venues():
    distinct = len(np.unique(synthetic_points("boston", world="public").xy, axis=0))
    assert distinct < 0.4 * city("boston").n_at_entropy
    private = synthetic_points("boston", 5_000).xy
    assert len(np.unique(private, axis=0)) > 0.95 * len(private)


def test_nobody_is_in_the_lake():
    west_to_east = synthetic_points("milwaukee", 20_000).xy[:, 0]
    assert west_to_east.max() < 0.9 * city("milwaukee").side_m


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("atlantis",), "no city"),
        (("fargo", 0), "n must be from 1 to"),
        (("fargo", 10**12), "n must be from 1 to"),
        (("fargo", 10, "secret"), '"private" or "public"'),
        (("fargo", 10, "public", -1), "seed must be at least 0"),
    ],
)
def test_refusals(arguments, told):
    with pytest.raises(InputError, match=told):
        synthetic_points(*arguments)
