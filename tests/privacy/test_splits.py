import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, dlaplace

from snhkit.errors import InputError
from snhkit.geometry import Partition, Points, Region
from snhkit.geometry.dyadic import square_of, squares_at
from snhkit.privacy import PointSource, Spend, SystemEntropy
from snhkit.privacy.splits import Lattice, noisy_splits

CITY = Region.around(lat=0, lon=0, side_m=8)
FALSE_ALARM = 1e-7


def spot(n: int) -> PointSource:
    return PointSource(Points(CITY, np.full((n, 2), 1.0)))


def worst_path(epsilon: Fraction, count: int, lattice: Lattice) -> float:
    """Return the privacy loss of one more record in a spot, if its path is always split."""
    depth = np.arange(60)
    one, other = (
        np.array([lattice.biased(np.array([c]), d)[0] for d in depth.tolist()])
        for c in (count + 1, count)
    )
    law = dlaplace(1 / lattice.scale)
    return float((law.logsf(-one) - law.logsf(-other)).sum())


@given(st.sampled_from(["0.001", "0.1", "0.5", "1", "4", "30"]), st.integers(0, 60))
def test_a_path_costs_at_most_epsilon_at_any_depth(epsilon, count):
    epsilon = Fraction(epsilon)
    lattice = Lattice.of(epsilon, 1)
    count = int(count * max(1, lattice.decay / lattice.step / 4))
    assert worst_path(epsilon, count, lattice) <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "4"])
def test_half_of_the_noise_costs_more(epsilon):
    epsilon = Fraction(epsilon)
    paid = Lattice.of(epsilon, 1)
    half = Lattice(paid.step, paid.scale // 2, paid.decay)
    counts = range(0, int(5 * paid.decay / paid.step) + 3, max(1, paid.decay // paid.step // 8))
    assert max(worst_path(epsilon, c, half) for c in counts) > 1.1 * epsilon


def test_the_lattice_by_hand():
    # 7/3 * 5 / (1/10) = 350/3 records, in parts of 2^-20
    lattice = Lattice.of(Fraction(1, 10), 5)
    assert lattice.step == 2**20
    assert lattice.scale == -(-350 * 2**20 // 3) + 2
    assert lattice.decay >= np.log(4) * lattice.scale
    assert lattice.decay <= 1.0001 * np.log(4) * lattice.scale
    counts = np.array([0, 1_000])
    floor = -lattice.decay
    assert lattice.biased(counts, 0).tolist() == [0, 1_000 * 2**20]
    assert lattice.biased(counts, 3).tolist() == [floor, 1_000 * 2**20 - 3 * lattice.decay]


def test_the_lattice_is_coarser_for_tiny_epsilons():
    lattice = Lattice.of(Fraction(1, 10**9), 1_000)
    assert 2**47 < lattice.scale <= 2**49
    assert lattice.step < 2**20
    with pytest.raises(InputError, match=r"below 2\*\*47"):
        Lattice.of(Fraction(1, 2**60), 1_000)


@pytest.mark.chance(FALSE_ALARM)
@pytest.mark.parametrize("count", [0, 20])
def test_a_quarter_is_split_as_often_as_its_count_says(count):
    epsilon, seen = Fraction(1, 10), []
    for _ in range(1_500):
        depth, number, _ = noisy_splits(spot(count), 2, 99, epsilon, 1, SystemEntropy())
        seen.append(((depth == 2) & (number < 4)).any())
    lattice = Lattice.of(epsilon, 1)
    share = {k: dlaplace(1 / lattice.scale).sf(-count * k * lattice.step) for k in (1, 2)}
    assert binomtest(sum(seen), len(seen), share[1]).pvalue > FALSE_ALARM
    if count:
        assert binomtest(sum(seen), len(seen), share[2]).pvalue < FALSE_ALARM


def test_squares_of_a_depth_are_split_independently():
    """Four quarters without records: one noise for all of them would split all or none."""
    seen = set()
    for _ in range(60):
        depth, number, _ = noisy_splits(spot(0), 2, 99, Fraction(1), 1, SystemEntropy())
        seen.add(len(set(number[depth == 2] // 4)))
    assert seen & {1, 2, 3}


@pytest.mark.parametrize(("max_depth", "most", "squares"), [(1, 99, 4), (1, 3, 1), (0, 99, 1)])
def test_the_root_is_split_without_a_test(max_depth, most, squares, monkeypatch):
    monkeypatch.setattr(Lattice, "biased", None)
    depth, number, _ = noisy_splits(spot(0), max_depth, most, Fraction(1), 1, SystemEntropy())
    assert number.tolist() == list(range(squares))
    assert depth.tolist() == [squares // 4] * squares


def test_with_little_noise_squares_are_split_down_to_the_largest_depth():
    points = Points(CITY, [[0.5, 0.5], [7.5, 0.5]])
    depth, number, spend = noisy_splits(
        PointSource(points), 3, 999, Fraction(10**6), 1, SystemEntropy()
    )
    cells = Partition.dyadic(CITY, depth, *squares_at(number))
    counts = cells.count(points).counts
    assert sorted(depth[counts > 0].tolist()) == [3, 3]
    assert set(number[counts > 0]) == set(square_of(points, 3))
    # The biased count of an empty square is at its minimum, so one in eight is split at any scale.
    assert len(depth) >= 2 + 2 * 3 + 2 * 4
    assert spend == Spend(Fraction(10**6), "splits of a quadtree")


@given(st.integers(0, 5), st.integers(1, 300), st.integers(0, 50))
def test_the_squares_are_always_a_partition(max_depth, most, n):
    depth, number, _ = noisy_splits(spot(n), max_depth, most, Fraction(1), 1, SystemEntropy())
    cells = Partition.dyadic(CITY, depth, *squares_at(number))  # or it would raise
    assert len(cells) <= most
    assert depth.max() <= max_depth


def test_invalid_prices_and_sensitivities_are_refused():
    for epsilon, sensitivity in ((0, 1), (-1, 1), (float("nan"), 1), (1, 0), (1, 1.5), (1, True)):
        with pytest.raises(InputError, match=r"epsilon|sensitivity"):
            noisy_splits(spot(1), 2, 99, epsilon, sensitivity, SystemEntropy())


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 3, 30])
def test_a_square_is_split_where_the_proof_says(depth, count, monkeypatch):
    """The formula of docs/privacy.md, written anew, at the noise on either side of its limit."""
    epsilon = Fraction(1, 2)
    scale = math.ceil(Fraction(7, 3) * 2**20 / epsilon) + 2
    decay = Lattice.of(epsilon, 1).decay
    assert math.log(4) * scale <= decay < 1.0001 * math.log(4) * scale
    limit = -max(count * 2**20 - (depth - 1) * decay, -decay)  # quarters have depth 0 there
    city = Region.around(lat=0, lon=0, side_m=100)
    source = PointSource(Points(city, np.full((count, 2), 1.0)))
    for noise, split in ((limit - 2, False), (limit + 2, True)):
        made = []

        def drawn(shape, given, entropy, made=made, noise=noise):
            made.append(given)
            last = len(made) == depth
            drawn = np.full(shape, -(2**60))
            drawn[0] = noise if last else 2**60 if len(made) < depth else -(2**60)
            return drawn

        monkeypatch.setattr("snhkit.privacy.splits.discrete_laplace", drawn)
        found, _, _ = noisy_splits(source, 5, 10**6, epsilon, 1, SystemEntropy())
        assert found.max() == depth + split
        assert set(made) == {Fraction(scale)}
