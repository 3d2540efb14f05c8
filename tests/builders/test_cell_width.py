"""Widths that ParamSelect chooses, from public numbers and public points only."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders import HDMM, PGM, HierarchicalGrid, Identity, Privelet
from snhkit.builders.cell_width import bought_evenness, chosen_grid, default_cell_width, narrowing
from snhkit.dataset import PrivateDataset
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.neural import SNH, DenoisedGrid, Prior
from snhkit.neural.denoiser.levels import coarse_share
from snhkit.privacy import Measurements, PointSource, PrivacyUnit, SystemEntropy, Terms
from snhkit.select import ParamSelect, paramselect

pytestmark = pytest.mark.filterwarnings("ignore::snhkit.select.OutOfRangeWarning")
CITY = Region.around(lat=45, lon=7, side_m=3_000)
AUTO = {
    "Identity": Identity("auto"),
    "HB2D": HierarchicalGrid("auto"),
    "PGM": PGM("auto"),
    "Denoised": DenoisedGrid("auto", prior=Prior(turns=1)),
}


def points(seed: int, n: int = 5_000) -> Points:
    xy = np.random.default_rng(seed).normal(1_500, 40, (n, 2))
    return Points(CITY, np.clip(xy, 0, 2_999))


def measured(records: Points, epsilon, m: int = 1, n=None, public=None) -> Measurements:
    unit = PrivacyUnit("record") if m == 1 else PrivacyUnit("user", m)
    terms = Terms(Fraction(epsilon), unit, n, public)
    return Measurements(PointSource(records), terms, SystemEntropy())


def width_of(epsilon: Fraction | int, public: Points | None, n: int | None = 5_000, m: int = 1):
    """The width before whole cells are made to fill the region."""
    private = measured(points(1), epsilon, m, n, public)
    return chosen_grid(private, "auto"), private.epsilon, private.n


@pytest.mark.parametrize("public", [None, points(9)], ids=["alone", "with public points"])
def test_the_width_is_paramselects(public):
    grid, _, n = width_of(Fraction(1, 5), public)
    width = ParamSelect.pretrained("snh").cell_width(5_000, 0.2, public)
    assert n == 5_000
    assert grid.m == np.ceil(3_000 / width)


def test_the_width_is_that_for_what_cells_get_of_epsilon(monkeypatch):
    """What the counts of blocks get is left out."""
    asked = []

    def asking(self, n, epsilon, public):
        asked.append(epsilon)
        raise StopIteration

    monkeypatch.setattr(ParamSelect, "cell_width", asking)
    blocks = coarse_share(5_000, 2.0, DEFAULT_SIZES_M)
    assert 0 < blocks < 1
    wanted = {Identity("auto"): 2, DenoisedGrid("auto", coarse=0.25): 1.5,
              DenoisedGrid("auto"): 2 * (1 - blocks), SNH("auto"): 2,
              SNH("auto", prior=Prior(turns=1)): 2 * (1 - blocks)}  # fmt: skip
    for builder, share in wanted.items():
        with pytest.raises(StopIteration):
            builder.build(measured(points(1), 2, n=5_000))
        assert asked.pop() == pytest.approx(share)


@pytest.mark.parametrize(
    ("builder", "labels"),
    [
        (DenoisedGrid("auto", prior=Prior(turns=1)), "denoised"),
        (SNH.paper("auto"), "published"),
        (SNH("auto"), "snh"),
        (Identity("auto"), "snh"),
    ],
    ids=["Denoised", "the paper's SNH", "SNH", "Identity"],
)
def test_the_labels_suit_the_method(builder, labels, monkeypatch):
    asked = []

    def asking(name="published"):
        asked.append(name)
        raise StopIteration

    monkeypatch.setattr(ParamSelect, "pretrained", asking)
    with pytest.raises(StopIteration):
        builder.build(measured(points(1), 1, n=5_000))
    assert asked == [labels]


def test_the_default_width_by_hand():
    """1,600 m at n epsilon = 1, 0.41 of it for ten times as much, twice it for sides of twice."""
    assert default_cell_width(1, 1.0) == 1_600
    assert default_cell_width(0, 1.0) == 1_600
    assert default_cell_width(50_000, 0.2) == pytest.approx(1_600 * 10 ** (-4 * 0.3869))
    low, high = DEFAULT_SIZES_M
    assert default_cell_width(100, 0.1, (4 * low, 4 * high)) == pytest.approx(2 * 656.43, abs=0.1)
    assert default_cell_width(10, 0.001) == 2_000
    assert default_cell_width(10**9, 10.0) == 5


def test_the_factor_of_evenness_by_hand():
    e = np.exp(1)
    assert narrowing(1, 1.0, 0.0) == pytest.approx(np.exp(-2.76))
    assert narrowing(1, e, 0.5) == pytest.approx(np.exp(-2.76 + 3.673 / 2 + 0.163 / 2))
    assert narrowing(10, 1.0, 0.9) == pytest.approx(
        np.exp(-2.76 + 0.9 * 3.673 + 0.0163 * np.log(10))
    )
    assert narrowing(1, e, 0.5, labels="denoised") == pytest.approx(
        np.exp(-2.55 + 1.631 / 2 + 0.135)
    )
    assert narrowing(10**6, 1.0, 1.2) == 2.49
    assert narrowing(10**6, 1.0, 1.0, labels="denoised") == 1.15
    four = tuple(4 * side for side in DEFAULT_SIZES_M)
    assert narrowing(1, 1.0, 0.0, four) == pytest.approx(np.exp(-2.76 / 2))


def test_for_persons_epsilon_counts_per_record():
    grid, *_ = width_of(Fraction(4, 5), None, m=4)
    assert grid.m == np.ceil(3_000 / ParamSelect.pretrained("snh").cell_width(5_000, 0.2))


def test_an_unknown_n_is_bought():
    grid, left, n = width_of(Fraction(1, 2), None, n=None)
    assert left == Fraction(19, 40)
    assert grid.m == np.ceil(3_000 / ParamSelect.pretrained("snh").cell_width(n, 19 / 40))


def test_a_region_too_large_for_narrow_cells_gets_the_finest_grid():
    country = Region.around(lat=45, lon=7, side_m=200_000)
    private = measured(Points(country, []), "4/5", n=300_000)
    assert chosen_grid(private, "auto", most_cells=700).m == 700


def test_public_points_do_not_change_the_default_width():
    """They may be of another kind than the records; ``ParamSelect`` is asked by "auto" only."""
    records, n = points(1, 300_000), 300_000
    beside = Points(records.region, np.random.default_rng(3).normal(1_500, 40, (500, 2)))
    private = measured(records, "1/2", n=n, public=beside)
    grid, alone = chosen_grid(private, None), chosen_grid(measured(records, "1/2", n=n), None)
    assert "records, at most" in str(private.spends[0])
    assert grid.m == pytest.approx(alone.m, abs=2)


@pytest.mark.parametrize("builder", AUTO.values(), ids=AUTO)
@pytest.mark.parametrize("known", [True, False])
def test_entropy_sees_public_points_only(builder, known, monkeypatch):
    """Never the records; and the same width whatever these are."""
    seen, real = [], paramselect.entropy

    def watching(given):
        seen.append(given)
        return real(given)

    monkeypatch.setattr(paramselect, "entropy", watching)
    records, public = points(1, 6_000), points(9)
    data = PrivateDataset(records, budget=1, unit="record", n_public=known)
    data.release(builder, epsilon="0.4")
    assert seen == []
    data.release(builder, epsilon="0.4", public=public)
    assert len(seen) == 1
    assert seen[0] is public


@pytest.mark.parametrize("builder", AUTO.values(), ids=AUTO)
def test_the_release_says_auto(builder):
    data = PrivateDataset(points(1), budget=1, unit="record", n_public=True)
    assert data.release(builder, epsilon="0.4").hyperparameters["cell_m"] == "auto"


@pytest.mark.parametrize("builder", AUTO.values(), ids=AUTO)
def test_other_words_are_refused(builder):
    with pytest.raises(
        InputError, match=r"cell_m must be a positive number, 'auto' or None .*, not 'wide'"
    ):
        dataclasses.replace(builder, cell_m="wide")


@pytest.mark.parametrize("make", [HDMM, Privelet])
def test_where_cells_follow_another_rule_auto_is_refused(make):
    with pytest.raises(InputError, match="cell_m must be a positive number, not 'auto'"):
        make("auto")


SMALL = Region.around(lat=45, lon=7, side_m=1_000)
FOUR, EIGHTS = Grid(SMALL, 2), Grid(SMALL, 8)


def of_public_n(records, epsilon, unit=None) -> Measurements:
    """The number of records is public."""
    terms = Terms(Fraction(epsilon), unit or PrivacyUnit("record"), len(records))
    return Measurements(PointSource(records), terms, SystemEntropy())


def at(*counts: int) -> Points:
    """So many records in each of the four cells."""
    middles = [[250, 250], [250, 750], [750, 250], [750, 750]]
    return Points(SMALL, np.repeat(middles, counts, axis=0))


def test_by_hand():
    """At epsilon 1/5 a cell keeps 5, which is more than three times the mean, 1.5."""
    private = of_public_n(at(21, 6, 3, 0), "1/5")
    evenness = bought_evenness(private, EIGHTS)
    assert [str(spend) for spend in private.spends] == [
        "0.006 for records, at most 5 a cell, in cells of 125 m"
    ]
    assert private.epsilon == Fraction(194, 1000)
    assert 0 <= evenness <= 1


@pytest.mark.parametrize(
    ("counts", "evenness"),
    [((1_000, 0, 0, 0), 0.047), ((1, 1, 1, 1), 1.0), ((9, 1, 0, 0), 0.2)],
)
def test_without_noise(counts, evenness):
    """Three times the mean of 64 cells is 46.9, or less than 1."""
    found = bought_evenness(of_public_n(at(*counts), 10**6), EIGHTS)
    assert found == pytest.approx(evenness, abs=1e-4)


def test_a_region_that_is_full_everywhere_is_even():
    found = bought_evenness(of_public_n(at(500, 500, 400, 300), 10**6), FOUR)
    assert found == pytest.approx(1.0, abs=1e-4)


def test_gaussian_noise_of_the_evenness_has_the_variance_of_laplace_noise():
    """For 1,000 records, a price of 50 / 1,000 of an epsilon of 10: variance 2 / price^2."""
    records, unit = at(700, 100, 100, 100), PrivacyUnit("record")
    price = Fraction(1, 20)
    for rho, paid in ((Fraction(0), price), (Fraction(1, 20), price**2 / 4)):
        terms = Terms(Fraction(10), unit, 1_000, rho=rho)
        private = Measurements(PointSource(records), terms, SystemEntropy())
        bought_evenness(private, EIGHTS)
        (spend,) = private.spends
        assert (spend.rho or spend.epsilon) == paid


def test_noise_alone_says_nothing():
    """Where a record more or less could hide everything, every city counts as even."""
    found = [bought_evenness(of_public_n(at(20, 0, 0, 0), "1/1000"), EIGHTS) for _ in range(50)]
    assert min(found) > 0.999


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(0, 3), st.integers(1, 4))
def test_one_record_changes_the_sum_by_at_most_one(counts, where, most):
    more = np.array(counts)
    more[where] += 1
    change = np.minimum(more, most).sum() - np.minimum(counts, most).sum()
    assert change in (0, 1)


def test_for_persons_noise_covers_all_their_records():
    """The scale is 8 times that of a record: at n = 10**6 still small."""
    records = Points(SMALL, np.tile([[250.0, 250.0]], (1_000, 1)), user=np.arange(1_000) // 8)
    unit = PrivacyUnit("user", 8)
    seen = [bought_evenness(of_public_n(records, 8, unit), EIGHTS) for _ in range(300)]
    # Deviation of the noise over n: sqrt(2) * 8 / (0.24 * 1,000) = 0.047; shrunk a little.
    assert 0.02 < np.std(seen) < 0.06


def test_a_crowd_gets_narrower_cells_than_an_even_city():
    rng = np.random.default_rng(0)
    even = Points(SMALL, rng.uniform(0, 1_000, (20_000, 2)))
    crowd = Points(SMALL, np.repeat(rng.uniform(0, 1_000, (20, 2)), 1_000, axis=0))
    wide = chosen_grid(of_public_n(even, 1), None)
    narrow = chosen_grid(of_public_n(crowd, 1), None)
    width = default_cell_width(20_000, 1) * narrowing(20_000, 1, 1.0)
    # The noise in evenness, of standard deviation 0.024, moves the number of cells by 9 %.
    assert wide.m == pytest.approx(1_000 / width, rel=0.4)
    assert narrow.m > 2.5 * wide.m


def test_the_ledger_has_it():
    data = PrivateDataset(at(500, 5, 5, 5), budget=1, unit="record")
    release = data.release(Identity(), epsilon="0.4")
    bought = [spend.epsilon for spend in release.spends]
    assert bought == [Fraction(2, 100), Fraction(38, 100) * 3 / 100, Fraction(38, 100) * 97 / 100]
