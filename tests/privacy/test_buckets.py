import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, dlaplace

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import Spend, SystemEntropy
from snhkit.privacy.buckets import deviations, noisy_buckets
from snhkit.privacy.splits import Lattice

CITY = Region.around(lat=0, lon=0, side_m=4)
FALSE_ALARM = 1e-7
prices = st.sampled_from(["0.001", "0.1", "0.5", "1", "4", "30"]).map(Fraction)
sixteen = arrays(np.int64, 16, elements=st.integers(0, 9))


def counted(counts: list[int]):
    """Return the histogram of a grid whose cells hold the given counts, x-major."""
    m = int(len(counts) ** 0.5)
    cell = np.repeat(np.arange(m * m), counts)
    xy = np.stack([cell // m, cell % m], axis=1) * 4 / m
    return Grid(CITY, m).count(Points(CITY, xy))


def buckets(counts: list[int], epsilon, longest: int, sensitivity: int = 1) -> list[int]:
    along = np.arange(len(counts))
    args = counted(counts), along, longest, Fraction(epsilon), sensitivity, SystemEntropy()
    return noisy_buckets(*args)[0].tolist()


def log_odds(deviation: int, depth: int, lattice: Lattice) -> tuple[float, float]:
    """Return the log probabilities that a bucket is divided, and that it is not."""
    x, scale = int(lattice.biased(np.array([deviation]), depth)[0]), lattice.scale
    rare = -(x if x > 0 else 1 - x) / scale - np.log1p(np.exp(-1 / scale))
    usual = float(np.log1p(-np.exp(rare)))
    return (usual, rare) if x > 0 else (rare, usual)


@pytest.mark.parametrize("deviation", [0, 1, 5, 40])
def test_the_odds_are_those_of_the_noise(deviation):
    lattice = Lattice.of(Fraction(1, 2), 1)
    for depth in (0, 3):
        lowered = lattice.biased(np.array([deviation]), depth)[0]
        law = dlaplace(1 / lattice.scale)
        expected = law.logsf(-lowered), law.logcdf(-lowered)
        assert log_odds(deviation, depth, lattice) == pytest.approx(expected)


class TestDeviations:
    def test_by_hand(self):
        counts = np.array([9, 1, 4, 4, *[3] * 12])
        (whole,), quarters = deviations(counts, 16)
        assert quarters.tolist() == [8, 0, 0, 0]
        assert whole == 6 + 2 + 1 + 1
        assert [d.tolist() for d in deviations(counts, 4)] == [[8, 0, 0, 0]]
        assert deviations(counts, 1) == []

    @given(sixteen)
    def test_they_are_distances_from_the_median(self, counts):
        (whole,), quarters = deviations(counts, 16)
        assert whole == np.abs(counts - np.median(counts)).sum()
        rows = counts.reshape(4, 4)
        middle = np.median(rows, axis=1, keepdims=True)
        assert quarters.tolist() == np.abs(rows - middle).sum(axis=1).tolist()

    @given(sixteen, st.integers(0, 15))
    def test_a_record_changes_the_deviations_over_its_cell_by_one_at_most(self, counts, cell):
        more = counts + (np.arange(16) == cell)
        for before, after in zip(deviations(counts, 16), deviations(more, 16), strict=True):
            change = np.abs(after - before)
            assert change.max() <= 1
            assert set(np.flatnonzero(change)) <= {cell * len(change) // 16}

    @given(sixteen)
    def test_a_quarter_deviates_no_more_than_the_whole(self, counts):
        (whole,), quarters = deviations(counts, 16)
        assert quarters.max() <= whole


class TestPrivacyProof:
    @given(
        prices,
        st.lists(st.integers(0, 60), min_size=1, max_size=30),
        st.lists(st.sampled_from([-1, 0, 1]), min_size=30, max_size=30),
        st.integers(1, 30),
    )
    def test_a_path_costs_at_most_epsilon(self, epsilon, falls, changes, divided):
        lattice = Lattice.of(epsilon, 1)
        unit = max(1, lattice.decay // lattice.step // 4)
        path = np.cumsum(np.array(falls[::-1]) * unit)[::-1]  # never grows with depth
        loss = 0.0
        changed = np.minimum.accumulate(np.maximum(path + changes[: len(path)], 0))
        changed = np.maximum(changed, path - 1)  # both paths fall, and differ by at most 1
        for depth, (deviation, other_deviation) in enumerate(zip(path, changed, strict=True)):
            one = log_odds(deviation, depth, lattice)
            other = log_odds(other_deviation, depth, lattice)
            kept = depth >= min(divided, len(path) - 1)
            loss += abs(one[kept] - other[kept])
            if kept:
                break
        assert loss <= epsilon * (1 + Fraction(1, 10**6))

    @given(sixteen, st.integers(0, 15), prices)
    def test_a_record_changes_log_probabilities_by_at_most_epsilon(self, counts, cell, epsilon):
        more = counts + (np.arange(16) == cell)
        lattice = Lattice.of(epsilon, 1)
        loss = np.abs(self.law(counts, lattice) - self.law(more, lattice))
        assert loss.max() <= epsilon * (1 + Fraction(1, 10**6))

    @staticmethod
    def law(counts: np.ndarray, lattice: Lattice) -> np.ndarray:
        """Return the log probabilities of all 17 partitions of 16 cells."""
        (whole,), quarters = deviations(counts, 16)
        divided, kept = log_odds(whole, 0, lattice)
        below = [log_odds(quarter, 1, lattice) for quarter in quarters]
        found = np.array([kept, *(divided + sum(each) for each in product(*below))])
        assert np.exp(found).sum() == pytest.approx(1)
        return found

    @pytest.mark.parametrize("epsilon", ["1", "4"])
    def test_the_worst_paths_cost_nearly_epsilon(self, epsilon):
        lattice = Lattice.of(Fraction(epsilon), 1)
        assert 0.6 < worst_loss(lattice) / float(epsilon) <= 1
        half = Lattice(lattice.step, lattice.scale // 2, lattice.decay // 2)
        assert worst_loss(half) > float(epsilon)
        flat = Lattice(lattice.step, lattice.scale, lattice.decay // 4)
        assert worst_loss(flat) > float(epsilon)


def worst_loss(lattice: Lattice, depths: int = 9) -> float:
    """Return the largest privacy loss of a record on any path of buckets, from dynamic programming.

    On a path, deviations never rise, neither with nor without the record, which changes each of
    them by at most one.
    """
    most = (depths * lattice.decay + 6 * lattice.scale) // lattice.step + 2
    values = np.arange(most + 2)
    # Key c holds, for each v, the largest loss below a bucket with deviations v and v + c.
    below = {c: np.zeros(most + 2) for c in (-1, 0, 1)}
    for depth in reversed(range(depths)):
        divided, kept = np.array([log_odds(v, depth, lattice) for v in values]).T
        ends = {}
        for c in (-1, 0, 1):
            v = values[max(0, -c) : most + 2 - max(0, c)]
            lost = np.full(most + 2, -np.inf)
            # Of the next bucket, one deviation is at most v, and the other at most v + c.
            after = np.maximum.reduce(
                [
                    np.where(np.minimum(v, v + c - k) < 0, 0, below[k][np.minimum(v, v + c - k)])
                    for k in (-1, 0, 1)
                ]
            )
            lost[v] = np.maximum(
                divided[v] - divided[v + c] + np.maximum(after, 0), kept[v] - kept[v + c]
            )
            ends[c] = np.maximum.accumulate(lost)
        below = ends
    return float(max(loss.max() for loss in below.values()))


@pytest.mark.chance(FALSE_ALARM)
@pytest.mark.parametrize(("longest", "depth"), [(4, 0), (16, 1)])
def test_the_noise_has_the_scale_of_its_price(longest, depth):
    counts, epsilon = [0, 40, 20, 9] + [0] * (longest - 4), Fraction(1, 5)
    seen = [buckets(counts, epsilon, longest) for _ in range(1_500)]
    right = Lattice.of(epsilon, 1)

    def share(scale: int) -> float:
        lattice = Lattice(right.step, scale, right.decay)
        path = [d[0] for d in deviations(np.array(counts), longest)]
        return float(np.exp(sum(log_odds(d, k, lattice)[0] for k, d in enumerate(path))))

    divided = sum(found[0] == 1 for found in seen)
    assert binomtest(divided, len(seen), share(right.scale)).pvalue > FALSE_ALARM
    for wrong in (right.scale // 4, 4 * right.scale):
        assert binomtest(divided, len(seen), share(wrong)).pvalue < FALSE_ALARM


@pytest.mark.chance(1e-12)
def test_each_bucket_has_noise_of_its_own():
    """One noise for all four buckets without deviation would divide all of them or none."""
    seen = {len(buckets([0] * 16, 1, longest=4)) for _ in range(60)}
    assert seen - {4, 16}


@pytest.mark.chance(1e-9)
def test_buckets_with_little_noise_are_divided_if_their_cells_differ():
    counts = [9, 9, 1, 3, 9, 9, 0, 0, 5, 7, 5, 5, 0, 8, 0, 0]
    along = np.random.default_rng(0).permutation(16)
    line = np.empty(16, int)
    line[along] = counts  # the counts in the order of the line
    length, spend = noisy_buckets(
        counted(line.tolist()), along, 16, Fraction(10**6), 1, SystemEntropy()
    )
    assert length.tolist() == [1] * 16
    assert spend == Spend(Fraction(10**6), "bucket boundaries")


@pytest.mark.chance(1e-9)
@pytest.mark.parametrize("cell", [0, 37, 63])
def test_buckets_around_a_crowd_are_divided_down_to_its_cell(cell):
    # At epsilon 1, two divisions lower a deviation by about 6 records; noise above 80 is rare.
    counts = [0] * 64
    counts[cell] = 900
    seen = [np.array(buckets(counts, 1, longest=64)) for _ in range(20)]
    assert all(1 in found[np.cumsum(found) == cell + 1] for found in seen)
    # One in eight of the other buckets is divided, since their lowered deviations are smallest.
    assert np.mean([found.size for found in seen]) < 20


@given(sixteen, st.sampled_from([1, 4, 16]))
def test_the_buckets_are_always_a_partition(counts, longest):
    found = np.array(buckets(counts.tolist(), 1, longest))
    begin = np.cumsum(found) - found
    assert found.sum() == 16
    assert found.max() <= longest
    assert set(found) <= {1, 4, 16}
    assert not (begin % found).any()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"along": np.array([0, 1, 2, 2])}, "along must contain each whole number from 0 to 3"),
        ({"along": np.arange(3)}, "along must contain each whole number from 0 to 3"),
        ({"along": np.arange(1, 5)}, "along must contain each whole number from 0 to 3"),
        ({"longest": 3}, "a power of four that divides the number of cells, not 3 for 4 cells"),
        ({"longest": 0}, "a power of four"),
        ({"longest": 2}, "a power of four"),
        ({"longest": 16}, "a power of four"),
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
        "longest": 1,
        "epsilon": Fraction(1),
        "sensitivity": 1,
        "entropy": SystemEntropy(),
    } | change
    with pytest.raises(InputError, match=match):
        noisy_buckets(**given)


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("deviation", [0, 1, 3, 30])
def test_a_bucket_is_divided_where_the_proof_says(depth, deviation, monkeypatch):
    """The formula of docs/privacy.md, written anew, at the noise on either side of its limit."""
    epsilon, longest = Fraction(1, 2), 64
    scale = math.ceil(Fraction(7, 3) * 2**20 / epsilon) + 2
    decay = Lattice.of(epsilon, 1).decay
    assert math.log(4) * scale <= decay < 1.0001 * math.log(4) * scale
    limit = -max(deviation * 2**20 - depth * decay, -decay)  # divided if the noise is above this
    counts, size = np.zeros(64, int), 64 // 4**depth
    counts[-1] = deviation  # in the last bucket; that is its distance from the median
    for noise, divided in ((limit - 2, False), (limit + 2, True)):
        made = []

        def drawn(shape, given, entropy, made=made, noise=noise):
            made.append(given)
            # The buckets above are divided, and only the last one of each depth matters.
            return np.full(
                shape,
                noise if len(made) == depth + 1 else -(2**60) if len(made) > depth + 1 else 2**60,
            )

        monkeypatch.setattr("snhkit.privacy.buckets.discrete_laplace", drawn)
        length = buckets(counts.tolist(), epsilon, longest)
        assert (length[-1] < size) == divided
        assert set(made) == {Fraction(scale)}
