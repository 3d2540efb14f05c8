"""What the only access to private records gives, what it costs, and what it refuses."""

from fractions import Fraction
from inspect import isfunction

import numpy as np
import pytest

from snhkit.errors import BudgetExceeded, InputError
from snhkit.geometry import Grid, Histogram, Partition, Points, RangeQueries, Region
from snhkit.geometry.histogram import Merged
from snhkit.privacy import (
    Measurements,
    PointSource,
    PrivacyUnit,
    ReplayableEntropy,
    Spend,
    SystemEntropy,
    Terms,
    noise_variance,
)
from snhkit.privacy.gradients import noise_multiplier

HUGE = 10**9  # leaves no noise
CITY = Region.around(lat=45, lon=7, side_m=400)
XY = np.array([[10, 10]] * 5 + [[390, 390]] * 2 + [[10, 390]])
GRID = Grid(CITY, 2)
DELTA = Fraction(1, 10**6)


def measured(epsilon=HUGE, n=None, unit=("record",), entropy=None, xy=XY) -> Measurements:
    terms = Terms(Fraction(epsilon), PrivacyUnit(*unit), n, delta=DELTA)
    return Measurements(PointSource(Points(CITY, xy)), terms, entropy or SystemEntropy())


MEASUREMENTS = {
    "number": lambda p, e: p.number(e / p.epsilon),
    "histogram": lambda p, e: p.histogram(GRID, e),
    "capped_sum": lambda p, e: p.capped_sum(GRID, 3, e),
    "products": lambda p, e: p.products(GRID, np.eye(2, dtype=int), e),
    "splits": lambda p, e: p.splits(2, 99, e),
    "buckets": lambda p, e: p.buckets(GRID, np.arange(4), 1, e),
    "halves": lambda p, e: p.halves(GRID, [Fraction(1, 2)] * 2, Fraction(1, 5), 1, 1, e),
    "gradients": lambda p, e: p.gradients(
        GRID.boxes(), 1.0, steps=2, size=3, batch=4, clip=1.0, epsilon=e
    ),
}
every = pytest.mark.parametrize(("name", "measure"), MEASUREMENTS.items(), ids=MEASUREMENTS)


def test_every_measurement_is_tried():
    methods = {name for name, thing in vars(Measurements).items() if isfunction(thing)}
    public = {name for name in methods if not name.startswith("_")}
    assert public - {"close", "inverse_scale"} == set(MEASUREMENTS)


class TestCost:
    @every
    def test_each_measurement_takes_its_cost_and_records_it(self, name, measure):
        private = measured(1)
        measure(private, Fraction(3, 4))
        assert private.epsilon == Fraction(1, 4)
        assert private.spent == Fraction(3, 4)
        (spend,) = private.spends
        assert spend.epsilon == Fraction(3, 4)
        assert spend.delta == (DELTA if name == "gradients" else 0)

    @every
    def test_more_than_is_left_is_refused_before_anything_is_counted(
        self, name, measure, monkeypatch
    ):
        private = measured(1)
        private.histogram(GRID, Fraction(1, 2))
        for count in ("n", "count", "squares", "boxes"):
            monkeypatch.setattr(PointSource, count, lambda *_: pytest.fail("looked at records"))
        told = rf"^{name}: asked 0.75, left 0.5, short by 0.25. Nothing was looked at.$"
        with pytest.raises(BudgetExceeded, match=told):
            measure(private, Fraction(3, 4))
        assert private.epsilon == Fraction(1, 2)
        assert len(private.spends) == 1

    @every
    def test_what_fails_after_the_cost_is_taken_stays_paid(self, name, measure, monkeypatch):
        def failing(*_):
            raise MemoryError

        private = measured(1)
        for count in ("n", "count", "squares", "boxes"):
            monkeypatch.setattr(PointSource, count, failing)
        with pytest.raises(MemoryError):
            measure(private, Fraction(3, 4))
        assert private.epsilon == Fraction(1, 4)

    @every
    def test_after_the_build_nothing_can_be_measured(self, name, measure):
        private = measured(1)
        private.close()
        with pytest.raises(InputError, match=f"{name}: the build has ended"):
            measure(private, Fraction(1, 4))

    @pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "much", True])
    def test_a_cost_is_a_positive_number(self, epsilon):
        private = measured(1)
        with pytest.raises(InputError, match="epsilon"):
            private.histogram(GRID, epsilon)
        assert private.epsilon == 1


class TestValues:
    """At an epsilon without noise, measurements are the true numbers."""

    def test_a_public_number_costs_nothing(self):
        private = measured(1, n=50)
        assert private.number() == private.n == 50
        assert private.spends == ()

    def test_an_unknown_number_is_bought_once(self):
        private = measured(n=None)
        assert private.n is None
        assert private.number() == private.number(Fraction(1, 2)) == private.n == 8
        assert private.spends == (Spend(Fraction(HUGE, 20), "number of records"),)

    def test_a_bought_number_is_not_negative(self):
        numbers = [measured("1/1000", xy=np.empty((0, 2))).number() for _ in range(40)]
        assert min(numbers) == 0

    def test_cells(self):
        counts, variance = measured().histogram(GRID, HUGE)
        assert counts.tolist() == [[5, 1], [0, 2]]
        assert variance == noise_variance(Fraction(HUGE), 1)
        halves = Partition(CITY, [0, 200], [0, 0], [200, 400], [400, 400])
        assert measured().histogram(halves, HUGE).values.tolist() == [6, 2]

    def test_unions_of_cells(self):
        private, rows = measured(), Merged(GRID, np.array([[0, 1], [0, 1]]))
        assert private.histogram(rows, HUGE / 2).values.tolist() == [5, 3]
        both = Merged(rows, np.array([0, 0]))
        assert private.histogram(both, Fraction(HUGE, 4)).values.tolist() == [8]
        assert private.histogram(GRID, Fraction(HUGE, 4)).values.sum() == 8

    def test_capped_counts(self):
        private = measured()
        assert private.capped_sum(GRID, 3, HUGE) == 3 + 1 + 2
        assert private.spends[0].what == "records, at most 3 a cell, in cells of 200 m"

    def test_weighted_sums(self):
        haar = np.array([[1, 1], [1, -1]])
        sums, variance = measured(8).products(GRID, haar, 8)
        assert sums.shape == (2, 2)
        assert variance == noise_variance(Fraction(8), 2 * 2)
        assert measured().products(GRID, haar, HUGE).values.tolist() == [[8, 2], [4, 6]]

    def test_a_source_may_limit_the_depth_of_trees(self, monkeypatch):
        monkeypatch.setattr(PointSource, "max_depth", 1)
        depth, number = measured().splits(9, 10**6, HUGE)
        assert (depth == 1).all()
        assert number.tolist() == [0, 1, 2, 3]

    def test_gradients_of_exact_counts(self):
        """One box with 8 records; the prediction is 1 unit, of 2 records, too low for 4 units."""
        box = RangeQueries(CITY, [0], [0], [400], [400])
        gradients = measured(10**15).gradients(
            box, 2.0, steps=1, size=2, batch=1, clip=100.0, epsilon=10**15
        )
        found = gradients.sum(np.array([0]), np.array([1.0]), np.array([[1.0, 2.0]]))
        np.testing.assert_allclose(found, [-6, -12], atol=1e-3)


class TestSensitivity:
    """The noise is for the unit of privacy, whatever a method thinks."""

    def test_a_person_with_three_records_has_three_times_the_noise(self):
        one = measured(1, entropy=ReplayableEntropy(1)).histogram(GRID, Fraction(1, 4))
        three = measured(3, unit=("user", 3), entropy=ReplayableEntropy(1)).histogram(
            GRID, Fraction(3, 4)
        )
        assert (one.values == three.values).all()
        assert one.variance == three.variance == noise_variance(Fraction(1, 4), 1)
        assert measured(3, unit=("user", 3)).record_epsilon == 1

    @pytest.mark.parametrize("name", ["number", "capped_sum", "products", "splits", "buckets"])
    def test_of_every_measurement(self, name):
        """Three times epsilon for three times the sensitivity gives the same noise."""
        once, thrice = (
            MEASUREMENTS[name](
                measured(k, unit=("user", k), entropy=ReplayableEntropy(5)), Fraction(k, 2)
            )
            for k in (1, 3)
        )
        pairs = zip(once, thrice, strict=True) if isinstance(once, tuple) else [(once, thrice)]
        assert all(np.array_equal(a, b) for a, b in pairs)


class TestWhatIsRefused:
    class Overlapping:
        """Cells that claim to be a partition, and would look at the records themselves."""

        region = CITY

        def count(self, points):
            return Histogram(self, np.array([len(points)] * 9))

    @pytest.mark.parametrize(
        "cells", [Overlapping(), XY, None, "grid"], ids=["overlapping", "array", "none", "text"]
    )
    def test_cells_whose_disjointness_is_not_proven(self, cells):
        with pytest.raises(InputError, match="only cells that are proven not to overlap"):
            measured().histogram(cells, 1)

    def test_not_even_a_subclass(self):
        class Finer(Grid):
            pass

        with pytest.raises(InputError, match="only cells that are proven not to overlap"):
            measured().histogram(Finer(CITY, 2), 1)

    def test_cells_of_another_region(self):
        with pytest.raises(InputError, match="another region"):
            measured().histogram(Grid(Region.around(lat=45, lon=7, side_m=401), 2), 1)


def test_no_ordinary_attribute_shows_the_records():
    private = measured(1)
    private.histogram(GRID, Fraction(1, 2))
    for name in dir(private):
        if not name.startswith("_"):
            assert not isinstance(getattr(private, name), (Points, Histogram, PointSource)), name


@pytest.mark.parametrize(
    "name", ["region", "unit", "public", "n", "epsilon", "record_epsilon", "replayable", "spends"]
)
def test_a_method_cannot_change_the_terms(name):
    with pytest.raises(AttributeError):
        setattr(measured(1), name, 3)


def test_what_is_left_changes_only_while_it_is_locked():
    """Otherwise, two threads could spend the same epsilon."""

    class Watched(Measurements):
        def __setattr__(self, name, value):
            assert name != "_left" or not hasattr(self, "_lock") or self._lock.locked()
            super().__setattr__(name, value)

    terms = Terms(Fraction(1), PrivacyUnit("record"))
    private = Watched(PointSource(Points(CITY, XY)), terms, SystemEntropy())
    private.histogram(GRID, "0.25")
    assert private.left == Fraction(3, 4)


def test_what_is_left_is_exact_to_the_last_digit():
    private = measured(1)
    private.histogram(GRID, 1 - Fraction(1, 10**18))
    with pytest.raises(BudgetExceeded):
        private.histogram(GRID, Fraction(2, 10**18))
    assert private.left == Fraction(1, 10**18)


@pytest.mark.parametrize("most", [0, 1, 2, 4, 5, 7])
def test_capped_counts_keep_at_most_so_many_of_each_cell(most):
    assert measured().capped_sum(GRID, most, 10**8) == min(5, most) + min(2, most) + min(1, most)


def test_gradients_have_the_noise_of_a_batch_of_which_every_box_changes():
    """A clipped gradient that turns round changes a sum by twice ``clip``."""
    size, batch, clip = 40_000, 4, 3.0
    terms = Terms(Fraction(1), PrivacyUnit("record"), delta=DELTA)
    private = Measurements(PointSource(Points(CITY, XY)), terms, SystemEntropy())
    how = {"steps": 1, "size": size, "batch": batch, "clip": clip}
    found = private.gradients(GRID.boxes(), 1.0, **how, epsilon=1)
    noise = found.sum(np.arange(4), np.zeros(4), np.zeros((4, size)))
    std = 2 * batch * clip * noise_multiplier(Fraction(1), DELTA, 1)
    assert noise.std() == pytest.approx(std, rel=0.03)


def test_a_cost_that_no_float_can_tell_from_the_rest_is_refused():
    private = measured(1)
    with pytest.raises(BudgetExceeded):
        private.histogram(GRID, 1 + Fraction(1, 2**60))
    assert private.left == 1
