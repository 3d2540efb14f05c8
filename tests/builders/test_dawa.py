from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from snhkit import METHODS, PrivateDataset
from snhkit.builders import DAWA
from snhkit.builders.dawa import (
    box_energies,
    expected_error,
    fitted_leaves,
    level_shares,
    level_weights,
)
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.privacy import PrivacyUnit, Terms
from snhkit.privacy.spend import total

LARGE = DAWA(order=5, sizes_m=(200, 300))


def test_two_fifths_of_epsilon_choose_buckets_and_the_rest_counts_them(released, records):
    cuts, counts = released(records, DAWA(order=5), "0.4").spends
    assert (cuts.epsilon, cuts.composition, cuts.what) == (
        Fraction(4, 25),
        "sequential",
        "bucket boundaries",
    )
    assert (counts.epsilon, counts.composition) == (Fraction(6, 25), "parallel")


def test_a_share_too_small_for_noise_is_refused_before_it_is_paid(records):
    """An epsilon that would do for all of it, not for two fifths."""
    terms = Terms(Fraction(3, 2**49), PrivacyUnit("record"))
    DAWA(ratio=0.9).check(records.region, terms)
    with pytest.raises(InputError, match="larger epsilon"):
        DAWA().check(records.region, terms)


def test_for_large_squares_several_levels_are_counted(released, records):
    # A large epsilon, so that buckets and levels hardly depend on the noise.
    cuts, *counts = released(records, LARGE, 40).spends
    assert len(counts) >= 2
    assert {spend.composition for spend in counts} == {"parallel"}
    assert total([cuts, *counts]).epsilon == 40


def test_the_shares_are_those_of_the_expected_squares(released, records):
    release = released(records, LARGE, "0.4")
    cells, grid = release.model.partition, Grid(records.region, 32)
    bucket = np.empty((32, 32), np.int64)
    for i in range(len(cells)):
        x0, y0, x1, y1 = (int(e[i] / grid.cell_m) for e in (cells.x0, cells.y0, cells.x1, cells.y1))
        bucket[x0:x1, y0:y1] = i
    shares = level_shares(box_energies(LARGE.expected(grid, None), grid, bucket))
    paid = [spend.epsilon for spend in release.spends[1:]]
    assert paid == [Fraction(6, 25) * share for share in shares.values()]


def test_counts_of_buckets_without_noise_are_exact(released, records):
    release = released(records, DAWA(order=5), 10**6)
    cells = release.model.partition.boxes()
    # Only cells of equal counts share a bucket, so the count of each cell is exact as well.
    for boxes in (cells, Grid(records.region, 32).boxes()):
        truth = exact_counts(records, boxes)
        np.testing.assert_allclose(release.answer(boxes), truth, atol=1e-6)
    assert len(cells) < 800


def test_levels_with_little_noise_agree(released, records):
    release = released(records, LARGE, 10**6)
    truth = exact_counts(records, release.model.partition.boxes())
    np.testing.assert_allclose(release.model.values, truth, atol=1e-6)


def test_a_single_count_spreads_over_the_region(released):
    city = Region.around(lat=0, lon=0, side_m=100)
    records = Points(city, np.full((40, 2), 1.0))
    release = released(records, DAWA(order=0), 10**6)
    half = RangeQueries(city, [0], [0], [50], [100])
    assert release.answer(half) == pytest.approx([20])


def test_buckets_are_small_in_dense_places_and_large_elsewhere(released, records):
    release = released(records, DAWA(order=6), 40)
    cells = release.model.partition
    around = np.hypot(cells.x0 - 100, cells.y0 - 130) < 40
    assert cells.areas[around].mean() < cells.areas[~around].mean() / 2


def test_buckets_follow_the_curve(released, records):
    release = released(records, DAWA(order=5), 1)
    cells = release.model.partition
    centre = np.stack([cells.x0 + cells.x1, cells.y0 + cells.y1]) / 2
    reach = np.stack([cells.x1 - cells.x0, cells.y1 - cells.y0])
    apart = np.abs(np.diff(centre)) - (reach[:, 1:] + reach[:, :-1]) / 2
    # Each bucket touches the next along an edge.
    np.testing.assert_allclose(apart.max(axis=0), 0, atol=1e-9)
    assert (apart.min(axis=0) < 0).all()
    assert set(np.round(np.log2(reach[0] / reach[1]))) <= {-1, 0, 1}


def test_the_tree_is_optimised_for_squares_near_public_points(records):
    corner = Points(records.region, np.full((5, 2), 60.0))
    grid = Grid(records.region, 32)
    near = LARGE.expected(grid, corner)
    assert len(near) > 100
    assert near.x + near.width / 2 == pytest.approx(60)
    anywhere = LARGE.expected(grid, None)
    assert anywhere.x.max() > 150
    nowhere = LARGE.expected(grid, Points(records.region, []))
    assert (nowhere.x == anywhere.x).all()
    assert (LARGE.expected(grid, None).x == anywhere.x).all()


def test_cells_suit_squares_and_n_epsilon():
    assert DAWA().order_for(13_200) == 9  # cells of 26 m for squares from 25 m on
    assert DAWA(sizes_m=(1_000, 5_000)).order_for(13_200) == 7  # cells of 103 m
    # A noisier grid has wider cells: half of default_cell_width, which is 232 m.
    assert DAWA().order_for(13_200, n_epsilon=147) == 7
    assert DAWA(order=3).order_for(13_200, n_epsilon=147) == 3


def test_the_largest_buckets_suit_squares_and_n_epsilon():
    grid = Grid(Region.around(lat=0, lon=0, side_m=12_800), 512)  # cells of 25 m
    assert DAWA().bucket_order_for(grid, n_epsilon=10**6) == 2  # 100 m
    assert DAWA(sizes_m=(25, 700)).bucket_order_for(grid, n_epsilon=10**6) == 5  # 800 m
    assert DAWA().bucket_order_for(grid) == 4  # four times as wide if n is private
    # Ten times default_cell_width, 2,320 m, are rounded to 128 cells.
    assert DAWA().bucket_order_for(grid, n_epsilon=147) == 7
    assert DAWA(max_bucket_m=200).bucket_order_for(grid, n_epsilon=147) == 3
    assert DAWA(max_bucket_m=1).bucket_order_for(grid) == 0
    assert DAWA(max_bucket_m=10**6).bucket_order_for(grid) == 9


@pytest.mark.parametrize("max_bucket_m", [25, 100, 400])
def test_no_bucket_is_wider_than_asked(released, records, max_bucket_m):
    release = released(records, DAWA(order=5, max_bucket_m=max_bucket_m), "0.001")
    cells = release.model.partition
    widths = np.stack([cells.x1 - cells.x0, cells.y1 - cells.y0])
    np.testing.assert_allclose(widths[0], widths[1])
    assert widths.max() <= max_bucket_m * (1 + 1e-9)
    assert widths.min() >= 12.5 * (1 - 1e-9)


def test_squares_as_large_as_the_region_are_accepted(released, records):
    assert released(records, DAWA(order=5, sizes_m=(400, 400)), 1).spends


def test_n_is_not_needed(released, records):
    release = released(records, DAWA(order=4), 1, n_public=False)
    assert release.n is None
    assert len(release.spends) == 2


def test_an_epsilon_too_small_for_64_bits_is_refused_before_payment(records):
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    with pytest.raises(InputError, match="larger epsilon"):
        data.release(DAWA(order=10), epsilon="1e-15")
    assert data.ledger.entries == ()


def test_numpy_numbers_can_be_saved(released, records):
    builder = DAWA(np.float32(0.3), np.int64(4), np.int32(50), (np.float64(30), np.int64(60)))
    release = released(records, builder, 1)
    assert release.hyperparameters == {
        "ratio": pytest.approx(0.3),
        "order": 4,
        "max_bucket_m": 50,
        "sizes_m": [30, 60],
    }
    assert release.to_bytes()


def test_the_registered_method_uses_the_sizes():
    assert METHODS["dawa"].builder((50, 200)) == DAWA(sizes_m=(50, 200))


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"ratio": 1}, "ratio is a share of epsilon and must be below 1"),
        ({"ratio": 0}, "ratio must be a positive"),
        ({"order": 12}, "order must be a whole number from 0 to 11"),
        ({"order": -1}, "order must be a whole"),
        ({"order": 2.5}, "order must be a whole"),
        ({"max_bucket_m": 0}, "max_bucket_m must be a positive number of metres"),
        ({"max_bucket_m": np.inf}, "max_bucket_m must be a positive number of metres"),
        ({"sizes_m": (0, 10)}, "sizes_m"),
        ({"sizes_m": (20, 10)}, "sizes_m"),
        ({"sizes_m": (20, np.inf)}, "sizes_m"),
    ],
)
def test_invalid_parameters_are_named(wrong, match):
    with pytest.raises(InputError, match=match):
        DAWA(**wrong)


def design(leaves: int, level: int) -> np.ndarray:
    """Return the matrix that sums leaves into the nodes of a level."""
    node = np.arange(leaves) >> level
    return (np.arange(node[-1] + 1)[:, None] == node).astype(float)


@given(st.integers(1, 21), st.sets(st.integers(1, 5)), st.integers(0, 2**32 - 1))
def test_leaves_are_the_weighted_least_squares_solution(leaves, upper, seed):
    rng = np.random.default_rng(seed)
    height = (leaves - 1).bit_length()
    levels = [0, *sorted(level for level in upper if level <= height)]
    counts = {k: rng.integers(-9, 99, design(leaves, k).shape[0]) for k in levels}
    variances = {k: float(rng.uniform(0.1, 10)) for k in levels}
    rows = np.concatenate([design(leaves, k) / variances[k] ** 0.5 for k in levels])
    told = np.concatenate([counts[k] / variances[k] ** 0.5 for k in levels])
    expected = np.linalg.lstsq(rows, told, rcond=None)[0]
    np.testing.assert_allclose(fitted_leaves(counts, variances), expected, atol=1e-8)


def test_a_small_tree_worked_out_by_hand():
    # The pair is counted as 10, and its leaves add up to 1 + 3 = 4 with variance 2. The weighted
    # mean is 4 + 2/3 * 6 = 8.
    leaves = fitted_leaves({0: np.array([1, 3, 5]), 1: np.array([10, 5])}, {0: 1.0, 1: 1.0})
    assert leaves == pytest.approx([3, 5, 5])


def test_consistent_counts_are_unchanged():
    x = np.arange(13)
    counts = {k: design(13, k) @ x for k in range(5)}
    assert fitted_leaves(counts, dict.fromkeys(counts, 2.0)) == pytest.approx(x)


CITY = Region.around(lat=0, lon=0, side_m=4)
some_energies = st.integers(1, 7).flatmap(
    lambda n: arrays(float, n, elements=st.floats(-4, 12)).map(np.exp2)
)


def rows_of(boxes: RangeQueries, grid: Grid, leaf: np.ndarray) -> np.ndarray:
    """Return the share of each leaf that each box covers, computed cell by cell."""
    rows = np.zeros((len(boxes), leaf.max() + 1))
    for i in range(len(boxes)):
        for c in range(grid.m):
            for r in range(grid.m):
                x, y = c * grid.cell_m, r * grid.cell_m
                wide = min(x + grid.cell_m, boxes.x[i] + boxes.width[i]) - max(x, boxes.x[i])
                high = min(y + grid.cell_m, boxes.y[i] + boxes.height[i]) - max(y, boxes.y[i])
                rows[i, leaf[c, r]] += max(wide, 0) * max(high, 0)
    return rows / np.bincount(leaf.ravel()) / grid.cell_m**2


@pytest.fixture
def case():
    rng = np.random.default_rng(4)
    boxes = RangeQueries(CITY, *rng.uniform(-1, 4, (2, 25)), *rng.uniform(0, 4, (2, 25)))
    leaf = rng.permutation(np.r_[np.arange(8), rng.integers(0, 8, 8)]).reshape(4, 4)
    return boxes, Grid(CITY, 4), leaf


def test_expected_error_is_the_variance_of_least_squares(case):
    """The reference is the variance of least squares from dense matrices."""
    rows, energies = rows_of(*case), box_energies(*case)
    weights = np.array([0.4, 0.0, 0.35, 0.25])
    told = np.concatenate(
        [w * np.kron(np.eye(8 >> k), np.ones(1 << k)) for k, w in enumerate(weights)]
    )
    variance = rows @ np.linalg.inv(told.T @ told) @ rows.T
    assert expected_error(weights, energies) == pytest.approx(np.trace(variance))


def test_energies_add_up_to_the_squared_norm_of_the_rows(case):
    assert box_energies(*case).sum() == pytest.approx((rows_of(*case) ** 2).sum())


def test_missing_leaves_up_to_a_power_of_two_count_as_empty():
    boxes = RangeQueries(CITY, [0, 1.5], [0, 1], [3, 2], [1, 3])
    grid, leaf = Grid(CITY, 2), np.array([[0, 1], [2, 2]])
    rows = np.column_stack([rows_of(boxes, grid, leaf), np.zeros(2)])
    pairs, whole = rows.reshape(2, 2, 2).sum(axis=2), rows.sum(axis=1)
    expected = [
        (rows**2).sum() - (pairs**2).sum() / 2,
        (pairs**2).sum() / 2 - (whole**2).sum() / 4,
        (whole**2).sum() / 4,
    ]
    assert box_energies(boxes, grid, leaf) == pytest.approx(expected)


def test_chunks_of_boxes_give_the_same_energies(case, monkeypatch):
    together = box_energies(*case)
    monkeypatch.setattr("snhkit.builders.dawa._CHUNK_CELLS", 40)
    assert box_energies(*case) == pytest.approx(together)


def test_boxes_outside_the_region_have_no_energy():
    grid, leaf = Grid(CITY, 2), np.arange(4).reshape(2, 2)
    outside = RangeQueries(CITY, [-9, 4, 1, 1, 2], [1, 1, -9, 5, 2], [9, 5, 1, 1, 0], [1] * 5)
    assert box_energies(outside, grid, leaf).tolist() == [0, 0, 0]
    assert box_energies(outside[:0], grid, leaf).tolist() == [0, 0, 0]


@settings(max_examples=20)
@given(some_energies)
def test_no_other_weights_have_a_smaller_error(energies):
    """The reference is scipy's minimiser from several starts."""
    weights = level_weights(energies)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    found = expected_error(weights, energies)

    def error(logits: np.ndarray) -> float:
        return np.log(expected_error(np.exp(logits) / np.exp(logits).sum(), energies))

    rng = np.random.default_rng(0)
    bounds = [(-9, 9)] * len(energies)
    starts = [rng.normal(0, 2, len(energies)) for _ in range(3)]
    best = min(minimize(error, start, method="L-BFGS-B", bounds=bounds).fun for start in starts)
    assert found <= np.exp(best) * 1.01


def test_boxes_of_one_leaf_measure_leaves_and_boxes_of_all_measure_the_root():
    assert level_shares(np.array([5.0, 1.0, 0.0])) == {0: 1}
    assert level_shares(np.zeros(4)) == {0: 1}
    assert level_shares(np.array([7.0])) == {0: 1}
    assert level_shares(np.array([0.0, 0.0, 1.0])) == {0: Fraction(1, 500), 2: Fraction(499, 500)}


@given(some_energies)
def test_shares_add_up_to_one_and_include_the_leaves(energies):
    shares = level_shares(energies)
    assert sum(shares.values()) == 1
    assert shares[0] > 0
    assert all(share > 0 for share in shares.values())
