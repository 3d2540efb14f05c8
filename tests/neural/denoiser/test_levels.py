"""Counts of cells and blocks: what is bought, and what they say together."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.geometry.grid import block_starts, block_sums
from snhkit.neural.denoiser import levels
from snhkit.neural.denoiser.levels import (
    blocks,
    bought_levels,
    estimates,
    merged_groups,
)
from snhkit.privacy import Measurements, PointSource, PrivacyUnit, ReplayableEntropy, Terms

CITY = Region.around(lat=45, lon=7, side_m=4_800)


def measured(records, epsilon, n=1_000, entropy=None, **unit) -> Measurements:
    kind = PrivacyUnit(**(unit or {"kind": "record"}))
    terms = Terms(Fraction(epsilon), kind, n)
    return Measurements(PointSource(records), terms, entropy or ReplayableEntropy(3))


class TestBlocks:
    @pytest.mark.parametrize(
        ("side_m", "m", "small", "large"),
        [
            (13_200, 330, 33, 11),  # of 400 m, and of 1,200 m
            (13_200, 100, 24, 8),  # four cells of 132 m a side
            (13_200, 1, 1, 1),
            (400, 8, 3, 1),
            (13_200, 5_280, 132, 44),  # 40 cells a side at most
        ],
    )
    def test_widths(self, side_m, m, small, large):
        found = blocks(Grid(Region.around(lat=0, lon=0, side_m=side_m), m))
        assert [len(first) for first in found] == [small, large]

    @pytest.mark.parametrize("m", [*range(1, 60), 97, 331, 2_641])
    def test_large_blocks_are_made_of_whole_small_ones(self, m):
        small, large = blocks(Grid(CITY, m))
        assert set(large) <= set(small)
        assert (np.diff(small, append=m) > 0).all()
        assert small[0] == large[0] == 0


def by_least_squares(cells, small, large, grid, group):
    """All counts as one linear model, whose unknowns are the counted groups of cells."""
    m = grid.m
    firsts = blocks(grid)
    groups = int(group.max()) + 1
    rows, variances = [np.eye(groups)], [np.full(groups, 2.0)]
    told = [np.bincount(group.ravel(), cells.ravel())]
    of_group = np.zeros(groups, int)
    maps = []
    for first in firsts:
        at = np.repeat(np.arange(len(first)), np.diff(first, append=m))
        of_group[group.ravel()] = (at[:, None] * len(first) + at).ravel()
        maps.append(np.eye(len(first) ** 2)[of_group].T)
    for part, which in ((small, maps[0]), (large, maps[1])):
        if part is not None:
            rows.append(which)
            told.append(part[0].ravel())
            variances.append(np.full(len(which), part[1]))
    design, weight = np.concatenate(rows), 1 / np.concatenate(variances)
    covariance = np.linalg.inv(design.T @ (weight[:, None] * design))
    best = covariance @ (design.T @ (weight * np.concatenate(told)))
    return [(a @ best, np.diag(a @ covariance @ a.T)) for a in maps]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("bought", ["none", "small", "large", "both"])
def test_estimates_are_those_of_weighted_least_squares(bought, merged):
    rng = np.random.default_rng(5)
    grid = Grid(Region.around(lat=0, lon=0, side_m=2_600), 26)  # uneven blocks of 4 and 5 cells
    small, large = (len(first) for first in blocks(grid))
    assert (small, large) == (6, 2)
    coarse = {
        "small": (rng.normal(40, 9, (small,) * 2), 7.0),
        "large": (rng.normal(400, 9, (2, 2)), 30.0),
    }
    given = [coarse[k] if bought in (k, "both") else None for k in ("small", "large")]
    cells = rng.normal(2, 3, (26, 26))
    group = None
    if merged:
        held = rng.uniform(0, 30, (small, small))
        group = merged_groups(26, blocks(grid)[0], held, 1.0)
        assert 36 < group.max() + 1 < 26 * 26
    found = estimates(grid, 1.0, cells, given[1], given[0], group)
    each = np.arange(26 * 26).reshape(26, 26) if group is None else group
    for ours, (sums, variances) in zip(
        (found.small, found.large), by_least_squares(cells, *given, grid, each), strict=True
    ):
        np.testing.assert_allclose(ours.sums.ravel(), sums, rtol=1e-8)
        np.testing.assert_allclose(ours.variance.ravel(), variances, rtol=1e-8)


class TestBought:
    def records(self, count=500):
        return Points(CITY, np.random.default_rng(0).uniform(0, 4_800, (count, 2)))

    def test_what_is_paid_and_for_what(self):
        private = measured(self.records(), 1)
        found, spends = bought_levels(private, Grid(CITY, 120), 0.2), private.spends
        assert [(s.epsilon, s.composition) for s in spends] == [
            (Fraction(7, 50), "parallel"),
            (Fraction(3, 50), "parallel"),
            (Fraction(4, 5), "parallel"),
        ]
        assert [s.what for s in spends] == [
            "counts of 16 cells",
            "counts of 144 cells",
            "counts of 14,400 cells",
        ]
        assert found.noise_scale == pytest.approx(1.25)

    def test_no_share_buys_cells_only(self):
        private = measured(self.records(), 1)
        found = bought_levels(private, Grid(CITY, 120), 0)
        assert [s.epsilon for s in private.spends] == [1]
        np.testing.assert_allclose(found.large.sums.sum(), found.cells.sum())
        assert (found.small.variance == 200).all()
        assert found.group is None

    def test_a_person_with_three_records_makes_three_times_the_noise(self, monkeypatch):
        asked = []
        monkeypatch.setattr(levels, "enough_records", lambda *given: asked.append(given))
        private = measured(self.records(), 1, kind="user", max_per_user=3)
        assert bought_levels(private, Grid(CITY, 40), 0.5).noise_scale == 6
        ((_, epsilon, cell_m),) = asked
        assert (epsilon, cell_m) == (pytest.approx(1 / 6), 120)

    def test_without_noise_they_are_the_counts(self, monkeypatch):
        monkeypatch.setattr(levels, "enough_records", lambda *_: 1.0)
        records, grid = self.records(), Grid(CITY, 50)
        found = bought_levels(measured(records, 10**9), grid, 0.3)
        counts = grid.count(records).counts
        np.testing.assert_allclose(found.cells * found.noise_scale, counts, atol=1e-6)
        for part in (found.small, found.large):
            np.testing.assert_allclose(
                part.sums * found.noise_scale, block_sums(counts, part.first), atol=1e-6
            )

    def test_groups_of_cells_are_counted_at_once(self, monkeypatch):
        """All records are in the south-west: elsewhere blocks are cut into few groups."""
        monkeypatch.setattr(levels, "enough_records", lambda *_: 0.5)
        records = Points(CITY, np.random.default_rng(0).uniform(0, 400, (40_000, 2)))
        grid = Grid(CITY, 120)
        private = measured(records, 1)
        found, spends = bought_levels(private, grid, 0.2), private.spends
        assert (found.group[:10, :10] == np.arange(100).reshape(10, 10)).all()
        apart = [found.group[i : i + 10, j : j + 10] for i in range(0, 120, 10) for j in (60, 90)]
        assert np.mean([len(np.unique(part)) < 100 for part in apart]) > 0.6
        assert spends[-1].what == f"counts of {found.group.max() + 1:,} cells"
        counts = np.bincount(found.group.ravel(), grid.count(records).counts.ravel())
        noisy = np.bincount(found.group.ravel(), found.cells.ravel() * found.noise_scale)
        np.testing.assert_allclose(noisy, np.rint(noisy), atol=1e-9)
        assert np.std(noisy - counts) == pytest.approx(np.sqrt(2) * found.noise_scale, rel=0.1)

    @pytest.mark.parametrize("enough", [0, 0.5])
    def test_the_noise_of_blocks_is_that_of_their_shares(self, enough, monkeypatch):
        """Of the squared errors of 144 sums in units of their variances, the mean is 1.

        The standard deviation of the mean over 60 draws is below 0.04.
        """
        monkeypatch.setattr(levels, "enough_records", lambda *_: enough)
        records, grid = self.records(), Grid(CITY, 120)
        counts, entropy, ratios = grid.count(records).counts, ReplayableEntropy(1), []
        for _ in range(60):
            found = bought_levels(measured(records, 1, 500, entropy), grid, 0.4)
            for part in (found.small, found.large):
                off = part.sums - block_sums(counts, part.first) / found.noise_scale
                ratios.append(float(np.mean(off**2 / part.variance)))
        assert np.mean(ratios[::2]) == pytest.approx(1, abs=0.2)
        assert np.mean(ratios[1::2]) == pytest.approx(1, abs=0.4)


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, float("nan"), True, "0.2"])
@pytest.mark.usefixtures("unchecked")
def test_shares_that_are_none(share):
    with pytest.raises(InputError, match="coarse must be a fraction of epsilon"):
        levels.checked_share("coarse", share)


@pytest.mark.parametrize(
    ("n", "epsilon", "sizes_m", "share"),
    [
        (11_000, 1.0, (25, 100), 0.17),
        (3_000, 1.0, (25, 100), 0.17),
        (3_000, 0.5, (25, 100), 0.17 * 2**0.3),
        (2_000, 0.05, (25, 100), 0.4),
        (0, 1.0, (25, 100), 0.4),
        (44_000, 1.0, (10, 20), 0.17 * 4**-0.2),
        (11_000, 1.0, (100, 300), 0.17 * 3.2**0.4),
        (11_000, 1.0, (1_000, 5_000), 0.4),
    ],
)
def test_the_default_share(n, epsilon, sizes_m, share):
    assert levels.coarse_share(n, epsilon, sizes_m) == pytest.approx(share)


@pytest.mark.parametrize(
    ("n", "epsilon", "cell_m", "enough"),
    [
        (9_000, 0.8, 90, 0),  # noise hides which blocks are empty
        (100_000, 0.2, 40, 0.5),
        (1_000_000, 1.0, 40, 1),
        (100_000, 0.2, 20, 0),  # narrower than the default, 34.7 m
    ],
)
def test_when_cells_are_counted_in_groups(n, epsilon, cell_m, enough):
    assert levels.enough_records(n, epsilon, cell_m) == enough


@given(st.data())
def test_groups_are_rectangles_within_blocks_and_numbered_without_a_gap(data):
    m = data.draw(st.integers(1, 40))
    count = data.draw(st.integers(1, m))
    first = block_starts(m, count)
    sums = np.random.default_rng(data.draw(st.integers(0, 9))).normal(5, 20, (count, count))
    found = merged_groups(m, first, sums, 1.0)
    numbers = np.unique(found)
    assert numbers.tolist() == list(range(len(numbers)))
    block = np.repeat(np.arange(count), np.diff(first, append=m))
    for number in numbers:
        i, j = np.nonzero(found == number)
        assert len(i) == (np.ptp(i) + 1) * (np.ptp(j) + 1)
        assert len(set(block[i])) == len(set(block[j])) == 1


@pytest.mark.parametrize(
    ("held", "groups"),
    [(-50, 1), (0, 1), (3.9, 1), (4, 4), (8.9, 4), (9, 9), (80.9, 64), (81, 144), (1e9, 144)],
)
def test_how_many_groups_a_block_of_12_by_12_cells_has(held, groups):
    """A group for each record; where groups would be below 1.5 cells wide, single cells."""
    found = merged_groups(12, np.zeros(1, int), np.array([[float(held)]]), 1.0)
    assert found.max() + 1 == groups
    sizes = np.bincount(found.ravel())
    assert sizes.min() >= 0.25 * sizes.max()


def test_groups_follow_what_blocks_hold():
    sums = np.array([[100.0, 0.0], [0.0, 0.0]])
    found = merged_groups(8, np.array([0, 4]), sums, 1.0)
    assert np.bincount(found.ravel()).tolist() == [1] * 16 + [16] * 3
    assert (found[4:, :4] == found[4, 0]).all()
