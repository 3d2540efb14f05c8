from fractions import Fraction
from itertools import chain, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike
from scipy.stats import binomtest, dlaplace

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import Spend, SystemEntropy, buckets, noisy_buckets
from snhkit.privacy.buckets import BucketCosts, candidates, least_cost

CITY = Region.around(lat=0, lon=0, side_m=4)
FALSE_ALARM = 1e-7
lines = st.sampled_from([(2, 2), (4, 1), (4, 4), (8, 2), (8, 8)])


def counted(counts: list[int]):
    """Return the histogram of a grid whose cells hold the given counts, x-major."""
    m = int(len(counts) ** 0.5)
    cell = np.repeat(np.arange(m * m), counts)
    xy = np.stack([cell // m, cell % m], axis=1) * 4 / m
    return Grid(CITY, m).count(Points(CITY, xy))


def structures(cells: int, block: int, at: int = 0) -> list[list[tuple[int, int, int]]]:
    """Return all partitions of cells into blocks, each (begin, length, length of buckets)."""
    whole = [[(at, cells, 1 << k)] for k in range(cells.bit_length())]
    if cells == block:
        return whole
    quarter = cells // 4
    parts = product(*(structures(quarter, block, at + i * quarter) for i in range(4)))
    return whole + [list(chain(*part)) for part in parts]


def entry(noisy: list[np.ndarray], block: int, atom: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the place of a block among the candidates: list, row, column."""
    at, length, bucket = atom
    return (length // block).bit_length() // 2, bucket.bit_length() - 1, at // length


def cost(noisy, block: int, costs: BucketCosts, structure) -> int:
    total = 0
    for atom in structure:
        which, row, column = entry(noisy, block, atom)
        total += 2 * costs.units_per_record * int(noisy[which][row, column])
        total += costs.bucket_cost * (atom[1] // atom[2]) + costs.block_cost
    return total


def lengths(structure) -> list[int]:
    return [bucket for _, length, bucket in structure for _ in range(length // bucket)]


def drawn(data, cells: int, block: int, most: int) -> list[np.ndarray]:
    shapes = [d.shape for d in candidates(np.zeros(cells, np.int64), block)]
    return [data.draw(arrays(np.int64, s, elements=st.integers(-most, most))) for s in shapes]


def test_buckets_worked_out_by_hand():
    x = np.array([7, 7, 7, 7, 1, 9, 1, 1])
    noisy = candidates(x, block=2)
    # Buckets of 1, 2 cells in blocks of 2; of 1, 2, 4, 8 in the block of 8 (its median is 7).
    assert noisy[0].T.tolist() == [[0, 0], [0, 0], [0, 8], [0, 0]]
    assert noisy[1].T.tolist() == [[0, 8, 8, 20]]
    # Four blocks cost 5 at 1 per bucket; the large block costs 16 + 4 at 9, and 40 + 40 at 40.
    assert least_cost(noisy, BucketCosts(1, 1, Fraction(1))).tolist() == [2, 2, 1, 1, 2]
    assert least_cost(noisy, BucketCosts(1, 40, Fraction(1))).tolist() == [8]
    # At 1 per bucket and 4 per block the small blocks cost 5 + 16 and the large one 8 + 4; at 4 and
    # 9, they cost 20 + 36 and, with two buckets, 16 + 8 + 9.
    assert least_cost(noisy, BucketCosts(1, 1, Fraction(1), 4)).tolist() == [1] * 8
    assert least_cost(noisy, BucketCosts(1, 4, Fraction(1), 9)).tolist() == [4, 4]


@given(lines, st.data())
def test_deviations_are_from_the_median(line, data):
    cells, block = line
    x = data.draw(arrays(np.int64, cells, elements=st.integers(0, 50)))
    for i, found in enumerate(candidates(x, block)):
        for k, row in enumerate(found):
            pieces = x.reshape(-1, 1 << k)
            from_median = np.abs(pieces - np.median(pieces, axis=1, keepdims=True)).sum(axis=1)
            assert row.tolist() == from_median.reshape(found.shape[1], -1).sum(axis=1).tolist()
            from_mean = np.abs(pieces - pieces.mean(axis=1, keepdims=True)).sum(axis=1)
            assert (from_median <= from_mean + 1e-9).all()
            assert (from_mean <= 2 * from_median + 1e-9).all()
        assert found.shape == ((block << 2 * i).bit_length(), cells // (block << 2 * i))


@given(lines, st.integers(0, 7), st.data())
def test_a_record_changes_the_deviations_over_its_cell_by_one_at_most(line, cell, data):
    cells, block = line
    x = data.draw(arrays(np.int64, cells, elements=st.integers(0, 5)))
    more = x + (np.arange(cells) == cell % cells)
    for old, new in zip(candidates(x, block), candidates(more, block), strict=True):
        change = np.abs(new - old)
        assert change.max() <= 1
        there = cell % cells // (cells // old.shape[1])
        assert not np.delete(change, there, axis=1).any()


@given(lines, st.integers(1, 9), st.data())
def test_no_partition_costs_less(line, bucket, data):
    cells, block = line
    noisy = drawn(data, cells, block, 9)
    costs = BucketCosts(1, bucket, Fraction(1), bucket // 2)
    found = least_cost(noisy, costs).tolist()
    assert sum(found) == cells
    every = [(cost(noisy, block, costs, s), lengths(s)) for s in structures(cells, block)]
    least = min(every)[0]
    assert found in [way for price, way in every if price == least]


class TestPrivacyProof:
    """Lowering one block's noise by 2 makes up for one record, and lowering by less does not."""

    @staticmethod
    def winners(noisy, cells, block, costs):
        every = [(cost(noisy, block, costs, s), s) for s in structures(cells, block)]
        least = min(price for price, _ in every)
        return [s for price, s in every if price == least]

    @pytest.mark.parametrize("sign", [1, -1])
    @given(line=lines, cell=st.integers(0, 7), bucket=st.integers(1, 9), data=st.data())
    def test_the_same_partition_wins_after_lowering_one_noise_by_2(
        self, sign, line, cell, bucket, data
    ):
        cells, block = line
        x = data.draw(arrays(np.int64, cells, elements=st.integers(0, 5)))
        more = x + (np.arange(cells) == cell % cells)
        if sign < 0:
            x, more = more, x
        noise = drawn(data, cells, block, 9)
        costs = BucketCosts(1, bucket, Fraction(1), bucket // 2)
        before = [d + z for d, z in zip(candidates(x, block), noise, strict=True)]
        found, kept = least_cost(before, costs).tolist(), False
        for winner in self.winners(before, cells, block, costs):
            (atom,) = [a for a in winner if a[0] <= cell % cells < a[0] + a[1]]
            after = [d + z for d, z in zip(candidates(more, block), noise, strict=True)]
            which, row, column = entry(after, block, atom)
            after[which][row, column] -= 2
            assert winner in self.winners(after, cells, block, costs)
            kept |= least_cost(after, costs).tolist() == found == lengths(winner)
        assert kept  # by the tie-breaking too

    def test_lowering_by_less_is_not_enough(self):
        # With a record more in the first cell, the deviation of the pairs rises from 0 to 1, and
        # that of the one bucket of four falls from 8 to 7. With noise -7 the one bucket costs
        # 2 (8 - 7) + 1 = 3, and the pairs cost 0 + 2.
        x, more = np.array([1, 1, 5, 5]), np.array([2, 1, 5, 5])
        costs = BucketCosts(1, 1, Fraction(1))
        noise = np.array([[99], [0], [-7]])
        (before,), (after,) = candidates(x, 4), candidates(more, 4)
        pairs = [(0, 4, 2)]
        for lowered, still in ((0, False), (1, False), (2, True)):
            noisy = [after + noise - lowered * np.array([[0], [1], [0]])]
            assert self.winners([before + noise], 4, 4, costs) == [pairs]
            assert (self.winners(noisy, 4, 4, costs) == [pairs]) == still


def law(counts: ArrayLike, price: int, scale: float) -> np.ndarray:
    """Return the probabilities that four cells become buckets of 1, 2 and 4 cells."""
    z = np.arange(-60, 61)
    p = dlaplace(1 / scale).pmf(z)
    deviation = candidates(np.array(counts), 4)[0]
    cost = 2 * (deviation + z) + price * np.array([[4], [2], [1]])
    best = np.stack(
        [
            np.broadcast_to(c, (z.size,) * 3)
            for c in (cost[0][:, None, None], cost[1][:, None], cost[2])
        ]
    ).argmin(axis=0)
    weight = p[:, None, None] * p[:, None] * p
    return np.bincount(best.ravel(), weight.ravel(), minlength=3)


@pytest.mark.chance(FALSE_ALARM)
def test_the_noise_has_the_scale_of_its_price():
    counts, epsilon, price = [0, 9, 3, 2], Fraction(1), Fraction(3)
    args = np.arange(4), 4, price, epsilon, 1, SystemEntropy()
    seen = [len(noisy_buckets(counted(counts), *args)[0]) == 1 for _ in range(1_500)]
    half, right, twice = (
        binomtest(sum(seen), len(seen), law(counts, 3, scale)[2]).pvalue for scale in (1, 2, 4)
    )
    assert half < FALSE_ALARM < right
    assert twice < FALSE_ALARM


@settings(max_examples=25)
@given(arrays(np.int64, 4, elements=st.integers(0, 9)), st.integers(0, 3), st.integers(0, 20))
def test_a_record_changes_log_probabilities_by_at_most_epsilon(x, cell, price):
    more = x + (np.arange(4) == cell)
    loss = np.abs(np.log(law(x, price, 2.0) / law(more, price, 2.0)))
    assert loss.max() <= 1 + 1e-6


def test_half_of_the_noise_costs_more():
    few, more = (law([8, 8, 0, last], 8, 1.0) for last in (0, 1))
    assert np.abs(np.log(few / more)).max() > 1.8


def test_noisy_deviations_may_be_negative(monkeypatch):
    """A cost that is cut off at 0 cannot fall, so that a block could not balance the others."""
    seen = []
    monkeypatch.setattr(
        buckets, "least_cost", lambda noisy, costs: seen.extend(noisy) or np.array([4])
    )
    args = np.arange(4), 4, Fraction(3), Fraction(1, 10), 1, SystemEntropy()
    noisy_buckets(counted([0, 0, 0, 0]), *args)
    assert min(deviation.min() for deviation in seen) < 0


def test_each_block_has_noise_of_its_own(monkeypatch):
    seen = []
    monkeypatch.setattr(
        buckets, "least_cost", lambda noisy, costs: seen.extend(noisy) or np.array([16])
    )
    args = np.arange(16), 4, Fraction(3), Fraction(1, 100), 1, SystemEntropy()
    noisy_buckets(counted([0] * 16), *args)
    every = np.concatenate([deviation.ravel() for deviation in seen])
    assert len(set(every)) > len(every) / 2


def test_buckets_with_little_noise_have_the_least_true_cost():
    counts = [9, 9, 1, 3, 9, 9, 0, 0, 5, 5, 5, 5, 0, 8, 0, 0]
    along = np.random.default_rng(0).permutation(16)
    length, spend = noisy_buckets(
        counted(counts), along, 4, Fraction(3), Fraction(10**6), 1, SystemEntropy()
    )
    expected = least_cost(candidates(np.array(counts)[along], 4), BucketCosts(1, 3, Fraction(1)))
    assert length.tolist() == expected.tolist()
    assert spend == Spend(Fraction(10**6), "bucket boundaries")


@given(st.integers(-13, 20), st.sampled_from([1, 1_000]))
def test_costs_never_overflow(power, sensitivity):
    epsilon = Fraction(2) ** power
    cells, price = 4**13, sensitivity / epsilon
    costs = BucketCosts.of(cells, price, epsilon, sensitivity)
    assert costs.scale >= 2 * sensitivity / epsilon
    assert costs.bucket_cost >= 1
    worst = (
        2 * costs.units_per_record * (2**40 + cells * 1_001 * costs.scale)
        + costs.bucket_cost * cells
    )
    assert worst < 2**63


def test_costs_by_hand():
    # 2 (2^40 + 4 * 2^10 * 20) + 4 * 11 is a little above 2^41, so more than 2^20 units would fit.
    costs = BucketCosts.of(4, Fraction(10), Fraction(1, 2), sensitivity=5)
    assert costs == BucketCosts(2**20, 10 * 2**20, Fraction(20))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"along": np.array([0, 1, 2, 2])}, "along must contain each whole number from 0 to 3"),
        ({"along": np.arange(3)}, "along must contain each whole number from 0 to 3"),
        ({"along": np.arange(1, 5)}, "along must contain each whole number from 0 to 3"),
        ({"block": 3}, "powers of two"),
        ({"block": 0}, "powers of two"),
        ({"block": 2}, "a power of four, not 4 cells for block = 2"),
        ({"histogram": np.zeros(4, int)}, "not a ndarray"),
        ({"epsilon": 0}, "epsilon must be greater"),
        ({"sensitivity": 0}, "sensitivity must be"),
        ({"epsilon": Fraction(1, 10**17)}, "larger epsilon"),
    ],
)
def test_invalid_arguments_are_refused(change, match):
    given = {
        "histogram": counted([1, 0, 0, 2]),
        "along": np.arange(4),
        "block": 1,
        "price": Fraction(1),
        "epsilon": Fraction(1),
        "sensitivity": 1,
        "entropy": SystemEntropy(),
    } | change
    with pytest.raises(InputError, match=match):
        noisy_buckets(**given)


def test_cells_must_be_a_power_of_two():
    nine = counted([1] * 9)
    with pytest.raises(InputError, match="powers of two"):
        noisy_buckets(nine, np.arange(9), 1, Fraction(1), Fraction(1), 1, SystemEntropy())
