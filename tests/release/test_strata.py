"""Releases of strata: one epsilon, sums, files, and what a wrong file gets."""

import json
from fractions import Fraction

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

import snhkit as snh
from snhkit.errors import BudgetExceeded, InputError, ReleaseFileError
from snhkit.models import PackedGridModel
from snhkit.privacy import Spend
from snhkit.privacy.spend import in_strata, of_all
from snhkit.release.estimates import Estimates
from snhkit.release.intervals import Counted, cells_in_boxes, exact_bounds, usual_bounds
from snhkit.release.strata import drawn_together

pytestmark = pytest.mark.usefixtures("coarse_scans")
CITY = snh.Region.around(lat=37.76, lon=-122.43, side_m=2_000)
N = 4_000
BOXES = snh.RangeQueries(CITY, [0, 500], [0, 500], [2_000, 700], [2_000, 300])


def records(n=N):
    rng = np.random.default_rng(1)
    times = rng.integers(0, 30 * 86_400, n)
    return snh.Points(CITY, rng.uniform(0, 2_000, (n, 2)), rng.integers(0, 900, n), times)


@pytest.fixture(scope="module")
def data():
    return snh.PrivateDataset(records(), budget=100, unit="user", max_per_user=3)


@pytest.fixture(scope="module")
def day(data):
    return data.release("identity", epsilon=2, by=snh.By.hour(6), seed=3)


APART = ["1 for 2 strata by hour, in parallel"]
POOLED = ["0.4 for a map of all 7 strata by weekday", "0.6 for 7 strata by weekday, in parallel"]


@pytest.mark.parametrize(
    ("method", "cost"),
    [
        *(("ug", APART), ("privtree", APART), ("dawa", APART), ("denoised", POOLED)),
        (snh.DenoisedGrid(pool=0), ["1 for 7 strata by weekday, in parallel"]),
    ],
)
def test_any_method_is_built_for_each_stratum_at_one_epsilon(method, cost):
    data = snh.PrivateDataset(records(), budget=1, unit="user", max_per_user=3)
    day = data.release(method, epsilon=1, by=snh.By.hour(12) if cost is APART else snh.By.weekday())
    assert data.ledger.spent == 1
    assert [str(spend) for spend in data.ledger.entries[0].spends] == cost
    assert {float(day[label].epsilon) for label in day} == {1}
    with pytest.raises(BudgetExceeded):
        data.release("ug", epsilon="0.001", by=snh.By.hour(12))


@pytest.fixture
def spent_by_build(monkeypatch):
    """Return a list that gets the records, epsilon and noise of the terms of each build."""
    seen = []
    build = snh.DenoisedGrid.build

    def built(self, private):
        made = build(self, private)
        seen.append((private._source.n(), made.epsilon, sum(s.epsilon for s in made.spends)))
        return made

    monkeypatch.setattr(snh.DenoisedGrid, "build", built)
    return seen


def test_a_map_of_all_strata_and_those_of_the_strata_share_epsilon(spent_by_build):
    data = snh.PrivateDataset(records(), budget=1, unit="record", n_public=True)
    day = data.release("denoised", epsilon="0.5", by=snh.By.weekday())
    (n, first, cost), *rest = spent_by_build
    assert (n, first, cost) == (N, Fraction(1, 5), Fraction(1, 5))
    assert sum(n for n, *_ in rest) == N
    assert [(e, c) for _, e, c in rest] == [(Fraction(3, 10),) * 2] * 7
    assert day.card()["Paid for"] == (
        "0.2 for a map of all 7 strata by weekday; 0.3 for 7 strata by weekday, in parallel"
    )
    for made in day.values():
        assert made.epsilon == sum(spend.epsilon for spend in made.spends) == Fraction(1, 2)
        assert str(made.spends[0]) == "0.2 for a map of all 7 strata by weekday"
        assert "number of records" in made.card()["Paid for"]


def test_the_number_of_records_of_a_stratum_costs_more_of_fewer(spent_by_build):
    for n, low, high in ((300, 0.4, 0.4), (N, 0.1, 0.2)):
        data = snh.PrivateDataset(records(n), budget=10, unit="record")
        day = data.release("denoised", epsilon="0.5", by=snh.By.weekday(), seed=1)
        assert day["Mon"].spends[1].what == "number of records"
        assert low <= float(day["Mon"].spends[1].epsilon / Fraction("0.3")) <= high


def test_a_map_of_all_strata_is_one_of_the_kept_records_of_each_person(spent_by_build, tmp_path):
    lat, lon = CITY.to_latlon(records().xy)
    rows = pd.DataFrame({"lat": lat, "lon": lon, "who": records().user, "at": records().time})
    rows["at"] = pd.to_datetime(rows["at"], unit="s", utc=True)
    data = snh.PrivateDataset.scan(
        rows, CITY, 1, unit="user", max_per_user=2, user="who", time="at", spill=tmp_path
    )
    data.release("denoised", epsilon=1, by=snh.By.weekday())
    kept = rows["who"].value_counts().clip(upper=2).sum()
    (whole, *_), *rest = spent_by_build
    assert whole == sum(n for n, *_ in rest) == kept


def test_kinds_and_few_hours_share_no_map_of_all():
    lat, lon = CITY.to_latlon(records().xy)
    rows = pd.DataFrame({"lat": lat, "lon": lon, "kind": ["bike", "tram"] * (N // 2)})
    data = snh.PrivateDataset.scan(rows, CITY, 9, unit="record")
    for other, pool, costs in ((True, None, 1), (False, 0.4, 1), (True, 0.25, 2)):
        kinds = snh.By.column("kind", ["bike", "boat"], other=other)
        made = data.release(snh.DenoisedGrid(pool=pool), epsilon=1, by=kinds).total()
        assert len(made.spends) == costs
        assert sum(spend.epsilon for spend in made.spends) == 1
    timed = snh.PrivateDataset(records(), budget=9, unit="record")
    assert len(timed.release("denoised", epsilon=1, by=snh.By.hour(6)).total().spends) == 1


def test_all_strata_must_have_used_the_same_map_of_all():
    by, own = snh.By.hour(12), Spend(Fraction(1), "counts")
    shared = [of_all(by, [Spend(Fraction(e), "counts")]) for e in (1, 2)]
    told = in_strata(by, [(shared[0], own), (shared[0], own, own)])
    assert [spend.epsilon for spend in told] == [1, 2]
    for second in ((shared[1], own), (own,)):
        with pytest.raises(InputError, match="the same map of all"):
            in_strata(by, [(shared[0], own), second])
    with pytest.raises(InputError, match="one build"):
        in_strata(by, [(shared[0], own), ()])


def test_strata_hold_their_own_records(data):
    # With so large an epsilon, noise moves no count by 20, except once in e^(20 * 40 / 3) builds.
    exact = snh.PrivateDataset(records(), budget=1_000, unit="record")
    times = records().time % 86_400 // 21_600
    day = exact.release(snh.Identity(200), epsilon=40, by=snh.By.hour(6))
    found = day.estimate(BOXES)
    assert found["hour"].tolist() == [label for label in day.by.labels for _ in range(2)]
    assert found["count"][::2].to_numpy() == pytest.approx(np.bincount(times), abs=20)
    assert day.total().answer(BOXES)[0] == pytest.approx(N, abs=40)


def test_sums_over_strata_are_the_total(day):
    for asked in (BOXES, gpd.GeoSeries([shapely.box(-122.44, 37.755, -122.43, 37.76)], crs=4326)):
        total, each = day.total().estimate(asked), day.estimate(asked)
        count = each["count"].to_numpy().reshape(len(day), -1)
        np.testing.assert_allclose(total["count"], count.sum(axis=0))
        squares = each["noise_sd"].to_numpy().reshape(len(day), -1) ** 2
        np.testing.assert_allclose(total["noise_sd"], np.sqrt(squares.sum(axis=0)))
        assert np.all(total["low"] < total["count"])
        assert np.all(total["count"] < total["high"])
        areas = each["area_m2"].to_numpy().reshape(len(day), -1)
        np.testing.assert_array_equal(areas, np.broadcast_to(total["area_m2"], areas.shape))


def test_the_number_of_a_stratum_is_private_where_n_is_public():
    data = snh.PrivateDataset(records(), budget=1, unit="record", n_public=True)
    day = data.release("ug", epsilon=0.5, by=snh.By.weekday())
    assert day.total().n == N
    assert "2 x 0.5" in day.card()["Privacy"]
    for label in day:
        assert not day[label].unit.n_public
        assert "number of records" in day[label].card()["Paid for"]


def test_the_number_of_all_records_is_unknown_where_some_are_left_out():
    lat, lon = CITY.to_latlon(records().xy)
    rows = pd.DataFrame({"lat": lat, "lon": lon, "kind": ["bike", "tram"] * (N // 2)})
    data = snh.PrivateDataset.scan(rows, CITY, 9, unit="record", n_public=True)
    kinds = {other: snh.By.column("kind", ["bike", "boat"], other=other) for other in (True, False)}
    told = {other: data.release(snh.Identity(500), epsilon=1, by=by) for other, by in kinds.items()}
    assert (told[True].total().n, told[False].total().n) == (N, None)


def test_strata_with_noise_from_a_seed_say_so(data, day):
    assert day.total().replayable
    assert "Warning" in day.card()
    fresh = data.release("identity", epsilon=2, by=snh.By.hour(12))
    assert not fresh.total().replayable
    assert "Warning" not in fresh.card()


def test_gaussian_noise_costs_its_rho_once():
    budget = snh.Budget(2, delta=1e-6)
    data = snh.PrivateDataset(records(), budget, unit="user", max_per_user=3)
    day = data.release("identity", epsilon=1, delta=1e-6, by=snh.By.weekday())
    assert day.total().rho == day["Mon"].rho == day["Sun"].rho
    assert data.ledger.spent <= 1


def test_a_file_holds_all_strata(day, tmp_path):
    again = snh.load(day.save(tmp_path / "day.snh"))
    assert again.checksum == day.checksum
    assert again.card() == day.card()
    assert again.card()["Strata"] == "hour: 00-05, 06-11, 12-17, 18-23"
    np.testing.assert_array_equal(again.estimate(BOXES), day.estimate(BOXES))
    part = snh.load(day["06-11"].save(tmp_path / "morning.snh"))
    assert part.answer(BOXES).tolist() == day["06-11"].answer(BOXES).tolist()


def changed(content: bytes, change) -> bytes:
    size = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["snhkit"])
    arrays = load(content)
    change(header, arrays)
    return save(arrays, metadata={"snhkit": json.dumps(header)})


def costing(header, epsilon):
    header.update(epsilon=epsilon, spends=[[epsilon, *header["spends"][0][1:]]])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda h, a: h["settings"]["strata"].pop(), "must describe 4 strata"),
        (lambda h, a: h["settings"].update(strata={}), "must describe 4 strata"),
        (lambda h, a: h["settings"]["by"].update(kind="column"), "name of the column"),
        (lambda h, a: h["settings"].pop("by"), "damaged"),
        (lambda h, a: costing(h, "1"), "'epsilon' of the file"),
        (lambda h, a: [costing(part, "1") for part in h["settings"]["strata"]], "'epsilon' of"),
        (lambda h, a: costing(h["settings"]["strata"][2], "5"), "'epsilon' of the file"),
        (lambda h, a: h.update(spends=[["2", "counts", "sequential"]]), "'spends' of the file"),
        (lambda h, a: h.update(replayable=False), "'replayable' of the file"),
        (lambda h, a: h["settings"]["strata"][1].update(replayable=False), "'replayable' of"),
        (lambda h, a: h.update(method="PrivTree"), "'method' of the file"),
        (lambda h, a: h["unit"].update(max_per_user=2), "'unit' of the file"),
        (lambda h, a: h.update(n=4), "'n' of the file"),
        (lambda h, a: a.update({"9.counts": np.zeros(4)}), "belongs to no stratum"),
        (lambda h, a: a.update({"counts": np.zeros(4)}), "belongs to no stratum"),
        (lambda h, a: h["settings"]["strata"][0].update(kind="strata"), "cannot hold strata"),
        (lambda h, a: h["settings"]["strata"][1]["region"].update(lat=1.0), "region of the file"),
        (lambda h, a: h["settings"]["strata"][1].update(n=-1), "'n' must be"),
        (lambda h, a: h["settings"]["strata"][1].update(epsilon="7"), "epsilon"),
        (lambda h, a: h["settings"]["strata"].__setitem__(2, "text"), "not a JSON object"),
    ],
)
def test_changed_files_are_refused(day, tmp_path, change, says):
    file = tmp_path / "day.snh"
    file.write_bytes(changed(day.to_bytes(), change))
    with pytest.raises(ReleaseFileError, match=says):
        snh.load(file)


def test_what_cannot_be_divided_costs_nothing(data):
    before = data.ledger.spent
    columns = snh.By.column("kind", ["a", "b"])
    with pytest.raises(InputError, match=r"PrivateDataset\.scan"):
        data.release("ug", epsilon=1, by=columns)
    with pytest.raises(InputError, match="delta of its own"):
        data.release(snh.DPSGD(delta=1e-6), epsilon=1, by=snh.By.hour(6))
    assert data.ledger.spent == before


def test_a_label_that_is_none_names_those_that_are(day):
    with pytest.raises(InputError, match="no stratum '25'; the strata are 00-05"):
        day["25"]
    square = shapely.box(-122.44, 37.755, -122.43, 37.76)
    with pytest.raises(InputError, match="'hour'"):
        day.estimate(gpd.GeoDataFrame({"hour": [1]}, geometry=[square], crs=4326))


def test_the_cost_is_that_of_the_dearest_stratum(day):
    spends = [day[label].spends for label in day]
    assert [spend.epsilon for spend in in_strata(day.by, spends)] == [2]
    dear = [spend if i else (*spend, *spend) for i, spend in enumerate(spends)]
    assert in_strata(day.by, dear)[0].epsilon == 4
    with pytest.raises(InputError, match="one build for each of 4"):
        in_strata(day.by, spends[1:])
    assert Fraction(2) == day.total().epsilon


def test_maps_and_figures_take_all_strata(day):
    from snhkit.viz.figures.plots import surface_figure
    from snhkit.viz.maps.maps import compare_map

    assert [axis.get_title() for axis in surface_figure(day).axes[:4]] == list(day)
    assert all(label in compare_map(day).get_root().render() for label in day)


def test_a_plan_for_strata_is_that_of_fewer_records(data):
    few, day = (
        data.plan(epsilon=1, n=n, by=by).evidence.set_index("method")["rel_error"].drop("denoised")
        for n, by in ((1_000, None), (4_000, snh.By.hour(6)))
    )
    assert few.to_dict() == day.to_dict()


def test_an_exact_sum_has_the_interval_of_its_noise_and_others_are_wider_than_their_parts(day):
    whole = snh.Identity(500)
    data = snh.PrivateDataset(records(), budget=100, unit="record")
    made = data.release(whole, epsilon=1, by=snh.By.hour(6), seed=1).total()
    cells = snh.geometry.Grid(CITY, 4).boxes()
    found = made.estimate(cells)
    half = exact_bounds(np.zeros(1), np.array([4.0]), 2 / (2 * np.cosh(1) - 2), 0.9, gaussian=False)
    wide = found["high"] - found["count"]
    np.testing.assert_allclose(wide, half[0, 1])
    parts = day.estimate(BOXES[1:])  # parts of cells, which noise alone does not explain
    apart = (parts["high"] - parts["count"]).to_numpy().reshape(len(day), -1)
    total = day.total().estimate(BOXES[1:])
    above = (total["high"] - total["count"]).to_numpy()
    assert (np.sqrt((apart**2).sum(axis=0)) < above).all()
    assert (above < apart.sum(axis=0)).all()


def test_the_interval_of_a_sum_by_hand(day):
    """Noise of strata is independent, and all other errors have a correlation of 0.45."""
    box, wanted = BOXES[1:], []
    for end, sign in enumerate((-1, 1)):
        own = alike = count = 0.0
        for part in day.values():
            one = Estimates.of(part, box)
            assert one.bounds(0.8)[0, 0] > 0
            apart = abs(one.bounds(0.8)[0, end] - one.count[0])
            other = 1 - one.variance[0] / (one.variance[0] + one.count[0] / part.record_epsilon)
            own += apart**2 * (1 - 0.45 * other)
            alike += apart * np.sqrt(other)
            count += one.count[0]
        wanted.append(count + sign * np.sqrt(own + 0.45 * alike**2))
    np.testing.assert_allclose(Estimates.of(day.total(), box).bounds(0.8), [wanted])


DAYS = pd.to_datetime(["2026-03-27", "2026-10-23"], utc=True)  # near changes of the clocks
TRIPS = pd.DataFrame({"lat": 37.76, "lon": -122.43, "started": DAYS.repeat(40), "rider": range(80)})
TRIPS = TRIPS.assign(kind=["bike", "scooter"] * 40)
IN_ZONE = {"time": "started", "tz": "Europe/Brussels", "report": lambda told: None}


def scanned(**how):
    return snh.PrivateDataset.scan(TRIPS, CITY, 1, **IN_ZONE, **how)


def test_the_card_tells_the_zone_of_days_and_hours(tmp_path):
    given = {"unit": "user-day", "max_per_user": 2}
    points = snh.read_points(TRIPS, CITY, **IN_ZONE, user="rider")
    data = snh.PrivateDataset(points, 1, **given, ledger=tmp_path / "a.ledger")
    assert scanned(user="rider", **given).unit == data.unit
    made = data.release("identity", epsilon=1, by=snh.By.hour(12))
    made.save(tmp_path / "a.snh")
    card = snh.load(tmp_path / "a.snh").card()
    assert "of one person in one day (Europe/Brussels)" in card["Privacy"]
    assert card["Strata"] == "hour (Europe/Brussels): 00-11, 12-23"
    utc = snh.read_points(TRIPS, CITY, time="started", user="rider")
    with pytest.raises(InputError, match=r"one day \(Europe/Brussels\); open it with that unit"):
        snh.PrivateDataset(utc, **given, ledger=tmp_path / "a.ledger")
    counts = snh.scan_points(TRIPS, CITY, **IN_ZONE)
    made = snh.PrivateDataset(counts, 1, unit="record").release("ug", epsilon=1, by=snh.By.hour(12))
    assert made.card()["Strata"].startswith("hour (Europe/Brussels)")
    assert "Brussels" not in made.card()["Privacy"]
    by = snh.By.column("kind", ["bike", "scooter"])
    assert "Brussels" not in str(scanned(unit="record").release("ug", epsilon=1, by=by))


def test_a_column_that_is_missing_costs_nothing():
    data = scanned(unit="record")
    with pytest.raises(InputError, match="Did you mean 'kind'"):
        data.release("ug", epsilon=1, by=snh.By.column("kinds", ["bike"]))
    untimed = snh.PrivateDataset.scan(TRIPS, CITY, 1, unit="record")
    with pytest.raises(InputError, match="need the column of times"):
        untimed.release("ug", epsilon=1, by=snh.By.hour())
    assert data.ledger.spent == 0


def test_strata_drawn_together_have_the_interval_of_the_map_that_they_add_up_to():
    data = snh.PrivateDataset(records(), budget=1, unit="user", max_per_user=3)
    day = data.release("denoised", epsilon=1, by=snh.By.weekday()).total()
    side = np.geomspace(1, 2_000, 20)
    boxes = snh.RangeQueries(CITY, side * 0, side * 0, side, side)
    found = Estimates.of(day, boxes)
    cells = cells_in_boxes(found.strata[0].release.model, boxes)
    told = Counted(found.count, found.variance, found.area_m2, cells, 0.4 / 3)  # see ``POOLED``
    bounds = np.maximum(usual_bounds("DenoisedGrid", told, 0.8), 0)
    np.testing.assert_allclose(found.bounds(0.8), bounds)


def model(counts, scale=0.01):
    counts = np.asarray(counts, float)
    return PackedGridModel.of(CITY, counts, scale, round(counts.sum()))


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(2, 5), st.sampled_from([0, 3, 900]))
def test_strata_add_up_to_all_in_each_cell(seed, m, strata, most):
    rng = np.random.default_rng(seed)
    whole = model(rng.integers(0, most + 1, (m, m)))
    sides = rng.integers(1, 9, strata)
    parts = [model(rng.integers(0, 50, (side, side)) * rng.integers(0, 2)) for side in sides]
    made = list(drawn_together(whole, parts, 0.1))
    assert {part.grid.m for part, _ in made} == {m}
    assert [n for _, n in made] == [round(part.total) for part, _ in made]
    together = sum(part.values(m) for part, _ in made)
    # Each running sum of counts is rounded to a unit of 0.1 / 16 / strata.
    np.testing.assert_allclose(together, whole.values(m), atol=2 * 0.1 / 16)
    assert sum(part.total for part, _ in made) == pytest.approx(whole.total)
    assert all(part.values(m).min() >= 0 for part, _ in made)


def test_strata_keep_their_share_and_some_of_their_pattern():
    whole = model([[240, 160], [0, 0]])
    west, flat = model([[90, 10], [0, 0]]), model([[150, 150], [0, 0]])
    (first, n), (second, _) = drawn_together(whole, [west, flat], 0.01)
    assert n == pytest.approx(100, abs=2)
    assert first.total + second.total == pytest.approx(400, abs=0.01)
    share = first.values(2)[0, 0] / first.total
    assert 0.7 < share < 0.88  # between the share of all strata, 0.6, and its own, 0.9


def test_where_all_strata_together_have_no_records_none_has_any():
    (one, _), (other, _) = drawn_together(
        model([[8, 0], [0, 0]]), [model([[1, 5], [0, 2]])] * 2, 0.01
    )
    assert one.values(2).ravel()[1:].tolist() == other.values(2).ravel()[1:].tolist() == [0, 0, 0]


def test_equal_strata_have_the_map_of_all():
    whole = model([[8, 4], [2, 2]])
    for part, n in drawn_together(whole, [model([[3, 3], [3, 3]])] * 2, 0.001):
        np.testing.assert_allclose(part.values(2), whole.values(2) / 2, atol=0.01)
        assert n == 8


def test_values_of_other_cells_are_answers_to_them():
    part = model(np.arange(25).reshape(5, 5))
    for m in (1, 3, 5, 10):
        cells = snh.geometry.Grid(CITY, m).boxes()
        np.testing.assert_allclose(part.values(m).ravel(), part.answer(cells), atol=1e-3)
    assert part.total == pytest.approx(300)
