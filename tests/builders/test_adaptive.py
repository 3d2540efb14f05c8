from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.builders import AdaptiveGrid
from snhkit.builders.adaptive import consistent
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, exact_counts
from snhkit.privacy import Spend


def test_numbers_of_cells_follow_the_paper():
    ag = AdaptiveGrid()
    assert ag.cells_per_side(100, 0.1) == 10
    assert ag.cells_per_side(1_000_000, 1.0) == 80  # 316.2 / 4 = 79.06
    # sqrt(N' 0.5 / 5): 10.0 for 1,000, and a little more for 1,001
    assert ag.pieces(np.array([[1_000, 1_001, 0, -40]]), 1.0).tolist() == [[10, 11, 1, 1]]


@pytest.mark.parametrize("epsilon", [1.0, 1e6])
def test_the_number_of_cells_is_limited(epsilon):
    ag = AdaptiveGrid()
    m = ag.cells_per_side(10**12, epsilon)
    assert m <= 512
    assert (ag.pieces(np.full((m, m), 10**9), epsilon) ** 2).sum() <= 2**21


def test_consistency_by_hand():
    # alpha is 1/5, so the cell has the weight 4/25 / (4/25 + 16/25) = 1/5; the difference is 10.
    got = consistent(np.array([[20]]), np.array([[2]]), np.array([4, 1, 3, 2]), Fraction(1, 5))
    np.testing.assert_allclose(got, np.array([4, 1, 3, 2]) + 0.5)


@given(st.integers(0, 2**32), st.fractions("1/20", "19/20"))
def test_consistency_is_weighted_least_squares(seed, alpha):
    rng = np.random.default_rng(seed)
    pieces = rng.integers(1, 4, (1, 2))
    coarse, fine = rng.normal(9, 5, (1, 2)), rng.normal(3, 5, (pieces**2).sum())
    cells = np.repeat(np.eye(2), pieces.ravel() ** 2, axis=1)
    scale = np.concatenate([[float(alpha)] * 2, [float(1 - alpha)] * fine.size])
    asked = np.concatenate([cells, np.eye(fine.size)]) * scale[:, None]
    best, *_ = np.linalg.lstsq(asked, np.concatenate([coarse[0], fine]) * scale, rcond=None)
    np.testing.assert_allclose(consistent(coarse, pieces, fine, alpha), best, atol=1e-9)


def test_counts_of_cells_without_noise_are_exact(released, records):
    release = released(records, AdaptiveGrid(), 1_000)
    cells = release.model.cells().boxes()
    shifted = RangeQueries(
        cells.region, cells.x - 1e-9, cells.y - 1e-9, cells.width, cells.height
    )  # no record lies within a nanometre of an edge
    np.testing.assert_allclose(release.answer(cells), exact_counts(records, shifted), atol=1e-3)
    assert len(cells) > 1_000


def test_each_level_costs_its_share(released, records):
    first, second = released(records, AdaptiveGrid(alpha=0.3), "0.5").spends
    assert first == Spend(Fraction(15, 100), "counts of 100 cells", "parallel")
    assert (second.epsilon, second.composition) == (Fraction(35, 100), "parallel")


def test_cells_are_smaller_in_dense_places(released, records):
    release = released(records, AdaptiveGrid(), 50, seed=1)
    frame = release.cells()
    assert len(frame) == len(release.model.cells().boxes()) > 100
    np.testing.assert_allclose(frame["count"], release.model.arrays()["values"], atol=1e-6)
    area = release.model.cells().boxes().width ** 2
    assert area.max() > 20 * area.min()
    assert len(release.cells(100)) == 16


@pytest.mark.parametrize("alpha", [0, 1, 2.0, -1, float("nan"), "half"])
def test_alpha_is_between_0_and_1(alpha):
    with pytest.raises(InputError, match=r"alpha .*must be"):
        AdaptiveGrid(alpha=alpha)
