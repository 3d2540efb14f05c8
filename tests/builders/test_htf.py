"""HTF: the height of its tree, and its consistent counts."""

import numpy as np
import pytest

import snhkit as snh
from snhkit.builders.htf import consistent
from snhkit.errors import InputError
from snhkit.privacy.homogeneity import Level


@pytest.mark.parametrize(
    ("n", "epsilon", "height"), [(0, 1, 0), (100, 0.1, 6), (10**5, 0.02, 14), (10**9, 1, 18)]
)
def test_the_height_follows_from_n_and_epsilon(n, epsilon, height):
    """The largest whole number of halvings that leaves mean / epsilon records; 512 = 2^9 cells."""
    assert snh.HTF().height_for(n, epsilon) == height


def test_counts_fit_all_counts_as_dense_least_squares_does():
    """A tree of five nodes: the root is cut, and so is its second half."""
    rng = np.random.default_rng(0)
    ends = np.zeros((2, 4), int)
    noisy, variance = rng.normal(50, 20, 5), rng.uniform(1, 9, 5)
    levels = [
        Level(ends[:1], np.zeros(1, int), noisy[:1], variance[:1], np.array([False])),
        Level(ends, np.zeros(2, int), noisy[1:3], variance[1:3], np.array([True, False])),
        Level(ends, np.ones(2, int), noisy[3:], variance[3:], np.array([True, True])),
    ]
    sums = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]]) / 1.0
    weights = 1 / np.sqrt(variance)
    wanted = np.linalg.lstsq(sums * weights[:, None], noisy * weights, rcond=None)[0]
    np.testing.assert_allclose(consistent(levels)[1], wanted)


def test_with_little_noise_the_counts_are_true():
    records = snh.synthetic_points("fargo", n=2_000)
    data = snh.PrivateDataset(records, budget=10**7, unit="record", n_public=True)
    release = data.release(snh.HTF(side=16), epsilon=10**7)
    cells = release.model.cells()
    assert np.allclose(release.model.values, cells.count(records).counts, atol=1e-3)
    assert len(cells) > 20


@pytest.mark.parametrize(
    ("change", "match"),
    [({"cuts": 1}, "must be below 1"), ({"cuts": 0}, "cuts"), ({"turns": 0}, "turns"),
     ({"least": 0}, "least"), ({"mean": -1}, "mean"), ({"side": 4_096}, "side")],
)  # fmt: skip
def test_settings_out_of_range_are_refused(change, match):
    with pytest.raises(InputError, match=match):
        snh.HTF(**change)
