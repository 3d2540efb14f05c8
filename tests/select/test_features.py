"""The features, by hand and against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.select import entropy, features
from snhkit.select.features import MOST_ENTROPY

CITY = Region.around(lat=0, lon=0, side_m=1_024)


def test_features_by_hand():
    found = features([100, 10_000], [0.25, 1], [3, 5.5])
    np.testing.assert_allclose(
        found, [[100, 0.25, 0.04, 0.2, 3], [10_000, 1, 1e-4, 1e-2, 5.5]], rtol=1e-15
    )


def test_without_public_points_the_data_independent_ones_are_left():
    np.testing.assert_array_equal(features(100, 0.25), features(100, 0.25, 3)[:, :4])


def test_no_records_count_as_one():
    np.testing.assert_array_equal(features(0, 0.5), features(1, 0.5))
    assert np.isfinite(features(0, 0.5)).all()


class TestEntropy:
    def test_points_in_every_cell_have_the_logarithm_of_the_cells(self):
        centres = Grid(CITY, 512).corners() + 1
        assert entropy(Points(CITY, centres)) == pytest.approx(2 * np.log(512), rel=1e-12)
        assert pytest.approx(2 * np.log(512)) == MOST_ENTROPY

    @pytest.mark.parametrize("cells", [1, 2, 7, 512])
    def test_equal_shares_of_some_cells(self, cells):
        centres = np.repeat(Grid(CITY, 512).corners()[:cells] + 1, 3, axis=0)
        assert entropy(Points(CITY, centres)) == pytest.approx(np.log(cells), abs=1e-12)

    def test_two_points_of_one_cell_and_of_two(self):
        assert entropy(Points(CITY, [[0, 0], [1.99, 1.99]])) == 0
        assert entropy(Points(CITY, [[0, 0], [2, 1.99]])) == pytest.approx(np.log(2))

    @given(st.integers(0, 2**32), st.integers(1, 3_000), st.floats(1, 400))
    def test_as_scipy(self, seed, n, width):
        xy = np.clip(np.random.default_rng(seed).normal(512, width, (n, 2)), 0, 1_023)
        counts, *_ = np.histogram2d(*xy.T, bins=512, range=[[0, 1_024]] * 2)
        assert entropy(Points(CITY, xy)) == pytest.approx(stats.entropy(counts.ravel()), abs=1e-9)

    def test_no_points_have_none(self):
        with pytest.raises(InputError, match="no points"):
            entropy(Points(CITY, []))
