from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import ttest_ind

from snhkit.builders import PrivTree
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, exact_counts


def test_epsilon_is_shared_equally_by_splits_and_counts(released, records):
    structure, counts = released(records, PrivTree(), "0.3").spends
    assert (structure.epsilon, structure.composition) == (Fraction(3, 20), "sequential")
    assert (counts.epsilon, counts.composition) == (Fraction(3, 20), "parallel")


def test_n_is_not_needed(released, records):
    release = released(records, PrivTree(), 1, n_public=False)
    assert release.n is None
    assert len(release.spends) == 2


def test_counts_of_squares_without_noise_are_exact(released, records):
    release = released(records, PrivTree(max_depth=6), 1_000)
    cells = release.model.cells().boxes()
    assert cells.width.min() == 400 / 2**6
    shifted = RangeQueries(
        cells.region, cells.x - 1e-9, cells.y - 1e-9, cells.width, cells.height
    )  # no record lies within a nanometre of an edge
    np.testing.assert_allclose(release.answer(cells), exact_counts(records, shifted), atol=1e-6)


def test_squares_are_small_in_dense_places(released, records):
    release = released(records, PrivTree(), 20)
    cells = release.model.cells().boxes()
    around = np.abs(cells.x - 100) + np.abs(cells.y - 130) < 30
    assert cells.width[around].mean() < cells.width[~around].mean() / 2
    assert len(release.cells()) == len(cells)


def test_larger_squares_are_sums_of_smaller_ones(released, records):
    release = released(records, PrivTree(), 5)
    city = records.region
    quarters = RangeQueries(city, [0, 0, 200, 200], [0, 200, 0, 200], [200] * 4, [200] * 4)
    everything = release.answer(RangeQueries(city, [0], [0], [400], [400]))
    values = release.model.arrays()["values"]
    np.testing.assert_allclose(everything, [values.sum()], atol=1e-6)
    np.testing.assert_allclose(release.answer(quarters).sum(), everything, atol=1e-6)


def plain_leaves(xy, side, epsilon, rng, depth=0):
    """Return the number of leaves of the paper's algorithm below a root, with numpy's noise."""
    scale = 7 / 3 / epsilon
    biased = max(len(xy) - depth * scale * np.log(4), -scale * np.log(4))
    if biased + rng.laplace(0, scale) <= 0:
        return 1
    half = side / 2
    east, north = (xy >= half).T
    quarters = [
        xy[(east == i) & (north == j)] - [i * half, j * half] for i in (0, 1) for j in (0, 1)
    ]
    return sum(plain_leaves(quarter, half, epsilon, rng, depth + 1) for quarter in quarters)


@pytest.mark.slow
def test_trees_are_as_large_as_those_of_a_direct_implementation(released, records):
    """Welch's test at 1e-6; the four quarters of the region are the roots of the paper's trees."""
    rng = np.random.default_rng(5)
    xy, half, runs = records.xy, records.region.side_m / 2, 400
    roots = [xy[((xy >= half) == corner).all(axis=1)] % half for corner in np.ndindex(2, 2)]
    plain = [sum(plain_leaves(root, half, 4, rng) for root in roots) for _ in range(runs)]
    ours = [len(released(records, PrivTree(), 8).cells()) for _ in range(runs)]
    assert ttest_ind(ours, plain, equal_var=False).pvalue > 1e-6


@pytest.mark.parametrize("max_depth", [-1, 25, 2.5, True, None])
def test_invalid_depths_are_refused(max_depth):
    with pytest.raises(InputError, match="max_depth must be"):
        PrivTree(max_depth=max_depth)


def test_depth_0_is_one_count(released, records):
    release = released(records, PrivTree(max_depth=0), 1_000)
    assert release.answer(release.model.cells().boxes()) == pytest.approx([300])
