"""One noisy number that tells how evenly records are spread, and what follows from it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders import Identity
from snhkit.builders.cell_width import bought_evenness, chosen_grid, default_cell_width, narrowing
from snhkit.dataset import PrivateDataset
from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import Measurements, PointSource, PrivacyUnit, SystemEntropy, Terms

CITY = Region.around(lat=45, lon=7, side_m=1_000)
FOUR, EIGHTS = Grid(CITY, 2), Grid(CITY, 8)


def measured(records, epsilon, unit=None) -> Measurements:
    """The number of records is public."""
    terms = Terms(Fraction(epsilon), unit or PrivacyUnit("record"), len(records))
    return Measurements(PointSource(records), terms, SystemEntropy())


def at(*counts: int) -> Points:
    """So many records in each of the four cells."""
    middles = [[250, 250], [250, 750], [750, 250], [750, 750]]
    return Points(CITY, np.repeat(middles, counts, axis=0))


def test_by_hand():
    """At epsilon 1/5 a cell keeps 5, which is more than three times the mean, 1.5."""
    private = measured(at(21, 6, 3, 0), "1/5")
    evenness = bought_evenness(private, EIGHTS)
    assert [str(spend) for spend in private.spends] == [
        "0.006 for records, at most 5 a cell, in cells of 125 m"
    ]
    assert private.epsilon == Fraction(194, 1000)
    assert 0 <= evenness <= 1


@pytest.mark.parametrize(
    ("counts", "evenness"),
    [((1_000, 0, 0, 0), 0.047), ((1, 1, 1, 1), 1.0), ((9, 1, 0, 0), 0.2)],
)
def test_without_noise(counts, evenness):
    """Three times the mean of 64 cells is 46.9, or less than 1."""
    found = bought_evenness(measured(at(*counts), 10**6), EIGHTS)
    assert found == pytest.approx(evenness, abs=1e-4)


def test_a_region_that_is_full_everywhere_is_even():
    found = bought_evenness(measured(at(500, 500, 400, 300), 10**6), FOUR)
    assert found == pytest.approx(1.0, abs=1e-4)


def test_noise_alone_says_nothing():
    """Where a record more or less could hide everything, every city counts as even."""
    found = [bought_evenness(measured(at(20, 0, 0, 0), "1/1000"), EIGHTS) for _ in range(50)]
    assert min(found) > 0.999


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(0, 3), st.integers(1, 4))
def test_one_record_changes_the_sum_by_at_most_one(counts, where, most):
    more = np.array(counts)
    more[where] += 1
    change = np.minimum(more, most).sum() - np.minimum(counts, most).sum()
    assert change in (0, 1)


def test_for_persons_noise_covers_all_their_records():
    """The scale is 8 times that of a record: at n = 10**6 still small."""
    records = Points(CITY, np.tile([[250.0, 250.0]], (1_000, 1)), user=np.arange(1_000) // 8)
    unit = PrivacyUnit("user", 8)
    seen = [bought_evenness(measured(records, 8, unit), EIGHTS) for _ in range(300)]
    # Deviation of the noise over n: sqrt(2) * 8 / (0.24 * 1,000) = 0.047; shrunk a little.
    assert 0.02 < np.std(seen) < 0.06


def test_a_crowd_gets_narrower_cells_than_an_even_city():
    rng = np.random.default_rng(0)
    even = Points(CITY, rng.uniform(0, 1_000, (20_000, 2)))
    crowd = Points(CITY, np.repeat(rng.uniform(0, 1_000, (20, 2)), 1_000, axis=0))
    wide = chosen_grid(measured(even, 1), "bought")
    narrow = chosen_grid(measured(crowd, 1), "bought")
    width = default_cell_width(20_000, 1) * narrowing(20_000, 1, 1.0)
    assert wide.m == pytest.approx(1_000 / width, rel=0.05)
    assert narrow.m > 2.5 * wide.m


def test_the_ledger_has_it():
    data = PrivateDataset(at(500, 5, 5, 5), budget=1, unit="record")
    release = data.release(Identity("bought"), epsilon="0.4")
    bought = [spend.epsilon for spend in release.spends]
    assert bought == [Fraction(2, 100), Fraction(38, 100) * 3 / 100, Fraction(38, 100) * 97 / 100]
