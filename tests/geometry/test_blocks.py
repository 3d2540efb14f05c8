import numpy as np
import pytest

from snhkit.geometry.grid import block_starts, block_sums, spread


@pytest.mark.parametrize(("m", "blocks"), [(6, 2), (7, 3), (5, 5), (4, 1)])
def test_sums_over_blocks_and_back(m, blocks):
    values = np.random.default_rng(m).normal(size=(m, m))
    first = block_starts(m, blocks)
    ends = [*first[1:], m]
    expected = [
        [values[a:b, c:d].sum() for c, d in zip(first, ends, strict=True)]
        for a, b in zip(first, ends, strict=True)
    ]
    sums = block_sums(values, first)
    np.testing.assert_allclose(sums, expected)
    cells = np.diff(first, append=m)
    assert cells.max() - cells.min() <= 1
    again = spread(sums, cells)
    assert again.shape == (m, m)
    assert (again[np.ix_(first, first)] == sums).all()
    np.testing.assert_allclose(block_sums(again, first), sums * np.outer(cells, cells))


def test_truth_values_are_counted():
    assert block_sums(np.ones((3, 3), bool), np.array([0])).tolist() == [[9]]
