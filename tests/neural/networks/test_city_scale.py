"""The paper's network learns streets in a region of 13.2 km, not only in one of 800 m.

The counts are a wave of 1 km along either axis; there is no noise. Measured after 200 steps: a
correlation of 0.96 between answers and counts; 0 where coordinates are scaled to [-1, 1].
"""

import numpy as np
import pytest

from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.neural import MLP, Networks

CITY = Region.around(lat=45, lon=7, side_m=13_200)
STEPS, BATCH = 200, 1_024


@pytest.fixture(scope="module")
def table() -> SummedArea:
    grid = Grid(CITY, 220)
    wave = np.sin(2 * np.pi * (np.arange(220) + 0.5) * 60 / 1_000)
    return SummedArea(grid, 20 * (1 + 0.9 * np.outer(wave, wave)))


def learned(table, network):
    """Answers to squares of 62.5 m, and what is true of them."""
    networks = Networks.paper(
        k=1, network=network, positions="scattered", steps=STEPS, batch=BATCH, learning_rate=0.003
    )
    model = networks.learn(table, (62.5, 62.5), 20.0, 1.0, None)
    boxes = RangeQueries.sample(CITY, 500, (62.5, 62.5), seed=1)
    return model.answer(boxes), table.sums(boxes)


def test_it_beats_a_constant_and_0(table):
    answers, truth = learned(table, MLP(depth=4, width=64))
    error = np.mean((answers - truth) ** 2)
    assert error < 0.5 * truth.var()
    assert error < 0.1 * np.mean(truth**2)


def test_coordinates_between_minus_1_and_1_are_why_it_did_not(table):
    answers, truth = learned(table, MLP(depth=4, width=64, span=2))
    assert np.mean((answers - truth) ** 2) > 0.8 * truth.var()
