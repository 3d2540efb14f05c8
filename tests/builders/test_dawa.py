from fractions import Fraction

import numpy as np
import pytest

from snhkit import METHODS, PrivateDataset
from snhkit.builders import DAWA
from snhkit.builders.inference.level_shares import box_energies, level_shares
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.privacy import total

LARGE = DAWA(order=5, block=4, sizes_m=(200, 300), caution=0)


def released(records: Points, epsilon, builder, public=None, **unit):
    data = PrivateDataset(records, budget="1e7", **({"unit": "record", "n": "public"} | unit))
    return data.release(builder, epsilon=epsilon, public=public)


def test_a_quarter_of_epsilon_chooses_buckets_and_the_rest_counts_them(records):
    cuts, counts = released(records, "0.4", DAWA(order=5)).spends
    assert (cuts.epsilon, cuts.composition, cuts.what) == (
        Fraction(1, 10),
        "sequential",
        "bucket boundaries",
    )
    assert (counts.epsilon, counts.composition) == (Fraction(3, 10), "parallel")


def test_for_large_squares_several_levels_are_counted(records):
    # A large epsilon, so that buckets and levels hardly depend on the noise.
    cuts, *counts = released(records, 40, LARGE).spends
    assert len(counts) >= 2
    assert {spend.composition for spend in counts} == {"parallel"}
    assert total([cuts, *counts]) == 40


def test_the_shares_are_those_of_the_expected_squares(records):
    release = released(records, "0.4", LARGE)
    cells, grid = release.model.partition, Grid(records.region, 32)
    bucket = np.empty((32, 32), np.int64)
    for i in range(len(cells)):
        x0, y0, x1, y1 = (int(e[i] / grid.cell_m) for e in (cells.x0, cells.y0, cells.x1, cells.y1))
        bucket[x0:x1, y0:y1] = i
    shares = level_shares(box_energies(LARGE.expected(grid, None), grid, bucket))
    paid = [spend.epsilon for spend in release.spends[1:]]
    assert paid == [Fraction(3, 10) * share for share in shares.values()]


def test_counts_of_buckets_without_noise_are_exact(records):
    release = released(records, 10**6, DAWA(order=5, block=4, caution=0))
    cells = release.model.partition.boxes()
    # Only cells of equal counts share a bucket, so the count of each cell is exact as well.
    for boxes in (cells, Grid(records.region, 32).boxes()):
        truth = exact_counts(records, boxes)
        np.testing.assert_allclose(release.answer(boxes), truth, atol=1e-6)
    assert len(cells) < 600


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
    release = released(records, 40, DAWA(order=6, caution=0))
    cells = release.model.partition
    around = np.hypot(cells.x0 - 100, cells.y0 - 130) < 40
    assert cells.areas[around].mean() < cells.areas[~around].mean() / 2


def test_buckets_follow_the_curve(records):
    release = released(records, 1, DAWA(order=5, block=4, caution=0))
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


def test_cells_and_caution_suit_squares_and_n_epsilon():
    assert DAWA().order_for(13_200) == 9  # cells of 26 m for squares from 25 m on
    assert DAWA(sizes_m=(1_000, 5_000)).order_for(13_200) == 6
    # A noisier grid has wider cells: three quarters of default_cell_width, 232 m.
    assert DAWA().order_for(13_200, n_epsilon=147) == 6
    assert DAWA(order=3).order_for(13_200, n_epsilon=147) == 3
    assert DAWA().caution_for(25) == pytest.approx(2.4 + 0.54 * np.log(2.5**2))
    assert DAWA(caution=1).caution_for(25) == 1


def test_a_dear_part_of_the_line_makes_fewer_buckets(records):
    few, many = (released(records, 1, DAWA(order=5, caution=c)) for c in (20, 0))
    assert len(few.model.partition) < len(many.model.partition) / 2


def test_squares_as_large_as_the_region_are_accepted(records):
    assert released(records, 1, DAWA(order=5, sizes_m=(400, 400))).spends


def test_n_is_not_needed(records):
    release = released(records, 1, DAWA(order=4), n="private")
    assert release.n is None
    assert len(release.spends) == 2


def test_an_epsilon_too_small_for_64_bits_is_refused_before_payment(records):
    data = PrivateDataset(records, budget=1, unit="record", n="public")
    with pytest.raises(InputError, match="larger epsilon"):
        data.release(DAWA(order=10), epsilon="1e-12")
    assert data.ledger.entries == ()


def test_numpy_numbers_can_be_saved(records):
    builder = DAWA(np.float32(0.3), np.int64(4), np.int32(4), (np.float64(30), np.int64(60)))
    release = released(records, 1, builder)
    assert release.hyperparameters == {
        "ratio": pytest.approx(0.3),
        "order": 4,
        "block": 4,
        "sizes_m": [30, 60],
        "caution": None,
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
        ({"block": 0}, "block must be a whole"),
        ({"block": 12}, "power of four"),
        ({"block": 8}, "power of four"),
        ({"caution": -1}, "caution must be a number, at least 0"),
        ({"sizes_m": (0, 10)}, "sizes_m"),
        ({"sizes_m": (20, 10)}, "sizes_m"),
        ({"sizes_m": (20, np.inf)}, "sizes_m"),
    ],
)
def test_invalid_parameters_are_named(wrong, match):
    with pytest.raises(InputError, match=match):
        DAWA(**wrong)
