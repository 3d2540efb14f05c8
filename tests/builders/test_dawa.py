from fractions import Fraction

import numpy as np
import pytest

from snhkit import METHODS, PrivateDataset
from snhkit.builders import DAWA
from snhkit.builders.dawa import box_energies, level_shares
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.privacy import total

LARGE = DAWA(order=5, sizes_m=(200, 300))


def released(records: Points, epsilon, builder, public=None, **unit):
    data = PrivateDataset(records, budget="1e7", **({"unit": "record", "n_public": True} | unit))
    return data.release(builder, epsilon=epsilon, public=public)


def test_two_fifths_of_epsilon_choose_buckets_and_the_rest_counts_them(records):
    cuts, counts = released(records, "0.4", DAWA(order=5)).spends
    assert (cuts.epsilon, cuts.composition, cuts.what) == (
        Fraction(4, 25),
        "sequential",
        "bucket boundaries",
    )
    assert (counts.epsilon, counts.composition) == (Fraction(6, 25), "parallel")


def test_for_large_squares_several_levels_are_counted(records):
    # A large epsilon, so that buckets and levels hardly depend on the noise.
    cuts, *counts = released(records, 40, LARGE).spends
    assert len(counts) >= 2
    assert {spend.composition for spend in counts} == {"parallel"}
    assert total([cuts, *counts]).epsilon == 40


def test_the_shares_are_those_of_the_expected_squares(records):
    release = released(records, "0.4", LARGE)
    cells, grid = release.model.partition, Grid(records.region, 32)
    bucket = np.empty((32, 32), np.int64)
    for i in range(len(cells)):
        x0, y0, x1, y1 = (int(e[i] / grid.cell_m) for e in (cells.x0, cells.y0, cells.x1, cells.y1))
        bucket[x0:x1, y0:y1] = i
    shares = level_shares(box_energies(LARGE.expected(grid, None), grid, bucket))
    paid = [spend.epsilon for spend in release.spends[1:]]
    assert paid == [Fraction(6, 25) * share for share in shares.values()]


def test_counts_of_buckets_without_noise_are_exact(records):
    release = released(records, 10**6, DAWA(order=5))
    cells = release.model.partition.boxes()
    # Only cells of equal counts share a bucket, so the count of each cell is exact as well.
    for boxes in (cells, Grid(records.region, 32).boxes()):
        truth = exact_counts(records, boxes)
        np.testing.assert_allclose(release.answer(boxes), truth, atol=1e-6)
    assert len(cells) < 800


def test_levels_with_little_noise_agree(records):
    release = released(records, 10**6, LARGE)
    truth = exact_counts(records, release.model.partition.boxes())
    np.testing.assert_allclose(release.model.values, truth, atol=1e-6)


def test_a_single_count_spreads_over_the_region():
    city = Region.around(lat=0, lon=0, side_m=100)
    records = Points(city, np.full((40, 2), 1.0))
    release = released(records, 10**6, DAWA(order=0))
    half = RangeQueries(city, [0], [0], [50], [100])
    assert release.answer(half) == pytest.approx([20])


def test_buckets_are_small_in_dense_places_and_large_elsewhere(records):
    release = released(records, 40, DAWA(order=6))
    cells = release.model.partition
    around = np.hypot(cells.x0 - 100, cells.y0 - 130) < 40
    assert cells.areas[around].mean() < cells.areas[~around].mean() / 2


def test_buckets_follow_the_curve(records):
    release = released(records, 1, DAWA(order=5))
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
def test_no_bucket_is_wider_than_asked(records, max_bucket_m):
    release = released(records, "0.001", DAWA(order=5, max_bucket_m=max_bucket_m))
    cells = release.model.partition
    widths = np.stack([cells.x1 - cells.x0, cells.y1 - cells.y0])
    np.testing.assert_allclose(widths[0], widths[1])
    assert widths.max() <= max_bucket_m * (1 + 1e-9)
    assert widths.min() >= 12.5 * (1 - 1e-9)


def test_squares_as_large_as_the_region_are_accepted(records):
    assert released(records, 1, DAWA(order=5, sizes_m=(400, 400))).spends


def test_n_is_not_needed(records):
    release = released(records, 1, DAWA(order=4), n_public=False)
    assert release.n is None
    assert len(release.spends) == 2


def test_an_epsilon_too_small_for_64_bits_is_refused_before_payment(records):
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    with pytest.raises(InputError, match="larger epsilon"):
        data.release(DAWA(order=10), epsilon="1e-15")
    assert data.ledger.entries == ()


def test_numpy_numbers_can_be_saved(records):
    builder = DAWA(np.float32(0.3), np.int64(4), np.int32(50), (np.float64(30), np.int64(60)))
    release = released(records, 1, builder)
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
