"""SNH at an enormous epsilon: no noise is left, only what the networks cannot say.

The places follow a smooth density as a Halton sequence does, so that exact counts are smooth too.
Errors are sums of absolute errors over sums of counts. Measured, in percent: squares of 26, 60
and 99 m 0.6, 0.5, 0.9; of 10 and 20 m 2.3, 0.9; of 150 and 300 m 0.2, 0.1; thin 0.5; wide 0.1.
"""

import numpy as np
import pytest
from scipy.stats import qmc

from snhkit.dataset import PrivateDataset
from snhkit.geometry import Points, RangeQueries, Region, exact_counts
from snhkit.neural import MLP, SNH, FeatureGrid, Networks
from snhkit.release import Release

CITY = Region.around(lat=45, lon=7, side_m=400)


def wave(xy):
    """Nine times as many in the middle of a hill as in that of a dale."""
    angle = xy * 2 * np.pi / 400
    return (1 + 0.8 * np.sin(angle[:, 0]) * np.cos(angle[:, 1])) / 1.8


@pytest.fixture(scope="module")
def hills() -> Points:
    places = qmc.Halton(3, scramble=False).random(300_000)
    xy = places[:, :2] * 400
    return Points(CITY, xy[places[:, 2] < wave(xy)])


def trained(hills: Points, **changes) -> Release:
    network = FeatureGrid((8,))
    settings = {"k": 4, "network": network, "batch": 2_048}
    builder = SNH(5, networks=Networks(**(settings | {"steps": 25} | changes)))
    data = PrivateDataset(hills, budget=10**6, unit="record", n_public=True)
    return data.release(builder, epsilon=10**6)


@pytest.fixture(scope="module")
def release(hills) -> Release:
    return trained(hills)


def rectangles(width, height, count=200):
    low = np.random.default_rng(4).uniform(size=(2, count))
    x, y = low[0] * (400 - width), low[1] * (400 - height)
    return RangeQueries(CITY, x, y, np.full(count, width), np.full(count, height))


def error(release, hills, boxes):
    exact = exact_counts(hills, boxes)
    return np.abs(release.answer(boxes) - exact).sum() / exact.sum()


@pytest.mark.parametrize(
    ("width", "height", "most"),
    [
        (26, 26, 0.012),
        (60, 60, 0.01),
        (99, 99, 0.018),
        (10, 10, 0.04),
        (20, 20, 0.018),
        (150, 150, 0.004),
        (300, 300, 0.002),
        (6, 300, 0.01),
        (250, 15, 0.006),
        (60, 90, 0.003),
    ],
)
def test_boxes_of_all_sizes_and_shapes(release, hills, width, height, most):
    assert error(release, hills, rectangles(width, height)) < most


def test_the_whole_region_is_everybody(release, hills):
    boxes = RangeQueries(CITY, [0, -9], [0, -9], [400, 900], [400, 900])
    np.testing.assert_allclose(release.answer(boxes), len(hills), rtol=2e-3)


def test_whole_blocks_are_nearly_exact(release, hills):
    """Blocks of 100 m, each 20 by 20 cells."""
    boxes = RangeQueries(CITY, [0, 100, 200], [0, 0, 300], [100, 300, 100], [100, 200, 100])
    np.testing.assert_allclose(release.answer(boxes), exact_counts(hills, boxes), rtol=5e-3)


@pytest.mark.slow
def test_the_papers_way_of_scaling_is_worse_far_from_trained_sizes(hills):
    """Below l it counts too many: a square of 10 m as 10 / 34 of one of 34 m, not its square."""
    small = rectangles(10, 10)
    network = MLP(3, 8)
    linear, release = (
        trained(hills, network=network, scaling=scaling) for scaling in ("linear", "area")
    )
    ratio = linear.answer(small) / release.answer(small)
    np.testing.assert_allclose(ratio, 34.375 / 10, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "most"), [(26, 0.015), (60, 0.012), (99, 0.02), (10, 0.05)])
def test_one_network_that_is_told_sizes_does_for_all(one, hills, width, most):
    assert error(one, hills, rectangles(width, width)) < most


@pytest.fixture(scope="module")
def one(hills) -> Release:
    return trained(hills, k=1, scaling="learned")
