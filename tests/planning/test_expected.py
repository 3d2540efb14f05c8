"""Errors told before paying: what the table holds, and how it is read."""

import math
from dataclasses import replace
from importlib import import_module
from inspect import signature

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.markup import percent
from snhkit.methods import METHODS
from snhkit.metrics import SIZE_BANDS_M
from snhkit.planning import plan_table
from snhkit.planning.expected import _up
from snhkit.planning.table import PLANNED, Situation, crowding, regressors, sparsity

CITY = snh.Region.around(lat=0, lon=0, side_m=10_000)

recommending = import_module("snhkit.planning.recommend")


def expected(methods="identity", **changes):
    return snh.expected_error(methods, **{"n": 100_000, "epsilon": "0.2"} | changes)


TOWN = snh.city("milwaukee").region
PUBLIC = snh.Points(TOWN, np.random.default_rng(3).normal(6_000, 1_500, (5_000, 2)))
ASKED = {"n": 100_000, "epsilon": "0.2", "sizes_m": (25, 100)}
OTHER = {
    "n": {"n": 30_000},
    "epsilon": {"epsilon": "0.5"},
    "sizes_m": {"sizes_m": (300, 1_000)},
    "public": {"public": PUBLIC},
    "region": {"region": snh.Region.around(lat=0, lon=0, side_m=7_000)},
    "unit": {"unit": "user", "max_per_user": 3},
    "max_per_user": {"unit": "user", "max_per_user": 4},
    "by": {"by": snh.By.hour()},
    "measure": {"measure": "abs_error_anywhere"},
}


class TestArguments:
    @pytest.mark.parametrize(
        ("ask", "given"),
        [
            (lambda **given: snh.expected_error(["ug", "denoised"], **given).to_json(), ASKED),
            (lambda **given: snh.epsilon_for("ug", 0.6, **given), {"n": 100_000}),
            (lambda **given: snh.recommend(**given).evidence.to_json(), ASKED),
        ],
    )
    def test_none_is_lost(self, ask, given):
        """Each argument that is changed alone gives another result."""
        names = (snh.expected_error, snh.epsilon_for, snh.recommend)
        assert set(OTHER) == {name for f in names for name in signature(f).parameters} - {
            "methods", "name", "wanted",
        }  # fmt: skip
        found = {"": ask(**given)}
        for name, changes in OTHER.items():
            try:
                found[name] = ask(**given | changes)
            except TypeError:  # it has no such argument
                assert name in ("measure", "epsilon")
        assert len(set(found.values())) == len(found) >= 9


class TestCrowding:
    def test_worked_by_hand(self):
        # 60 points in one cell of 50 m; 40 in another cell of 200 m that shares the 800 m cell.
        points = snh.Points(CITY, [[10, 10]] * 60 + [[410, 410]] * 40)
        pairs = 100 * 99
        alone = math.log((60 * 59 + 40 * 39) / pairs)
        assert crowding(points) == pytest.approx([alone, alone, 0])

    def test_half_a_pair_is_assumed_where_no_two_points_share_a_cell(self):
        places = np.stack(np.meshgrid(np.arange(10), np.arange(10)), axis=-1).reshape(-1, 2)
        apart = snh.Points(CITY, 1_000.0 * places)
        assert crowding(apart) == pytest.approx([math.log(0.5 / (100 * 99))] * 3)

    def test_a_sample_has_the_crowding_of_all(self):
        points = snh.synthetic_points("chicago", 40_000)
        some = snh.Points(points.region, points.xy[:4_000])
        assert crowding(some) == pytest.approx(crowding(points), abs=0.05)

    def test_even_points_have_the_probability_of_a_cell(self):
        even = snh.Points(CITY, np.random.default_rng(0).uniform(0, 10_000, (20_000, 2)))
        found = np.exp(crowding(even))
        assert found == pytest.approx([(w / 10_000) ** 2 for w in (50, 200, 800)], rel=0.05)

    @pytest.mark.parametrize("measure", [crowding, sparsity])
    def test_too_few_points_are_refused(self, measure):
        with pytest.raises(InputError, match="public holds 99 points"):
            measure(snh.Points(CITY, [[1.0, 1.0]] * 99))


class TestSparsity:
    def test_worked_by_hand(self):
        # Nine tenths of the squares hold nine tenths of the points, the others hold one tenth.
        points = snh.Points(CITY, [[10, 10]] * 90_000 + [[9_990, 9_990]] * 10_000)
        expected = math.log(0.9 / 0.9 + 0.1 / 0.1)
        assert sparsity(points) == pytest.approx([expected] * 4, abs=0.1)

    def test_a_share_is_at_least_a_thousandth(self):
        alone = snh.Points(CITY, np.random.default_rng(0).uniform(0, 10_000, (5_000, 2)))
        assert sparsity(alone)[0] == pytest.approx(math.log(1_000))

    def test_squares_fit_small_regions(self):
        city = snh.Region.around(lat=0, lon=0, side_m=3_300)
        assert sparsity(snh.Points(city, [[10.0, 10.0]] * 100)) == pytest.approx([0] * 4)


def test_the_variables_of_the_model_by_hand():
    middle = np.exp(8), 13_200.0, np.array([[-6.0, -5.0, -3.3]]), np.array([5.0])
    away = np.exp(9), 13_200.0 * np.e, np.array([[-5.0, -3.0, -0.3]]), np.array([7.0])
    assert regressors("identity", *middle)[0] == pytest.approx([1] + [0] * 8)
    assert regressors("identity", *away)[0] == pytest.approx([1, 1, 1, 1, 1, 2, 3, 2, 2])
    assert regressors("ug", *middle)[0] == pytest.approx([1, 0, 0, 0])
    assert regressors("ug", *away)[0] == pytest.approx([1, 1, -1, 2])


class TestExpected:
    @pytest.mark.parametrize("name", ["identity", "privtree"])
    def test_the_formula_is_applied(self, name):
        public = snh.synthetic_points("milwaukee", 5_000)
        row = expected(name, public=public).iloc[0]
        fits = plan_table()["fits"]
        given = 20_000, public.region.side_m, crowding(public)[None], sparsity(public)[:1]
        middle = sum(
            (regressors(each, *given) @ np.array(fits[each]["25"]["rel_error"]["coefficients"]))[0]
            for each in {"identity", name}
        )
        spread = fits[name]["25"]["rel_error"]["spread"]
        assert row.rel_error == pytest.approx(math.exp(middle))
        assert row.rel_error_high == pytest.approx(math.exp(middle + spread))
        assert row.outside == ""

    def test_without_public_points_the_range_covers_the_cities(self):
        row = expected().iloc[0]
        public = snh.synthetic_points("milwaukee", 5_000)
        told = expected(public=public).iloc[0]
        assert row.rel_error_high / row.rel_error_low > told.rel_error_high / told.rel_error_low
        assert row.rel_error_low < row.rel_error < row.rel_error_high

    def test_without_public_points_the_places_are_those_of_the_nearest_side(self):
        places = [p for p in plan_table()["places"] if p["family"] != "synthetic"]
        for side_m, measured in ((6_000, 6_600), (9_200, 6_600), (9_500, 13_200), (None, 13_200)):
            region = side_m and snh.Region.around(lat=0, lon=0, side_m=side_m)
            found = Situation.of(1_000, region=region).crowdings.tolist()
            assert found == [p["crowding"] for p in places if p["side_m"] == measured]

    def test_all_bands_and_sizes_between_them(self):
        table = expected(sizes_m=None)
        assert list(zip(table.from_m, table.to_m, strict=True)) == list(SIZE_BANDS_M)
        between = expected(sizes_m=(60, 200)).iloc[0].abs_error_anywhere
        assert table.abs_error_anywhere[0] < between < table.abs_error_anywhere[1]

    def test_more_records_and_more_epsilon_mean_smaller_errors(self):
        at = [expected(["identity", "privtree"], epsilon=e).rel_error for e in (0.05, 0.2, 0.8)]
        assert (at[0] > at[1]).all()
        assert (at[1] > at[2]).all()
        assert expected(n=300_000).rel_error[0] < expected(n=20_000).rel_error[0]

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"methods": "uug"}, "there is no method 'uug'"),
            ({"methods": "dpsgd"}, "DP-SGD was not measured"),
            ({"n": 0}, "n must be a whole number"),
            ({"n": 10**400}, "n must be a whole number from 1 to"),
            ({"unit": "user"}, "max_per_user"),
            ({"max_per_user": 3}, "max_per_user"),
            ({"epsilon": 0}, "epsilon must be"),
            ({"sizes_m": (1, 2)}, "sizes_m must be"),
            (
                {
                    "public": snh.Points(CITY, [[1, 1]] * 100),
                    "region": snh.Region.around(0, 0, 900),
                },
                "another region",
            ),
        ],
    )
    def test_what_the_table_does_not_hold_is_refused(self, changes, match):
        with pytest.raises(InputError, match=match):
            expected(**changes)

    def test_all_errors_fall_with_epsilon_over_the_whole_range(self):
        """For the places of the table and every method; Identity's is flat where it is least."""
        low, high = plan_table()["ranges"]["n_epsilon"]
        names = list(plan_table()["fits"])
        tables = [
            snh.expected_error(names, n=100_000, epsilon=f"{product / 1e5:.6f}", sizes_m=None)
            for product in np.geomspace(low * 1.01, high * 0.99, 12)
        ]
        for measure in PLANNED:
            errors = np.array([table[measure] for table in tables])
            assert (np.diff(errors, axis=0) < 0).mean() > 0.98, measure

    @pytest.mark.parametrize(
        ("changes", "inside", "says"),
        [
            ({"n": 10**9}, {"epsilon": "0.5"}, "n times epsilon per record is 2e+08"),
            ({"n": 5}, {}, "n times epsilon per record is 1; errors at 62, the nearest"),
            ({"n": 5, "by": snh.By.hour()}, {}, "n times epsilon per record is 0.2;"),
            ({"region": snh.Region.around(0, 0, 900)}, {}, "regions 900 m wide were not measured"),
            ({"public": snh.Points(CITY, [[9, 9]] * 500)}, {}, "more clustered than all measured"),
        ],
    )
    def test_what_was_not_measured_is_clamped_and_said(self, changes, inside, says):
        row = expected(**changes).iloc[0]
        assert says in row.outside
        assert 0 < row.rel_error_low < row.rel_error < row.rel_error_high < 20
        assert says in snh.recommend(**{"n": 100_000, "epsilon": "0.2"} | changes).reason

    def test_records_per_person_divide_epsilon(self):
        """Five records of each person have five times the noise."""
        alone = expected("ug", epsilon="0.1").iloc[0]
        people = expected("ug", epsilon="0.5", unit="user", max_per_user=5).iloc[0]
        assert people.rel_error == alone.rel_error
        assert people.epsilon == 0.5
        wanted = snh.epsilon_for("ug", 0.5, n=100_000)
        for_people = snh.epsilon_for("ug", 0.5, n=100_000, unit="user-day", max_per_user=5)
        assert for_people == pytest.approx(5 * wanted, rel=0.1)

    def test_releases_of_a_new_place_err_as_expected(self):
        """One release on a synthetic city that was not measured."""
        records = snh.synthetic_points("chicago", 60_000, seed=2)
        public = snh.synthetic_points("chicago", 8_000, seed=9)
        data = snh.PrivateDataset(records, 1, unit="record", n_public=True)
        release = data.release(snh.PrivTree(), epsilon="0.2", seed=0)
        sizes = snh.compare_sizes({"": release}, truth=records)
        table = expected("privtree", n=60_000, sizes_m=None, public=public)
        for measure in ("rel_error", "abs_error_anywhere"):
            ratio = sizes[measure].to_numpy() / table[measure].to_numpy()
            assert np.exp(np.log(ratio).mean()) == pytest.approx(1, abs=0.4)


class TestEpsilonFor:
    @pytest.mark.parametrize("measure", PLANNED)
    def test_is_the_least_epsilon_for_the_error(self, measure):
        given = {"n": 100_000, "sizes_m": (100, 300)}
        wanted = float(expected("hb2d", **given)[measure][0])
        epsilon = snh.epsilon_for("hb2d", wanted, measure=measure, **given)
        assert 0.17 < epsilon < 0.24
        assert expected("hb2d", epsilon=epsilon, **given)[measure][0] <= wanted
        assert expected("hb2d", epsilon=epsilon * 0.93, **given)[measure][0] > wanted

    @pytest.mark.parametrize("n", [300, 10**8])
    def test_lies_where_errors_were_measured(self, n):
        low, high = plan_table()["ranges"]["n_epsilon"]
        assert low <= n * snh.epsilon_for("ug", 100, n=n) <= high

    @pytest.mark.parametrize(("epsilon", "rounded"), [(0.1201, 0.13), (0.12, 0.12), (7.01, 7.1)])
    def test_an_epsilon_is_rounded_up_to_two_digits(self, epsilon, rounded):
        assert _up(epsilon) == rounded

    def test_an_error_that_no_epsilon_gives_is_refused_with_the_least(self):
        with pytest.raises(InputError, match=r"UG: no epsilon .* the smallest is 0\.\d+"):
            snh.epsilon_for("ug", 0.001, n=5_000)
        with pytest.raises(InputError, match="wanted must be a positive"):
            snh.epsilon_for("ug", 0, n=5_000)
        with pytest.raises(InputError, match="measure must be one of"):
            snh.epsilon_for("ug", 1, n=5_000, measure="bytes")


class TestRecommend:
    def test_names_the_least_error_and_shows_all(self):
        found = snh.recommend(100_000, "0.2", (300, 1_000))
        assert found.evidence.rel_error.is_monotonic_increasing
        assert found.method == found.evidence.method[0]
        assert not METHODS[found.method].slow
        within = found.evidence.rel_error <= 1.1 * found.evidence.rel_error[0]
        assert found.close == tuple(found.evidence.method[within])[1:]
        assert f"{found.evidence.rel_error[0]:.3g}" in repr(found)
        assert "public data sets" in found._repr_html_()

    def test_what_must_not_be_published_is_not_recommended(self, monkeypatch):
        best = snh.recommend(100_000, "0.2").method
        methods = {**METHODS, best: replace(METHODS[best], demonstration=True)}
        monkeypatch.setattr(recommending, "METHODS", methods)
        assert best not in set(snh.recommend(100_000, "0.2").evidence.method)

    def test_prospects_are_the_least_errors_of_each_epsilon_and_size(self):
        terms = {"unit": "user", "max_per_user": 3}
        rows = dict(recommending.prospects(100_000, **terms))
        assert list(rows) == ["0.1", "0.2", "0.5", "1", "2"]
        for text, band in zip(rows["0.5"], SIZE_BANDS_M, strict=True):
            least = snh.recommend(100_000, "0.5", band, **terms).evidence["rel_error"].min()
            assert text == percent(least)

    def test_the_measure_decides(self):
        other = snh.recommend(100_000, "0.2", measure="abs_error_anywhere")
        assert other.evidence.abs_error_anywhere.is_monotonic_increasing
        with pytest.raises(InputError, match="measure must be"):
            snh.recommend(100_000, "0.2", measure="speed")

    def test_a_data_set_plans_for_itself(self):
        points = snh.synthetic_points("milwaukee", 5_000)
        known = snh.PrivateDataset(points, 1, unit="record", n_public=True)
        same = snh.recommend(5_000, "0.4", (100, 300), region=points.region)
        assert known.plan((100, 300), epsilon="0.4").evidence.equals(same.evidence)
        owners = snh.Points(points.region, points.xy, np.arange(5_000) // 2)
        data = snh.PrivateDataset(owners, 1, unit="user", max_per_user=2, n_public=False)
        for more in ({}, {"public": PUBLIC, "by": snh.By.weekday()}):
            found = data.plan((100, 300), epsilon="0.4", n=5_000, **more)
            same = snh.recommend(
                5_000, "0.4", (100, 300), region=points.region, unit="user", max_per_user=2, **more
            )
            assert found.evidence.equals(same.evidence)
            assert found.split == same.split
        assert data.ledger.spent == 0
        with pytest.raises(InputError, match="give plan a rough n"):
            data.plan(epsilon="0.4")
        with pytest.raises(snh.BudgetExceeded, match=r"asked 1\.5, left 1"):
            data.plan(epsilon="1.5", n=5_000)
        with pytest.raises(InputError, match="records of this dataset"):
            data.plan(epsilon="0.4", n=5_000, public=points)


def test_the_table_tells_where_it_comes_from():
    told = plan_table()["provenance"]
    assert told["command"].startswith("python benchmarks/plan_table.py")
    assert set(plan_table()["fits"]) <= set(METHODS)
    assert len({place["place"] for place in plan_table()["places"]}) == told["places"]
    assert len({place["family"] for place in plan_table()["places"]}) >= 5


def test_a_builder_with_its_defaults_is_its_short_name():
    by_name = snh.expected_error("identity", n=200_000, epsilon=0.2)
    assert snh.expected_error(snh.Identity(), n=200_000, epsilon=0.2).equals(by_name)
    wanted = snh.epsilon_for("ug", 0.5, n=200_000)
    assert snh.epsilon_for(snh.UniformGrid(), 0.5, n=200_000) == wanted
    with pytest.raises(InputError, match=r"Identity\(cell_m=30\) is no method with its usual"):
        snh.expected_error(snh.Identity(cell_m=30), n=200_000, epsilon=0.2)


def test_a_stratum_has_its_share_of_the_records_and_the_split_has_a_price():
    by = snh.By.hour()
    divided = snh.expected_error("identity", n=240_000, epsilon=0.2, by=by)
    assert divided.equals(snh.expected_error("identity", n=10_000, epsilon=0.2))
    asked = {"epsilon": 0.2, "sizes_m": (25, 100)}
    assert snh.epsilon_for("ug", 0.5, n=70_000, by=snh.By.weekday()) == snh.epsilon_for(
        "ug", 0.5, n=10_000
    )
    found = snh.recommend(24_000, by=by, **asked)
    alone, divided = (
        frame.set_index("method")["rel_error"]
        for frame in (snh.recommend(1_000, **asked).evidence, found.evidence)
    )
    ratio = divided / alone
    assert set(ratio.drop("denoised").round(12)) == {1.0}
    assert ratio["denoised"] < 1  # its strata share a map of all of them
    some = snh.By.hour(12)  # too few to share one
    assert snh.expected_error("denoised", n=2_000, by=some, **asked).equals(
        snh.expected_error("denoised", n=1_000, **asked)
    )
    steps = [f"hour:{step}" for step in (2, 3, 4, 6, 8, 12)]
    assert list(found.split) == ["hour", *steps, "one map"]
    assert sorted(found.split.values(), reverse=True) == list(found.split.values())
    name, error = next(each for each in found.split.items() if each[1] <= 0.5)
    assert f"mostly noise: {name} would be better, with {error:.3g}" in found.reason
    poor = snh.recommend(700, by=by, **asked)
    assert min(poor.split.values()) > 0.5
    assert f"mostly noise: one map would be better, with {poor.split['one map']:.3g}" in poor.reason
    rich = snh.recommend(24_000_000, by=by, **asked).reason
    assert "With strata by hour" in rich
    assert "mostly noise" not in rich
    assert "strata" not in snh.recommend(24_000, **asked).reason
