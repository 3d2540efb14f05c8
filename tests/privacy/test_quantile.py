"""A bound on the records of a person that is bought: its cost, its noise and what it shows."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import snhkit as snh
from snhkit.errors import BudgetExceeded, InputError
from snhkit.geometry import Points, Region
from snhkit.privacy import (
    NoisyContributions,
    NoisyQuantile,
    PrivacyUnit,
    Spend,
    SystemEntropy,
    contributions,
    read_ledger,
)
from snhkit.privacy import quantile as module

CITY = Region.around(lat=45, lon=7, side_m=400)
FALSE_ALARM = 1e-7
EXACT = 10**6
"""An epsilon at which noise is 0 but with a probability below 1e-400000."""


def people(*records: int) -> Points:
    """Return records in one place, of people with so many records each."""
    users = np.repeat(np.arange(len(records)), records)
    return Points(CITY, np.ones((users.size, 2)), users)


def dataset(records: Points, bound: NoisyQuantile, **changes) -> snh.PrivateDataset:
    terms = {"budget": 1, "unit": "user", "n_public": False} | changes
    return snh.PrivateDataset(records, max_per_user=bound, **terms)


class TestRanges:
    @pytest.mark.parametrize(
        ("most", "candidates"),
        [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (16, [1, 2, 4, 8, 16]), (20, [1, 2, 4, 8, 16, 20])],
    )
    def test_candidates_are_powers_of_two_and_the_largest(self, most, candidates):
        assert NoisyQuantile(0.9, 1, most).candidates.tolist() == candidates

    def test_each_person_is_counted_once(self):
        found = NoisyQuantile(0.9, 1, 6).ranges(np.array([1, 1, 2, 3, 4, 5, 6, 7, 900]))
        assert found.tolist() == [2, 1, 2, 2, 2]  # 1, 2, 3 to 4, 5 to 6, more

    @pytest.mark.parametrize("records", [1, 2, 3, 64, 65, 100_000])
    def test_a_person_changes_one_count_by_one(self, records):
        bound, others = NoisyQuantile(0.9, 1, 64), np.array([1, 5, 70, 70])
        change = bound.ranges(np.append(others, records)) - bound.ranges(others)
        assert np.abs(change).sum() == 1


@pytest.mark.chance(FALSE_ALARM)
def test_the_scale_of_the_noise_is_one_over_epsilon(laplace_p):
    """A scale that is wrong by a tenth is missed with probability below 1e-99."""
    bound = NoisyQuantile(0.9, Fraction(1, 5))
    noise = bound.measure(np.zeros(200_000, np.int64), SystemEntropy())[0].people
    assert laplace_p(noise, Fraction(5)) > FALSE_ALARM
    assert laplace_p(noise, Fraction(11, 2)) < FALSE_ALARM
    assert laplace_p(noise, Fraction(50, 11)) < FALSE_ALARM


class TestWhatIsComputed:
    """All numbers by hand, from noisy numbers alone."""

    FOUND = NoisyContributions(np.array([1, 2, 4]), np.array([50, 30, 18, 2]), Fraction(1, 2))

    @pytest.mark.parametrize(
        ("quantile", "bound"), [(0.5, 1), (0.51, 2), (0.8, 2), (0.81, 4), (0.98, 4), (1, 4)]
    )
    def test_the_bound_is_a_quantile(self, quantile, bound):
        assert self.FOUND.bound(quantile) == bound

    def test_counts_below_zero_do_no_harm(self):
        odd = NoisyContributions(np.array([1, 2]), np.array([-5, -3, -9]), Fraction(1))
        assert odd.bound(0.9) in (1, 2)
        table = odd.table(epsilon=1, count=10)
        assert table["dropped"].between(0, 1).all()
        assert table["dropped_std"].between(0, 1).all()

    def test_the_bias(self):
        table = self.FOUND.table(epsilon=2, count=1_000)
        total = 50 * 1 + 30 * 2 + 18 * 3.5 + 2 * 6
        assert table["max_per_user"].tolist() == [1, 2, 4]
        assert table["cut"].tolist() == [50, 20, 2]
        dropped = np.array([30 * 1 + 18 * 2.5 + 2 * 5, 18 * 1.5 + 2 * 4, 2 * 2]) / total
        assert table["dropped"].to_numpy() == pytest.approx(dropped)
        # The variance of one count at epsilon = 1/2, and the gradient of the last row's ratio.
        variance = 2 * np.exp(-0.5) / (1 - np.exp(-0.5)) ** 2
        gradient = (np.array([0, 0, 0, 2]) - dropped[2] * np.array([1, 2, 3.5, 6])) / total
        spread = np.sqrt(variance * (gradient**2).sum())
        assert table["dropped_std"].iloc[2] == pytest.approx(spread)
        assert table["error"].to_numpy() == pytest.approx(
            np.hypot(dropped * 1_000, table["noise"].to_numpy())
        )

    def test_the_columns_are_those_of_a_choice_on_public_data(self):
        """Without noise, and with people at the middle of their ranges, so are the numbers."""
        public = people(*[1] * 50, *[2] * 30)
        free = contributions(public, epsilon=2, count=10).set_index("max_per_user")
        bought = dataset(public, NoisyQuantile(1, EXACT, most=2), budget=EXACT).bought
        table = bought.table(epsilon=2, count=10).set_index("max_per_user")
        for name in free.columns:
            assert table[name].to_numpy() == pytest.approx(free[name].to_numpy()), name

    @pytest.mark.chance(FALSE_ALARM)
    def test_the_spread_is_that_of_the_noise(self):
        """The spread of 2,000 estimates lies within a fifth of the promised one.

        A sample deviation of 2,000 draws with the tails of Laplace noise errs by 2.5 %.
        """
        bound, true = NoisyQuantile(0.9, 1, 4), np.array([5_000, 3_000, 1_000, 100])
        estimates = [
            bound.measure(true, SystemEntropy())[0].table(1, 10)["dropped"][1] for _ in range(2_000)
        ]
        told = NoisyContributions(bound.candidates, true, Fraction(1)).table(1, 10)
        assert np.std(estimates) == pytest.approx(told["dropped_std"][1], rel=0.2)
        assert np.mean(estimates) == pytest.approx(told["dropped"][1], abs=told["dropped_std"][1])


class TestDataset:
    RECORDS = people(*[1] * 60, *[3] * 30, *[10] * 9, 500)

    @pytest.mark.parametrize(
        ("quantile", "most", "dropped"),  # of 60 + 30 * 3.5 + 9 * 12.5 + 24 = 301.5 records
        [(0.6, 1, 0.67), (0.9, 4, 0.32), (0.99, 16, 0.03), (1, 16, 0.03)],
    )
    def test_without_noise_the_bound_is_exact(self, quantile, most, dropped):
        bound = NoisyQuantile(quantile, EXACT, most=16)
        data = dataset(self.RECORDS, bound, budget=3 * EXACT)
        assert data.unit == PrivacyUnit("user", most, dropped=dropped)
        assert data.bought.people.tolist() == [60, 0, 30, 0, 9, 1]
        release = data.release(snh.Identity(400), epsilon=EXACT)
        kept = np.minimum([1] * 60 + [3] * 30 + [10] * 9 + [500], most).sum()
        assert release.model.values.sum() == kept
        assert release.unit.max_per_user == most

    def test_windows_are_units_of_their_own(self):
        days = Points(CITY, np.ones((6, 2)), [1] * 6, np.array([0, 0, 0, 1, 1, 2]) * 86_400)
        data = dataset(days, NoisyQuantile(1, EXACT), unit="user-day", budget=EXACT)
        assert data.bought.people.tolist() == [1, 1, 1, *[0] * 7]

    def test_the_ledger_has_an_entry_for_it(self, tmp_path):
        path = tmp_path / "trips.ledger"
        data = dataset(self.RECORDS, NoisyQuantile(0.9, "0.05"), ledger=path)
        (entry,) = read_ledger(path).entries
        told = "people by their number of records, 10 ranges"
        assert (entry.who, entry.epsilon, entry.state) == (
            "NoisyQuantile",
            Fraction(1, 20),
            "settled",
        )
        assert entry.spends == (Spend(Fraction(1, 20), told),)
        assert "500" not in repr(data) + repr(data.ledger)
        again = dataset(self.RECORDS, data.unit.max_per_user, budget=None, ledger=path)
        assert again.bought is None
        assert again.ledger.remaining == Fraction(19, 20)

    def test_in_zcdp_it_costs_half_of_the_square(self):
        budget = snh.Budget(1, delta="1e-6")
        data = dataset(self.RECORDS, NoisyQuantile(0.9, "0.1"), budget=budget)
        assert data.ledger.entries[0].rho == Fraction(1, 200)

    def test_what_exceeds_the_budget_draws_nothing(self, monkeypatch, tmp_path):
        monkeypatch.setattr(module, "discrete_laplace", None)
        with pytest.raises(BudgetExceeded, match=r"NoisyQuantile: asked 2, left 1"):
            dataset(self.RECORDS, NoisyQuantile(0.9, 2), ledger=tmp_path / "a.ledger")
        assert read_ledger(tmp_path / "a.ledger").spent == 0

    def test_the_charge_comes_before_the_noise_and_stays(self, monkeypatch, tmp_path):
        path = tmp_path / "a.ledger"

        def interrupted(*given):
            assert read_ledger(path).entries[0].state == "open"
            raise KeyboardInterrupt

        monkeypatch.setattr(module, "discrete_laplace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dataset(self.RECORDS, NoisyQuantile(0.9, "0.1"), ledger=path)
        (entry,) = read_ledger(path).entries
        assert (entry.state, entry.reason, entry.epsilon) == (
            "failed", "KeyboardInterrupt", Fraction(1, 10),
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"n_public": True}, "cannot be a NoisyQuantile if n is public"),
            ({"unit": "record"}, "takes no max_per_user"),
            ({"unit": "user-day"}, "needs the time of each record"),
        ],
    )
    def test_what_is_refused_costs_nothing(self, changes, told, tmp_path):
        with pytest.raises(InputError, match=told):
            dataset(self.RECORDS, NoisyQuantile(0.9, "0.1"), ledger=tmp_path / "a", **changes)
        if (tmp_path / "a").exists():
            assert read_ledger(tmp_path / "a").spent == 0

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ((0, 1), "quantile must be a positive number, not 0"),
            ((1.5, 1), r"quantile must be at most 1, such as 0.95, not 1\.5"),
            ((0.9, 0), "greater than 0"),
            ((0.9, 1, 0), "most must be a whole number from 1"),
            ((0.9, 1, 2**21), "most must be a whole number from 1"),
        ],
    )
    def test_wrong_numbers_are_named(self, given, told):
        with pytest.raises(InputError, match=told):
            NoisyQuantile(*given)


@pytest.mark.usefixtures("coarse_scans")
class TestScan:
    @pytest.fixture
    def table(self):
        lat, lon = CITY.to_latlon(TestDataset.RECORDS.xy)
        return pa.table({"lat": lat, "lon": lon, "user": TestDataset.RECORDS.user})

    def test_files_are_counted_as_in_memory(self, table):
        reports = []
        data = snh.PrivateDataset.scan(
            table, CITY, 3 * EXACT, unit="user", max_per_user=NoisyQuantile(0.9, EXACT, most=16),
            user="user", report=reports.append,
        )  # fmt: skip
        assert data.bought.people.tolist() == [60, 0, 30, 0, 9, 1]
        assert data.unit.max_per_user == 4
        assert data.release(snh.Identity(400), epsilon=EXACT).model.values.sum() == 60 + 90 + 40
        assert len(reports) == 1

    @pytest.mark.parametrize(("unit", "people"), [("user", [0, 1, 1]), ("user-day", [1, 2, 0])])
    def test_days_of_people_are_counted_apart(self, unit, people):
        """One person with one record on a day and two on another, and one with two on one day."""
        lat, lon = CITY.to_latlon(np.full((5, 2), 9.0))
        days = np.array(["2026-01-01", "2026-01-02", "2026-01-02", "2026-01-02", "2026-01-02"])
        table = pa.table({
            "lat": lat, "lon": lon, "user": [1, 1, 1, 2, 2], "t": days.astype("datetime64[s]"),
        })  # fmt: skip
        data = snh.PrivateDataset.scan(
            table, CITY, 3 * EXACT, unit=unit, max_per_user=NoisyQuantile(0.9, EXACT, most=2),
            user="user", time="t", report=lambda report: None,
        )  # fmt: skip
        assert data.bought.people.tolist() == people


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
