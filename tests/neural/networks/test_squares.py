import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.neural.networks.augment import Augmentation, scattered
from snhkit.neural.networks.squares import Batch, Stored, relative_weights, table_sums

CITY = Region.around(lat=45, lon=7, side_m=100)
KEY = jax.random.key(3)
SIZES = np.array([12.0, 20.0])
# Reaches of multiples of 10 for squares of 20 m; one box sticks out.
WORKLOAD = RangeQueries(CITY, [10, 30, -10], [10, 0, 70], [20, 40, 20], [10, 30, 50])
pytestmark = pytest.mark.usefixtures("hasty_compiler")


sums = jax.jit(table_sums)
draw = jax.jit(lambda squares, count: squares.draw(KEY, count), static_argnums=1)


def augmentation(**changes) -> Augmentation:
    values = np.random.default_rng(1).integers(-3, 20, (7, 7))
    parts = {"sizes": SIZES, "spread": 0.0, "workload": None, "floor": 0.5, "scale": 2.0}
    parts |= {"smoothing": 1e9, "clip": False} | changes
    return Augmentation(table=SummedArea(Grid(CITY, 7), values), **parts)


@given(
    st.sampled_from([1, 7, 40]), st.integers(0, 10**6), st.sampled_from([0.0, 1e-6, 0.01, 0.3, 1.0])
)
def test_sums_are_those_of_the_summed_area_table(m, seed, size):
    """The whole is 1e8 and more, and a sum of a few hundreds is right to 1e-4 of a cell."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-(10**5), 10**5, (m, m)) // rng.integers(1, 10**3) + 5 * 10**4
    table = SummedArea(Grid(CITY, m), values)
    corner = np.concatenate([rng.uniform(-0.1, 1, (50, 2)), [[0, 0], [1, 1], [1 - size, 0]]])
    boxes = RangeQueries(CITY, *corner.T * 100, *np.full((2, 53), size * 100))
    whole = jnp.asarray(table.table, jnp.int32)
    found = sums(whole, jnp.asarray(corner, jnp.float32), jnp.full(53, size, jnp.float32))
    np.testing.assert_allclose(found, table.sums(boxes), rtol=1e-4, atol=1e-4 * 1.5e5)


def test_a_cell_of_a_huge_table_is_exact():
    """In 32-bit floats entries of 2**30 are 64 apart."""
    values = np.full((1024, 1024), 1_000)
    values[1000, 900] += 7
    table = SummedArea(Grid(CITY, 1024), values).table
    corner = jnp.array([[1000 / 1024, 900 / 1024], [3 / 1024, 1023 / 1024]])
    found = sums(jnp.asarray(table, jnp.int32), corner, jnp.full(2, 1 / 1024))
    assert found.tolist() == [1_007, 1_000]


@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("workload", [None, WORKLOAD])
def test_scattered_squares_lie_inside_and_are_labelled_by_the_grid(spread, workload):
    given = augmentation(spread=spread, workload=workload)
    at, side, area, labels, weights = draw(scattered(given), 300)
    assert at.shape == (2, 300, 2 + (spread > 0))
    assert labels.shape == weights.shape == (2, 300)
    for j, own in enumerate(SIZES):
        told = np.asarray(at[j], float)
        size = np.full(300, own)
        if spread:
            assert 0 <= told[:, 2].min() < 0.1 < 0.9 < told[:, 2].max() <= 1
            size = own + spread * (2 * told[:, 2] - 1)
        low = told[:, :2] * 100 - size[:, None] / 2
        assert low.min() > -1e-3
        assert (low + size[:, None]).max() < 100 + 1e-3
        exact = given.table.sums(RangeQueries(CITY, *low.T, size, size))
        np.testing.assert_allclose(labels[j], exact / 2, atol=2e-3)
        np.testing.assert_allclose(side[j], size / 100, rtol=1e-5)
        np.testing.assert_allclose(area[j], (size / own) ** 2, rtol=1e-5)


def test_without_a_workload_all_squares_weigh_1_and_lie_evenly():
    at, *_, weights = draw(scattered(augmentation()), 20_000)
    np.testing.assert_allclose(weights, 1)
    # 5.3 standard errors: false alarms below 1e-6
    assert abs(np.mean(at[1]) - 0.5) < 5.3 * 0.8 / np.sqrt(12 * 40_000)


def test_scattered_squares_follow_the_overlaps():
    """Chi-square over cells of 20 m, counted by hand; false alarms below 1e-6."""
    given = augmentation(sizes=np.array([20.0]), workload=WORKLOAD)
    at, *_ = draw(scattered(given), 50_000)  # cells of 16 m: middles at 8, 24, 40, 56, 72
    cell = ((np.asarray(at[0], float) - 0.1) / 0.8 * 4.9999).astype(int)
    seen = np.bincount(cell @ [5, 1], minlength=25)
    middle = np.arange(8, 80, 16)
    reach = np.zeros((5, 5))
    for west, east, south, north in [(-10, 30, -10, 20), (10, 70, -20, 30), (-30, 10, 50, 120)]:
        reach += np.outer((middle > west) & (middle < east), (middle > south) & (middle < north))
    share = 0.6 / 25 + 0.4 * reach.ravel() / reach.sum()
    assert chisquare(seen, share * 50_000).pvalue > 1e-6


@pytest.mark.parametrize("floor", [0.0, 0.5])
@pytest.mark.parametrize(
    "of_interest", [lambda c: np.ones(len(c)), lambda c: c[:, 0], lambda c: (c[:, 1] < 0.4) * 1.0]
)
def test_scattered_weights_make_up_for_the_uneven_draw(floor, of_interest):
    """The weighted mean is that over uniform squares; 6 standard errors, false alarms < 1e-8."""
    given = augmentation(sizes=np.array([20.0]), workload=WORKLOAD, floor=floor)
    at, *_, weights = draw(scattered(given), 40_000)
    parts = np.asarray(weights[0], float) * of_interest(np.asarray(at[0], float))
    even = np.random.default_rng(0).uniform(0.1, 0.9, (400_000, 2))
    middle = (np.arange(5) + 0.5) / 5 * 80
    weight = given.weight(given.popularity(middle, 20.0)).reshape(5, 5)
    cell = ((even - 0.1) / 0.8 * 5).astype(int)
    wanted = weight[cell[:, 0], cell[:, 1]] * of_interest(even)
    error = np.hypot(parts.std() / 200, wanted.std() / 632)
    assert abs(parts.mean() - wanted.mean()) < 6 * error
    # At a floor of 0, squares without weight are not drawn.
    assert (np.asarray(weights[0]) > 0).all()


def test_a_workload_that_reaches_no_square_is_none():
    """A point far outside: all squares weigh the same, and are uniform."""
    far = RangeQueries(CITY, [-900], [-900], [1], [1])
    at, *_, labels, weights = draw(scattered(augmentation(workload=far)), 500)
    assert np.ptp(weights) < 1e-6
    assert np.isfinite(labels).all()
    assert at[..., 0].min() < 0.2 < 0.8 < at[..., 0].max()


def test_an_empty_grid_is_labelled_0():
    empty = SummedArea(Grid(CITY, 3), np.zeros((3, 3)))
    *_, labels, _ = draw(scattered(dataclasses.replace(augmentation(), table=empty)), 50)
    assert not labels.any()


def test_errors_are_relative_to_counts_of_at_least_psi():
    counts = jnp.array([[8.0, -2.0, 4.0, 16.0]])
    assert relative_weights(counts, 4.0).tolist() == [[0.5, 1, 1, 0.25]]


def test_negative_labels_count_as_0_if_told_so():
    values = np.full((7, 7), -3)
    table = SummedArea(Grid(CITY, 7), values)
    for clip, expected in ((False, -1.5), (True, 0.0)):
        given = dataclasses.replace(augmentation(clip=clip), table=table)
        *_, labels, _ = draw(scattered(given), 50)
        cells = SIZES[:, None] ** 2 / (100 / 7) ** 2
        np.testing.assert_allclose(labels, np.tile(expected * cells, (1, 50)), atol=1e-3)


def stored(count) -> Stored:
    at = jnp.arange(24.0).reshape(2, 6, 2)
    first = at[..., 0]
    return Stored(Batch(at, first, first, first * 10, first * 100), jnp.array(count))


def test_stored_squares_are_drawn_row_by_row_or_all():
    whole = stored([6, 6])
    assert whole.draw(KEY, 6) is whole.squares
    drawn = whole.draw(KEY, 5)
    assert drawn.at.shape == (2, 5, 2)
    assert (drawn.at[..., 1] == drawn.at[..., 0] + 1).all()
    assert (drawn.labels == drawn.at[..., 0] * 10).all()
    assert (drawn.weights == drawn.at[..., 0] * 100).all()
    assert (drawn.at[1] >= 12).all()


def test_padding_is_not_drawn():
    drawn = stored([2, 6]).draw(KEY, 5)
    assert (drawn.at[0, :, 0] < 4).all()
