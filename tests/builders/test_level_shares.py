from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from snhkit.builders.dawa import (
    box_energies,
    expected_error,
    level_shares,
    level_weights,
)
from snhkit.geometry import Grid, RangeQueries, Region

CITY = Region.around(lat=0, lon=0, side_m=4)
some_energies = st.integers(1, 7).flatmap(
    lambda n: arrays(float, n, elements=st.floats(-4, 12)).map(np.exp2)
)


def rows_of(boxes: RangeQueries, grid: Grid, leaf: np.ndarray) -> np.ndarray:
    """Return the share of each leaf that each box covers, computed cell by cell."""
    rows = np.zeros((len(boxes), leaf.max() + 1))
    for i in range(len(boxes)):
        for c in range(grid.m):
            for r in range(grid.m):
                x, y = c * grid.cell_m, r * grid.cell_m
                wide = min(x + grid.cell_m, boxes.x[i] + boxes.width[i]) - max(x, boxes.x[i])
                high = min(y + grid.cell_m, boxes.y[i] + boxes.height[i]) - max(y, boxes.y[i])
                rows[i, leaf[c, r]] += max(wide, 0) * max(high, 0)
    return rows / np.bincount(leaf.ravel()) / grid.cell_m**2


@pytest.fixture
def case():
    rng = np.random.default_rng(4)
    boxes = RangeQueries(CITY, *rng.uniform(-1, 4, (2, 25)), *rng.uniform(0, 4, (2, 25)))
    leaf = rng.permutation(np.r_[np.arange(8), rng.integers(0, 8, 8)]).reshape(4, 4)
    return boxes, Grid(CITY, 4), leaf


def test_expected_error_is_the_variance_of_least_squares(case):
    """The reference is the variance of least squares from dense matrices."""
    rows, energies = rows_of(*case), box_energies(*case)
    weights = np.array([0.4, 0.0, 0.35, 0.25])
    told = np.concatenate(
        [w * np.kron(np.eye(8 >> k), np.ones(1 << k)) for k, w in enumerate(weights)]
    )
    variance = rows @ np.linalg.inv(told.T @ told) @ rows.T
    assert expected_error(weights, energies) == pytest.approx(np.trace(variance))


def test_energies_add_up_to_the_squared_norm_of_the_rows(case):
    assert box_energies(*case).sum() == pytest.approx((rows_of(*case) ** 2).sum())


def test_missing_leaves_up_to_a_power_of_two_count_as_empty():
    boxes = RangeQueries(CITY, [0, 1.5], [0, 1], [3, 2], [1, 3])
    grid, leaf = Grid(CITY, 2), np.array([[0, 1], [2, 2]])
    rows = np.column_stack([rows_of(boxes, grid, leaf), np.zeros(2)])
    pairs, whole = rows.reshape(2, 2, 2).sum(axis=2), rows.sum(axis=1)
    expected = [
        (rows**2).sum() - (pairs**2).sum() / 2,
        (pairs**2).sum() / 2 - (whole**2).sum() / 4,
        (whole**2).sum() / 4,
    ]
    assert box_energies(boxes, grid, leaf) == pytest.approx(expected)


def test_chunks_of_boxes_give_the_same_energies(case, monkeypatch):
    together = box_energies(*case)
    monkeypatch.setattr("snhkit.builders.dawa._CHUNK_CELLS", 40)
    assert box_energies(*case) == pytest.approx(together)


def test_boxes_outside_the_region_have_no_energy():
    grid, leaf = Grid(CITY, 2), np.arange(4).reshape(2, 2)
    outside = RangeQueries(CITY, [-9, 4, 1, 1, 2], [1, 1, -9, 5, 2], [9, 5, 1, 1, 0], [1] * 5)
    assert box_energies(outside, grid, leaf).tolist() == [0, 0, 0]
    assert box_energies(outside[:0], grid, leaf).tolist() == [0, 0, 0]


@settings(max_examples=20)
@given(some_energies)
def test_no_other_weights_have_a_smaller_error(energies):
    """The reference is scipy's minimiser from several starts."""
    weights = level_weights(energies)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    found = expected_error(weights, energies)

    def error(logits: np.ndarray) -> float:
        return np.log(expected_error(np.exp(logits) / np.exp(logits).sum(), energies))

    rng = np.random.default_rng(0)
    bounds = [(-9, 9)] * len(energies)
    starts = [rng.normal(0, 2, len(energies)) for _ in range(3)]
    best = min(minimize(error, start, method="L-BFGS-B", bounds=bounds).fun for start in starts)
    assert found <= np.exp(best) * 1.01


def test_boxes_of_one_leaf_measure_leaves_and_boxes_of_all_measure_the_root():
    assert level_shares(np.array([5.0, 1.0, 0.0])) == {0: 1}
    assert level_shares(np.zeros(4)) == {0: 1}
    assert level_shares(np.array([7.0])) == {0: 1}
    assert level_shares(np.array([0.0, 0.0, 1.0])) == {0: Fraction(1, 500), 2: Fraction(499, 500)}


@given(some_energies)
def test_shares_add_up_to_one_and_include_the_leaves(energies):
    shares = level_shares(energies)
    assert sum(shares.values()) == 1
    assert shares[0] > 0
    assert all(share > 0 for share in shares.values())
