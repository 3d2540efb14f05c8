"""Results at an epsilon so large that there is no noise: P(noise != 0) < exp(-900,000)."""

from fractions import Fraction

import numpy as np
import pytest

from snhkit.builders import (
    HDMM,
    PGM,
    HierarchicalGrid,
    Identity,
    Privelet,
    QuadTree,
    UniformGrid,
)
from snhkit.builders.base import MAX_CELLS_PER_SIDE
from snhkit.builders.cell_width import chosen_grid, default_cell_width
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, SummedArea, exact_counts
from snhkit.neural import SNH, DenoisedGrid
from snhkit.privacy import Measurements, PointSource, PrivacyUnit, SystemEntropy, Terms

EPSILON = 10**6
# Identity() has its narrowest cells, 5 m; UG has ceil(sqrt(300 * 1e6 / 2e6)) cells per side.
CASES = {
    "UG": (UniformGrid(c=2e6), 13),
    "Identity-30": (Identity(30), 14),
    "Identity": (Identity(), 32),
}
grid_builders = pytest.mark.parametrize(("builder", "m"), CASES.values(), ids=CASES)


@grid_builders
def test_answers_weight_cells_by_the_covered_area(builder, m, records):
    data = PrivateDataset(records, budget=EPSILON, unit="record", n_public=True)
    release = data.release(builder, epsilon=EPSILON)
    grid = Grid(records.region, m)
    assert release.model.grid == grid
    boxes = RangeQueries.sample(records, 500, (1, 200), seed=1)
    exact = SummedArea(grid, grid.count(records).counts).sums(boxes)
    assert (release.answer(boxes) == exact).all()


@grid_builders
def test_boxes_of_whole_cells_get_the_true_count(builder, m, records):
    data = PrivateDataset(records, budget=EPSILON, unit="record", n_public=True)
    release = data.release(builder, epsilon=EPSILON)
    edges = Grid(records.region, m).edges()
    low, high = np.sort(np.random.default_rng(2).integers(0, m + 1, (2, 2, 100)), axis=0)
    x, y = edges[low]
    width, height = edges[high] - edges[low]
    boxes = RangeQueries(records.region, x, y, width, height)
    # No record lies on an edge, where rounding would decide.
    np.testing.assert_allclose(release.answer(boxes), exact_counts(records, boxes), atol=1e-9)


def test_a_bought_n_without_noise_is_exact(records):
    data = PrivateDataset(records, budget=EPSILON, unit="record")
    release = data.release(UniformGrid(c=2e6), epsilon=EPSILON)
    assert release.n == 300
    assert release.model.grid.m == 12  # ceil(sqrt(300 * 0.95e6 / 2e6)): n cost a twentieth


def test_the_rule_of_ug_uses_epsilon_per_record(records):
    data = PrivateDataset(records, budget=2, unit="user", max_per_user=4, n_public=True)
    release = data.release(UniformGrid(c=1), epsilon=2)
    assert release.model.grid.m == int(np.ceil(np.sqrt(data.n * 2 / 4)))


class TestTheRules:
    """UG: sqrt(n epsilon / 10). Default width: 1,600 (n epsilon)**-0.3869 within [5, 2000]."""

    @pytest.mark.parametrize(
        ("n", "epsilon", "m"), [(0, 1, 1), (10, 1, 1), (1_000, 0.9, 10), (10**9, 10**6, 8_192)]
    )
    def test_uniform_grid(self, n, epsilon, m):
        assert UniformGrid().cells_per_side(n, epsilon) == m

    @pytest.mark.parametrize(
        ("n", "epsilon", "width"),
        [(1, 1, 1_600), (0, 1, 1_600), (10**6, 1, 7.633), (10**4, "0.1", 110.5), (9, 10**9, 5)],
    )
    def test_cell_width(self, n, epsilon, width):
        assert default_cell_width(n, float(epsilon)) == pytest.approx(width, rel=1e-3)

    def test_a_region_too_large_for_narrow_cells_gets_the_finest_grid(self):
        """The width is limited without an error, because n may already have been bought."""
        country = Region.around(lat=45, lon=7, side_m=200_000)
        terms = Terms(Fraction(EPSILON), PrivacyUnit("record"), n=10**6)
        nobody = PointSource(Points(country, []))
        grid = chosen_grid(Measurements(nobody, terms, SystemEntropy()), None)
        assert grid.m == MAX_CELLS_PER_SIDE


# At these epsilons, no noise is left in the counts of cells.
ADJUSTED = {
    "HDMM": (HDMM(20, None), 10**12, 20),
    "Privelet": (Privelet(30), 10**6, 16),
    "QuadTree": (QuadTree(4), 10_000, 16),
    "HB2D": (HierarchicalGrid(7), 10_000, 60),
    "PGM": (PGM(20), 10_000, 20),
}


@pytest.mark.parametrize(("builder", "epsilon", "m"), ADJUSTED.values(), ids=ADJUSTED)
def test_adjusted_counts_without_noise_are_exact(released, builder, epsilon, m, records):
    if isinstance(builder, PGM):
        pytest.importorskip("mbi", reason="the extra pgm is not installed")
    release = released(records, builder, epsilon)
    counts = Grid(records.region, m).count(records).counts
    off = 0.1 if isinstance(builder, PGM) else 1e-9
    np.testing.assert_allclose(release.model.arrays()["values"], counts, atol=off)
    assert len(release.cells()) == m * m


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        (HDMM(50), HDMM()),
        (Privelet(50), Privelet()),
        (HierarchicalGrid(30), HierarchicalGrid()),
        (QuadTree(3), QuadTree()),
    ],
)
def test_a_given_width_needs_no_n(released, given, chosen, records):
    assert released(records, given, n_public=False).n is None
    assert released(records, chosen, n_public=False).n is not None


@pytest.mark.parametrize("wrong", [0, -1, np.nan, np.inf, True, "30"])
@pytest.mark.parametrize(
    "make", [UniformGrid, Identity, HierarchicalGrid, HDMM, Privelet, PGM, SNH, DenoisedGrid]
)
def test_invalid_numbers_are_named(make, wrong):
    with pytest.raises(InputError, match=r"(c|cell_m) must be a positive number"):
        make(wrong)


def test_numpy_numbers_can_be_saved(released, records):
    release = released(records, Identity(np.float32(30)), 1)
    assert release.hyperparameters == {"cell_m": 30.0}
    assert release.to_bytes()
