from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from snhkit import builders
from snhkit.builders import (
    AdaptiveGrid,
    HierarchicalGrid,
    Identity,
    Privelet,
    PrivTree,
    QuadTree,
    UniformGrid,
)
from snhkit.builders.base import publish
from snhkit.dataset import PrivateDataset
from snhkit.errors import BudgetExceeded, InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region
from snhkit.models.grid_model import GridModel
from snhkit.neural import DPSGD, DenoisedGrid
from snhkit.privacy import (
    Budget,
    PrivacyUnit,
    Spend,
    SystemEntropy,
    epsilon_of,
    rho_of,
    written,
)
from snhkit.privacy.spend import total


def dataset(records, **changes) -> PrivateDataset:
    return PrivateDataset(records, **({"budget": 1, "unit": "record", "n_public": True} | changes))


class TestWhatMustBeSaid:
    def test_unit_has_no_default(self, records):
        with pytest.raises(TypeError, match="unit"):
            PrivateDataset(records, 1)

    def test_the_number_is_private_unless_it_is_said_to_be_public(self, records):
        assert not PrivateDataset(records, 1, unit="record").unit.n_public

    @pytest.mark.parametrize("old", ["public", "private"])
    def test_the_old_spelling_is_refused_with_the_new(self, records, old):
        with pytest.raises(InputError, match=r"n_public=True for n='public'"):
            PrivateDataset(records, 1, unit="record", n=old)

    def test_epsilon_has_no_default(self, records):
        with pytest.raises(TypeError, match="epsilon"):
            dataset(records).release(Identity(30))

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"n_public": 300}, "n_public must be true or false, not 300"),
            ({"unit": "row"}, "unit must be 'record' or 'user', or .* not 'row'"),
            ({"unit": "user"}, "needs max_per_user"),
            ({"max_per_user": 3}, "takes no max_per_user"),
            ({"budget": 0}, "greater than 0"),
            ({"budget": float("inf")}, "finite"),
        ],
    )
    def test_wrong_words_are_named(self, records, changes, told):
        with pytest.raises(InputError, match=told):
            dataset(records, **changes)

    def test_users_must_be_known(self, records):
        nobody = Points(records.region, records.xy)
        with pytest.raises(InputError, match="needs the user of each record"):
            dataset(nobody, unit="user", max_per_user=3)


class TestN:
    def test_public(self, records):
        assert dataset(records).n == 300

    def test_private(self, records):
        data = dataset(records, n_public=False)
        with pytest.raises(InputError, match="number of records is private"):
            _ = data.n
        release = data.release(UniformGrid(), epsilon=1)
        assert release.spends[0] == Spend(Fraction(1, 20), "number of records")

    @pytest.mark.parametrize("n_public", [True, False])
    def test_no_display_tells_it(self, records, n_public):
        data = dataset(records, n_public=n_public)
        data.release(Identity(30), epsilon="0.5")
        for text in (repr(data), data._repr_html_(), repr(data.ledger)):
            assert "300" not in text


class TestUser:
    def test_of_each_person_at_most_so_many_records_count(self, records):
        data = dataset(records, unit="user", max_per_user=3, budget=10**6)
        kept = np.minimum(np.bincount(records.user), 3).sum()
        assert data.n == kept < 300
        release = data.release(Identity(30), epsilon=10**6)  # no noise is left
        assert release.model.values.sum() == kept
        assert release.unit.sensitivity == 3

    def test_the_choice_is_made_once_and_is_secret(self, records):
        """Twice the same 40 x 3 of 300 records by chance: far below 1e-9."""
        boxes = RangeQueries.sample(records.region, 100, seed=1)
        one, other = (dataset(records, unit="user", max_per_user=3, budget=10**7) for _ in "ab")
        answers = [
            data.release(Identity(5), epsilon=10**6).answer(boxes) for data in (one, one, other)
        ]
        assert (answers[0] == answers[1]).all()
        assert (answers[0] != answers[2]).any()


class TestBudget:
    def test_it_adds_up_exactly_and_then_refuses(self, records):
        data = dataset(records, budget=Budget("0.3"))
        for _ in range(3):
            data.release(Identity(100), epsilon=0.1)
        assert data.ledger.remaining == 0
        with pytest.raises(BudgetExceeded, match=r"asked 0\.01, left 0, short by 0\.01"):
            data.release(Identity(100), epsilon=0.01)
        assert len(data.ledger.entries) == 3

    def test_what_is_too_dear_looks_at_nothing(self, records):
        @dataclass(frozen=True)
        class Spy:
            def check(self, region, terms):
                pass

            def build(self, private):
                pytest.fail("looked at the records")

        data = dataset(records)
        with pytest.raises(BudgetExceeded, match=r"Spy: asked 1\.5, left 1, short by 0\.5"):
            data.release(Spy(), epsilon=1.5)

    def test_no_noise_is_drawn_before_the_charge(self, records, monkeypatch):
        def drawn(*_):
            pytest.fail("drew noise")

        data = dataset(records, n_public=False)
        monkeypatch.setattr(SystemEntropy, "words", drawn)
        with pytest.raises(BudgetExceeded, match="Nothing was looked at"):
            data.release(UniformGrid(), epsilon=1.5)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("epsilon", Fraction(1, 4)),
            ("spends", (Spend(Fraction(1, 2), "something else"),)),
            ("unit", PrivacyUnit("user", 3)),
            ("n", 299),
            ("replayable", True),
            ("region", Region.around(lat=45, lon=7, side_m=401)),
        ],
    )
    def test_a_builder_that_states_what_was_not_measured_hands_over_nothing(
        self, records, name, value
    ):
        @dataclass(frozen=True)
        class Liar(Identity):
            def build(self, private):
                release = super().build(private)
                thing = release.model if name == "region" else release
                if name == "region":
                    object.__setattr__(thing, "grid", Grid(value, release.model.grid.m))
                else:
                    object.__setattr__(thing, name, value)
                return release

        data = dataset(records)
        with pytest.raises(InputError, match=rf"a release whose '{name}' differs from the"):
            data.release(Liar(30), epsilon="0.5")
        assert [(e.state, e.epsilon) for e in data.ledger.entries] == [("failed", Fraction(1, 2))]

    def test_a_builder_that_draws_fifty_times_pays_fifty_times(self, records):
        @dataclass(frozen=True)
        class Greedy(Identity):
            times: int = 50

            def build(self, private):
                for _ in range(self.times - 1):
                    private.histogram(Grid(private.region, 2), Fraction(1, 100))
                return super().build(private)

        data = dataset(records, budget=10)
        release = data.release(Greedy(30), epsilon="0.5")
        assert len(release.spends) == 50
        assert release.epsilon == Fraction(1, 2)
        with pytest.raises(BudgetExceeded, match=r"asked 0\.01, left 0, short by 0\.01"):
            data.release(Greedy(30, times=60), epsilon="0.5")

    @pytest.mark.parametrize("returned", [None, 3, "release"])
    def test_a_builder_that_returns_no_release(self, records, returned):
        @dataclass(frozen=True)
        class Careless(Identity):
            def build(self, private):
                super().build(private)
                return returned

        data = dataset(records)
        with pytest.raises(InputError, match="not a Release"):
            data.release(Careless(30), epsilon=1)
        assert data.ledger.entries[0].state == "failed"

    def test_a_builder_cannot_keep_the_measurements_for_later(self, records):
        kept = []

        @dataclass(frozen=True)
        class Keeper(Identity):
            def build(self, private):
                kept.append(private)
                private.histogram(Grid(private.region, 2), private.epsilon / 2)
                return publish(self, private, GridModel(Grid(private.region, 1), np.zeros((1, 1))))

        release = dataset(records).release(Keeper(30), epsilon=1)
        assert release.epsilon == Fraction(1, 2)
        with pytest.raises(InputError, match="the build has ended"):
            kept[0].histogram(Grid(records.region, 2), Fraction(1, 2))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        *(({"epsilon": bad}, "epsilon") for bad in (0, -1, float("nan"), "much", True)),
        ({"epsilon": "0.0000000000001"}, "too small"),
        *(({"seed": bad}, "seed must be a whole number") for bad in (-1, 0.5, True, "7")),
        (
            {"public": Points(Region.around(lat=45, lon=7, side_m=401), [[1, 1]])},
            "another region",
        ),
        ({"delta": "1e-6"}, "needs a budget with a delta, such as"),
    ],
    ids=str,
)
def test_what_is_refused_is_refused_before_payment(records, changes, told):
    data = dataset(records)
    with pytest.raises(InputError, match=told):
        data.release(Identity(30), **({"epsilon": 1} | changes))
    assert data.ledger.entries == ()


@pytest.mark.parametrize("name", ["unit", "ledger", "n", "region"])
def test_the_terms_of_a_dataset_cannot_be_reassigned(records, name):
    data = dataset(records)
    before = getattr(data, name)
    with pytest.raises(AttributeError):
        setattr(data, name, PrivacyUnit("user", 1))
    assert getattr(data, name) == before


def test_moved_records_do_not_change_the_data(records):
    xy = records.xy.copy()
    data = dataset(Points(records.region, xy), budget=10**7)
    xy[:] = 1
    corner = RangeQueries(records.region, [0], [0], [5], [5])
    assert data.release(Identity(5), epsilon=10**6).answer(corner)[0] < 300


def test_a_path_is_no_records_and_a_name_no_builder():
    with pytest.raises(InputError, match="as read_points returns them, not a str"):
        PrivateDataset("trips.csv", budget=1, unit="record", n_public=True)  # pyright: ignore
    city = Region.around(lat=37.76, lon=-122.43, side_m=1_000)
    data = PrivateDataset(Points(city, [[1, 1]]), budget=1, unit="record", n_public=True)
    with pytest.raises(InputError, match=r"such as UniformGrid\(\), not"):
        data.release(UniformGrid, epsilon=1)  # pyright: ignore
    with pytest.raises(InputError, match="no such method"):
        data.release("no such method", epsilon=1)
    assert not data.ledger.entries


class TestGaussianNoise:
    def approximate(self, records, **changes) -> PrivateDataset:
        return dataset(
            records, **({"budget": Budget(1, delta="1e-6"), "n_public": False} | changes)
        )

    @pytest.mark.parametrize(
        "builder",
        [Identity(100), Identity(), UniformGrid(), QuadTree(), HierarchicalGrid()],
    )
    def test_what_a_release_spends_is_the_rho_of_its_epsilon_and_delta(self, records, builder):
        data = self.approximate(records)
        release = data.release(builder, epsilon="0.5", delta="1e-6")
        assert (release.epsilon, release.delta) == (Fraction(1, 2), Fraction(1, 10**6))
        assert total(release.spends).rho == release.rho == rho_of(release.epsilon, release.delta)
        assert not total(release.spends).epsilon
        entry = data.ledger.entries[0]
        assert (entry.epsilon, entry.delta, entry.rho) == (
            release.epsilon, release.delta, release.rho,
        )  # fmt: skip
        assert release.price == "ε = 0.5, δ = 0.000001"

    def test_releases_add_up_as_rho_does(self, records):
        data = self.approximate(records)
        rho = rho_of(Fraction(1, 4), Fraction(1, 10**6))
        for _ in range(4):
            data.release(Identity(100), epsilon="0.25", delta="1e-6")
        assert data.ledger.spent == epsilon_of(4 * rho, Fraction(1, 10**6))
        assert Fraction(1, 2) < data.ledger.spent < Fraction(11, 20)  # and not 1
        data.release(Identity(100), epsilon=data.ledger.remaining, delta="1e-6")
        assert 0 <= data.ledger.remaining < Fraction(1, 1000)
        with pytest.raises(
            BudgetExceeded, match=r"costs a rho \(zCDP\) of .* Nothing was looked at"
        ):
            data.release(Identity(100), epsilon="0.1", delta="1e-6")

    def test_a_pure_release_costs_half_of_its_square(self, records):
        data = self.approximate(records)
        release = data.release(PrivTree(), epsilon="0.1")
        assert (release.rho, release.delta) == (0, 0)
        assert data.ledger.entries[0].rho == Fraction(1, 200)

    @pytest.mark.parametrize("builder", [PrivTree(), AdaptiveGrid(), DenoisedGrid(), Privelet()])
    def test_a_method_without_it_names_those_with_it(self, records, builder):
        data = self.approximate(records)
        with pytest.raises(InputError, match=r"Laplace noise only.* use Identity"):
            data.release(builder, epsilon="0.5", delta="1e-6")
        assert not data.ledger.entries

    def test_those_that_are_named_are_those_that_work(self):
        able = {
            name for name in builders.__all__ if getattr(getattr(builders, name), "gaussian", False)
        }
        assert able == {"Identity", "UniformGrid", "QuadTree", "HierarchicalGrid"}

    def test_a_demonstration_with_a_delta_of_its_own_is_refused(self, records):
        with pytest.raises(InputError, match="the cost of its noise in zCDP is unknown"):
            self.approximate(records).release(DPSGD((10, 40)), epsilon="0.5")

    @pytest.mark.parametrize("delta", [1, -0.1, "x", float("nan"), 2])
    def test_a_delta_out_of_range(self, records, delta):
        with pytest.raises(InputError, match="delta must be"):
            self.approximate(records).release(Identity(100), epsilon="0.5", delta=delta)
        with pytest.raises(InputError, match="delta must be"):
            Budget(1, delta=delta)

    def test_where_n_is_public_a_replaced_record_doubles_rho(self, records):
        data = self.approximate(records, n_public=True)
        release = data.release(Identity(100), epsilon="0.5", delta="1e-6")
        doubled = epsilon_of(2 * release.rho, release.delta)
        assert Fraction(7, 10) < doubled < Fraction(3, 4)
        assert release.card()["Privacy"].startswith(f"epsilon = {written(doubled)}, delta = ")
        assert "replaced by another; n is public" in release.card()["Privacy"]

    def test_a_person_gets_the_noise_of_all_records_in_one_cell(self, records):
        one = self.approximate(records).release(Identity(100), epsilon="0.5", delta="1e-6")
        data = self.approximate(records, unit="user", max_per_user=4)
        four = data.release(Identity(100), epsilon="0.5", delta="1e-6")
        whole = RangeQueries(records.region, [0], [0], [100], [100])
        assert four.noise_sd(whole) == pytest.approx(4 * one.noise_sd(whole), rel=1e-6)

    def test_an_epsilon_too_small_for_noise_is_refused_before_it_is_paid(self, records):
        data = self.approximate(records)
        with pytest.raises(InputError, match="too small"):
            data.release(Identity(100), epsilon="1e-17", delta="1e-17")
        assert not data.ledger.entries

    def test_a_builder_cannot_claim_another_delta(self, records):
        @dataclass(frozen=True)
        class Modest:
            gaussian = True

            def check(self, region, terms): ...

            def build(self, private):
                made = Identity(100).build(private)
                return replace(made, delta=made.delta / 2)

        data = self.approximate(records)
        with pytest.raises(InputError, match="whose 'delta' differs from"):
            data.release(Modest(), epsilon="0.5", delta="1e-6")
        assert data.ledger.entries[0].state == "failed"

    def test_a_measurement_without_gaussian_noise_stays_closed(self, records):
        @dataclass(frozen=True)
        class Splits:
            gaussian = True

            def check(self, region, terms): ...

            def build(self, private):
                private.splits(3, 10, private.left)

        with pytest.raises(InputError, match="splits: works with Laplace noise only"):
            self.approximate(records).release(Splits(), epsilon="0.5", delta="1e-6")


def test_a_method_may_be_given_by_its_short_name(records):
    data = dataset(records, n_public=True)
    assert data.release("identity", epsilon="0.5").hyperparameters == {"cell_m": None}
    assert repr(data).endswith("left=0.5 of 1)")
    with pytest.raises(InputError, match=r"there is no method 'identty'.* Did you mean identity"):
        data.release("identty", epsilon="0.5")
    assert data.ledger.remaining == Fraction(1, 2)
