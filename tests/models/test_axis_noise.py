import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.grid_model import GridModel
from snhkit.models.variance import AxisNoise

CITY = Region.around(lat=45, lon=7, side_m=400)
GRID = Grid(CITY, 8)


@given(st.integers(0, 2**32))
def test_it_is_the_dense_quadratic_form(seed):
    rng = np.random.default_rng(seed)
    low, size = rng.uniform(-100, 400, (2, 10)), rng.uniform(0, 500, (2, 10))
    factor = rng.normal(size=(8, 8))
    factor = factor @ factor.T
    edges = np.arange(8) * 50
    x, y = (
        (np.clip(a + b - edges[:, None], 0, 50) - np.clip(a - edges[:, None], 0, 50)) / 50
        for a, b in zip(low, size, strict=True)
    )
    covered = np.einsum("iq,jq->qij", x, y).reshape(10, 64)
    expected = np.einsum("qi,ij,qj->q", covered, np.kron(factor, factor), covered)
    queries = RangeQueries(CITY, *low, *size)
    np.testing.assert_allclose(
        AxisNoise(GRID, factor).variance(GRID, queries), expected, rtol=1e-9, atol=1e-9
    )


def test_a_box_of_no_area_has_no_noise():
    factor = np.linalg.inv(np.eye(8) + np.full((8, 8), 0.3))
    empty = RangeQueries(CITY, [33, 33, 0], [77, 0, 50], [0, 400, 0], [77, 0, 0])
    assert AxisNoise(GRID, factor).variance(GRID, empty).tolist() == [0, 0, 0]


class TestFile:
    model = GridModel(GRID, np.ones((8, 8)), AxisNoise(GRID, np.eye(8, dtype=np.float32)))

    def test_restored_it_is_the_same(self):
        again = GridModel.restore(CITY, self.model.arrays(), self.model.settings())
        boxes = RangeQueries.sample(CITY, 20, (1, 300))
        assert (again.noise_variance(boxes) == self.model.noise_variance(boxes)).all()

    @pytest.mark.parametrize(
        "arrays",
        [
            {},
            {"covariance": np.eye(7)},
            {"covariance": np.ones(8)},
            {"covariance": np.eye(8), "more": np.eye(8)},
        ],
        ids=str,
    )
    def test_what_is_wrong_is_refused(self, arrays):
        with pytest.raises(InputError, match="noise must have one array"):
            GridModel.restore(CITY, {"values": np.ones((8, 8))} | arrays, self.model.settings())
