import numpy as np
import pytest

from snhkit.geometry.blocks import block_sums


def test_blocks_of_several_layers():
    values = np.arange(2 * 6 * 6).reshape(2, 6, 6)
    expected = [
        [[layer[3 * i : 3 * i + 3, 3 * j : 3 * j + 3].sum() for j in range(2)] for i in range(2)]
        for layer in values
    ]
    assert block_sums(values, 3).tolist() == expected


def test_blocks_must_fit():
    with pytest.raises(ValueError, match="reshape"):
        block_sums(np.ones((5, 5)), 2)
