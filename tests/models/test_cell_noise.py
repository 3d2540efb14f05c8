from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit.builders.adaptive import consistent, consistent_noise
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries, Region
from snhkit.models import variance
from snhkit.models.partition_model import PartitionModel
from snhkit.models.variance import CellNoise

CITY = Region.around(lat=45, lon=7, side_m=400)
CELLS = Partition.split(Grid(CITY, 2), np.array([[1, 2], [3, 4]]))
BOXES = RangeQueries.sample(CITY, 200, (5, 390))


def covered(cells: Partition, boxes: RangeQueries) -> np.ndarray:
    """Fractions of cells, shape (q, c), one corner sum at a time."""
    columns = []
    for nth in range(len(cells)):
        alone = np.zeros(len(cells))
        alone[nth] = 1
        columns.append(PartitionModel(cells, alone).answer(boxes))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("chunks", [(64, 4_096), (7, 5)])
def test_it_is_the_sum_of_squares(chunks, monkeypatch):
    monkeypatch.setattr(variance, "_BOXES", chunks[0])
    monkeypatch.setattr(variance, "_CELLS", chunks[1])
    expected = 3 * (covered(CELLS, BOXES) ** 2).sum(axis=1)
    np.testing.assert_allclose(CellNoise(3.0).of(CELLS, BOXES), expected, atol=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.fractions("1/20", "19/20"))
def test_of_adaptive_grids_it_is_that_of_the_estimator(seed, alpha):
    """Each noisy number's factor in an answer, from ``consistent`` itself."""
    rng = np.random.default_rng(seed)
    pieces = rng.integers(1, 4, (2, 2))
    cells, boxes = Partition.split(Grid(CITY, 2), pieces), RangeQueries.sample(CITY, 5, (5, 390))
    of_coarse, of_fine = rng.uniform(1, 9, 2)
    factors = np.stack(
        [
            consistent(one[:4].reshape(2, 2), pieces, one[4:], alpha)
            for one in np.eye(4 + len(cells))
        ]
    )
    spread = np.repeat([of_coarse, of_fine], [4, len(cells)])
    expected = (covered(cells, boxes) @ factors.T) ** 2 @ spread
    noise = consistent_noise(pieces, Fraction(alpha), of_coarse, of_fine)
    np.testing.assert_allclose(noise.of(cells, boxes), expected, atol=1e-9)


def test_cells_without_known_noise_say_nan():
    assert np.isnan(PartitionModel(CELLS, np.ones(len(CELLS))).noise_variance(BOXES)).all()


class TestFile:
    model = PartitionModel(CELLS, np.ones(len(CELLS)), CellNoise(2.0, np.array([[-0.1]])))

    @pytest.mark.parametrize("noise", [CellNoise(2.0), CellNoise(2.0, np.eye(2))])
    def test_restored_it_is_the_same(self, noise):
        model = PartitionModel(CELLS, np.ones(len(CELLS)), noise)
        again = PartitionModel.restore(CITY, model.arrays(), model.settings())
        assert (again.noise_variance(BOXES) == model.noise_variance(BOXES)).all()

    @pytest.mark.parametrize("variance", [-1, float("nan"), float("inf")])
    def test_a_wrong_variance_is_refused(self, variance):
        with pytest.raises(InputError, match="variance of noise"):
            PartitionModel.restore(CITY, self.model.arrays(), {"noise": {"variance": variance}})

    @pytest.mark.parametrize("coarse", [np.ones(3), np.ones((2, 3)), np.ones((0, 0))])
    def test_wrong_weights_are_refused(self, coarse):
        arrays = self.model.arrays() | {"noise": coarse}
        with pytest.raises(InputError, match="array 'noise' must be square"):
            PartitionModel.restore(CITY, arrays, self.model.settings())

    def test_arrays_that_nothing_asks_for_are_refused(self):
        more = self.model.arrays() | {"more": np.ones(2)}
        for told in ({}, self.model.settings()):
            with pytest.raises(InputError, match="more"):
                PartitionModel.restore(CITY, more, told)
