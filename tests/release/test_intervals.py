"""Intervals for true counts: how the table is read, and how often they hold."""

import geopandas as gpd
import numpy as np
import pytest
import shapely

import snhkit as snh
from snhkit.errors import InputError
from snhkit.geometry import Grid
from snhkit.release.estimates import Estimates
from snhkit.release.intervals import (
    LEVELS,
    SHAPE,
    Counted,
    _filled,
    bins_of,
    exact_bounds,
    interval_table,
    meaning,
    scales,
    usual_bounds,
)


def known(answers, variance=0.0, side=50.0, cells=1.0, epsilon=0.5) -> Counted:
    answers = np.asarray(answers, float)
    ones = np.ones(len(answers))
    return Counted(answers, variance * ones, side**2 * ones, cells * ones, epsilon)


@pytest.fixture(scope="module")
def release() -> snh.Release:
    records = snh.synthetic_points("chicago", 30_000)
    data = snh.PrivateDataset(records, 1, unit="record", n_public=True)
    return data.release(snh.Identity(), epsilon="0.2", seed=1)


def test_scales_by_hand():
    # Variance 20, that of a noisy count 2 / 0.5^2, and 10 records at a resolution of 2.
    assert scales(known([10, -3], 20.0)) == pytest.approx(np.sqrt([20 + 8 + 20, 20 + 8]))
    assert scales(known([0], np.nan)) == pytest.approx(np.sqrt([8]))


def test_what_covers_no_area_holds_nobody():
    asked = Counted(np.zeros(2), np.ones(2), np.array([0.0, 2_500.0]), np.ones(2), 0.5)
    nothing, something = usual_bounds("Identity", asked, 0.9)
    assert nothing.tolist() == [0, 0]
    assert something[0] < something[1]


@pytest.mark.parametrize("level", [0.5, 0.85, 0.9, 0.96, 0.99])
def test_bounds_are_the_answer_and_quantiles_of_its_bin(level):
    asked = known([20.0], 30.0)
    table = interval_table()["quantiles"]["Identity"][str(bins_of(asked)[0])]
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], LEVELS, table)
    unit = scales(asked)[0]
    wanted = [[20 + low * unit, 20 + high * unit]]
    assert usual_bounds("Identity", asked, level) == pytest.approx(np.array(wanted))


def test_a_higher_level_is_wider():
    asked = known(np.linspace(-20, 500, 40), 30.0)
    widths = [
        np.diff(usual_bounds("UniformGrid", asked, level))[:, 0] for level in (0.5, 0.8, 0.9, 0.99)
    ]
    assert (np.diff(widths, axis=0) >= 0).all()
    with pytest.raises(InputError, match=r"level must be from 0.5 to 0.99, not 1"):
        usual_bounds("UniformGrid", asked, 1)


def test_without_theory_and_measurement_no_bounds_are_given_but_a_reason(release, monkeypatch):
    assert np.isnan(usual_bounds("Quarters", known([50.0], np.nan), 0.9)).all()
    assert np.isfinite(usual_bounds("DAWA", known([50.0], np.nan), 0.9)).all()
    assert "in about 90 % of cases" in meaning(release)
    object.__setattr__(release, "method", "Quarters")
    try:
        assert "not known" not in meaning(release)  # the noise is
        monkeypatch.setattr(snh.Release, "noise_sd", lambda _, boxes: np.array([np.nan]))
        assert "The interval of Quarters is not known" in meaning(release)
    finally:
        object.__setattr__(release, "method", "Identity")


def test_bins_without_a_measurement_are_those_of_the_nearest():
    found = np.full((int(np.prod(SHAPE)), len(LEVELS)), np.nan)
    found[np.ravel_multi_index((0, 0, 0), SHAPE)] = 1.0
    found[np.ravel_multi_index((3, 5, 8), SHAPE)] = 2.0
    full = _filled(found).reshape(*SHAPE, -1)
    assert (full[0, 1, 1] == 1).all()
    assert (full[3, 5, 7] == 2).all()
    # Of these, (1, 0, 0) is 3 away, (0, 0, 4) is 4 away; and (0, 1, 0) 2, (0, 0, 3) 3.
    for near, far in [
        ((1, 0, 0), (0, 0, 4)), ((1, 0, 0), (0, 2, 0)), ((0, 1, 0), (0, 0, 3)),
        ((0, 1, 0), (1, 0, 0)), ((0, 0, 2), (1, 0, 0)), ((0, 0, 1), (0, 1, 0)),
    ]:  # fmt: skip
        found[:] = np.nan
        found[np.ravel_multi_index(near, SHAPE)], found[np.ravel_multi_index(far, SHAPE)] = 1.0, 2.0
        assert (_filled(found)[0] == 1).all()


def test_the_bin_of_a_query_by_hand():
    def bin_of(**changes):
        return tuple(map(int, np.unravel_index(bins_of(known(**changes))[0], SHAPE)))

    assert bin_of(answers=[20.0]) == (0, 2, 4)  # 50 m, one cell, 10 records at a resolution of 2
    assert bin_of(answers=[20.0], side=100.0) == (1, 2, 4)
    assert bin_of(answers=[-5.0], side=2_000.0, cells=0.05) == (3, 0, 0)
    assert bin_of(answers=[4_000.0], cells=50.0) == (0, 5, 8)
    assert bin_of(answers=[4_000.0], cells=50.0, epsilon=0.1) == (0, 5, 7)


@pytest.mark.parametrize("where", ["around", "anywhere"])
def test_on_a_city_that_was_not_used_nine_of_ten_hold(release, where):
    records = snh.synthetic_points("chicago", 30_000)
    near = records if where == "around" else records.region
    for sizes_m in ((25, 100), (300, 1_000)):
        boxes = snh.RangeQueries.sample(near, 600, sizes_m)
        low, high = release.interval(boxes).T
        truth = snh.exact_counts(records, boxes)
        assert 0.83 <= np.mean((low <= truth) & (truth <= high)) <= 0.98


def test_a_box_is_a_polygon_too(release):
    boxes = snh.RangeQueries.sample(release.region, 20, (100, 2_000))
    shapes = shapely.box(boxes.x, boxes.y, boxes.x1, boxes.y1)
    half = release.region.side_m / 2
    frame = gpd.GeoSeries(shapes, crs=release.region.crs).translate(-half, -half)
    np.testing.assert_allclose(release.interval(frame), release.interval(boxes), rtol=1e-3)


def test_the_cells_of_a_district_do_not_depend_on_the_other_districts():
    city = snh.Region.around(lat=45, lon=7, side_m=400)
    districts = gpd.GeoSeries(
        [shapely.box(-200, -200, 0, 200), shapely.box(0, -200, 200, 0)], crs=city.crs
    )
    data = snh.PrivateDataset(
        snh.Points(city, [[10.0, 10.0]] * 50), 1, unit="record", n_public=True
    )
    release = data.release(snh.Tessellation(districts), epsilon=1)
    half = shapely.box(-200, -200, -100, 200)
    queries = gpd.GeoSeries([*districts, half], crs=city.crs)
    assert Estimates.of(release, queries).cells == pytest.approx([1, 1, 0.5])
    assert Estimates.of(release, queries[2:]).cells == pytest.approx([0.5])


def test_the_table_tells_where_it_comes_from():
    told = interval_table()["provenance"]
    assert told["command"].startswith("python benchmarks/interval_table.py")
    assert not set(told["cities"]) & set(told["held_out"])
    assert interval_table()["levels"] == list(LEVELS)


class TestExact:
    """Intervals from the noise alone, against sums of probabilities written out here."""

    @pytest.mark.parametrize("epsilon", [0.05, 0.3, 2.0])
    @pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
    def test_one_noise_by_hand(self, epsilon, level):
        q = np.exp(-epsilon)
        variance = 2 * q / (1 - q) ** 2
        chance = lambda t: 1 - 2 * q ** (t + 1) / (1 + q)  # noqa: E731 - that |noise| <= t
        half = next(t for t in range(10_000) if chance(t) >= level)
        found = exact_bounds(np.array([9_000.0]), np.ones(1), variance, level, gaussian=False)
        assert found.tolist() == [[9_000 - half, 9_000 + half]]

    @pytest.mark.parametrize("gaussian", [False, True])
    @pytest.mark.parametrize(("k", "scale"), [(1, 3.0), (4, 2.0), (30, 1.5)])
    def test_sums_by_convolution(self, k, scale, gaussian):
        at = np.arange(-400, 401)
        one = np.exp(-(at**2) / (2 * scale**2)) if gaussian else np.exp(-np.abs(at) / scale)
        one /= one.sum()
        total = one
        for _ in range(k - 1):
            total = np.convolve(total, one)
        middle = len(total) // 2
        chance = [total[middle - t : middle + t + 1].sum() for t in range(300)]
        half = next(t for t, c in enumerate(chance) if c >= 0.9)
        variance = float((one * at**2).sum())
        found = exact_bounds(np.array([900.0]), np.array([k]), variance, 0.9, gaussian=gaussian)
        assert found.tolist() == [[900 - half, 900 + half]]

    def test_wide_noise_is_all_but_continuous(self):
        scale = 10_000.0
        found = exact_bounds(np.array([1e6]), np.ones(1), 2 * scale**2, 0.9, gaussian=False)
        assert np.diff(found)[0, 0] / 2 == pytest.approx(-scale * np.log(0.1), rel=0.005)

    @pytest.mark.chance(1e-6)
    def test_districts_are_covered_as_often_as_said(self):
        """300 counts of 0 to 90 records with fresh noise, and sums of two."""
        city = snh.Region.around(lat=45, lon=7, side_m=300)
        cells = Grid(city, 10).boxes()
        shapes = shapely.box(cells.x, cells.y, cells.x1, cells.y1)
        xy = np.random.default_rng(0).uniform(0, 300, (3_000, 2))
        records = snh.Points(city, xy)
        frame = gpd.GeoSeries(shapes, crs=city.crs).translate(-150, -150)
        pairs = gpd.GeoSeries(shapely.union(shapes[0::2], shapes[1::2]), crs=city.crs)
        data = snh.PrivateDataset(records, 3, unit="record")
        truth, hits = snh.exact_counts(records, cells), []
        for _ in range(3):
            release = data.release(snh.Tessellation(frame), epsilon=1)
            for asked, true in (
                (frame, truth),
                (pairs.translate(-150, -150), truth[::2] + truth[1::2]),
            ):
                found = release.estimate(asked)
                assert "at least 90 %" in found.attrs["intervals"]
                hits += ((found.low <= true) & (true <= found.high)).tolist()
        # At least 9 of 10, and little more, since noise is whole numbers: 0.86 to 0.97 of 450.
        assert 0.86 * len(hits) < sum(hits) < 0.985 * len(hits)

    def test_a_grid_is_exact_for_whole_cells_only(self, release):
        m = release.model.grid.m
        cell = release.region.side_m / m
        boxes = snh.RangeQueries(
            release.region, [0, 0.5 * cell], [0, 0], [3 * cell] * 2, [cell] * 2
        )
        assert Estimates.of(release, boxes).exact.tolist() == [True, False]
        low, high = release.interval(boxes)[0]
        one = release.noise_sd(boxes[:1])[0] ** 2 / 3
        wanted = exact_bounds(release.answer(boxes)[:1], np.array([3.0]), one, 0.9, gaussian=False)
        assert [low, high] == np.maximum(wanted[0], 0).tolist()


def test_bounds_hold_nine_of_ten_where_nothing_else_is_asked(release):
    boxes = snh.RangeQueries.sample(release.region, 20, (100, 400))
    given, default = release.interval(boxes, level=0.9), release.interval(boxes)
    np.testing.assert_array_equal(given, default)
    assert np.diff(release.interval(boxes, level=0.95)).sum() > np.diff(given).sum()
    found = release.estimate(boxes, level=0.95)
    np.testing.assert_array_equal(found[["low", "high"]], release.interval(boxes, level=0.95))
    assert "The 95 % interval" in found.attrs["intervals"]
    assert "The 90 % interval" in release.estimate(boxes).attrs["intervals"]
