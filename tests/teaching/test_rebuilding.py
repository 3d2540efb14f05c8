"""Counts that are rebuilt from sums: exact ones are, noisy ones are not."""

import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region, exact_counts
from snhkit.teaching import bounds_of_cells, cells_in, random_boxes, rebuilt

TOWN = Grid(Region.around(lat=45, lon=7, side_m=600), 6)


@pytest.fixture(scope="module")
def town():
    lives = np.random.default_rng(1).random((6, 6)) < 0.3
    homes = Points(TOWN.region, (np.argwhere(lives) + 0.5) * TOWN.cell_m)
    boxes = random_boxes(TOWN, 120)
    return lives, homes, boxes


def test_the_cells_of_boxes_give_their_exact_counts(town):
    lives, homes, boxes = town
    assert np.array_equal(cells_in(TOWN, boxes) @ lives.ravel(), exact_counts(homes, boxes))


def test_exact_counts_give_back_every_home_and_wide_noise_does_not(town):
    lives, homes, boxes = town
    inside, answers = cells_in(TOWN, boxes), exact_counts(homes, boxes)
    assert np.array_equal(rebuilt(inside, answers) > 0.5, lives.ravel())
    noise = np.random.default_rng(2).normal(0, 40, len(answers))
    assert np.mean((rebuilt(inside, answers + noise) > 0.5) == lives.ravel()) < 0.85


def test_margins_bound_hidden_counts():
    # 1 + ? = 4 is certain; ? + ? = 5 with 1 to 4 each is not.
    low, high = bounds_of_cells([[1, 0, 0], [0, 1, 1]], [3, 5], least=1, most=4)
    assert low.tolist() == [3, 1, 1]
    assert high.tolist() == [3, 4, 4]
    with pytest.raises(InputError, match="no counts from 1 to 4 have these sums"):
        bounds_of_cells([[1, 1]], [9], least=1, most=4)
    with pytest.raises(InputError, match="answers must have one value for each"):
        rebuilt([[1, 1]], [1, 2])
