"""The map starts from the noisy counts, smoothed where noise prevails."""

import numpy as np
import pytest

from snhkit.geometry import Grid, Region, SummedArea
from snhkit.neural.networks.start_map import start_map

CITY = Region.around(lat=45, lon=7, side_m=6_000)


def started(counts, cells, noise_scale):
    return start_map(SummedArea(Grid(CITY, len(counts)), counts), cells, noise_scale)


def test_without_noise_the_counts_come_out():
    counts = np.random.default_rng(0).poisson(2.0, (40, 40)).astype(float)
    np.testing.assert_allclose(started(counts, 40, 1e-9), counts, atol=1e-9)
    halves = started(counts, 20, 1e-9)
    np.testing.assert_allclose(halves, counts.reshape(20, 2, 20, 2).sum(axis=(1, 3)), atol=1e-9)
    assert started(counts, 0, 1.0).shape == (0, 0)


@pytest.mark.parametrize("cells", [60, 30])
def test_noise_alone_is_smoothed_away(cells):
    """Of 5 records a cell and noise of scale 3; half as many cells of the map have fourfold it."""
    rng = np.random.default_rng(1)
    counts = 5 + rng.laplace(0, 3, (60, 60))
    found = started(counts, cells, 3.0)
    many = (60 / cells) ** 2
    assert np.std(found) < 0.5 * 3 * np.sqrt(2 * many)
    assert found.mean() == pytest.approx(5 * many, rel=0.05)
    assert np.std(started(counts, cells, 0.3)) > 0.9 * 3 * np.sqrt(2 * many)


def test_by_hand_where_one_cell_stands_out():
    """Three cells: of the spike's excess over the mean of all, 24, its variance leaves a part.

    Windows of 3 and more cover all cells or their mirror images; the noise has variance 2, of
    which 16 / 9 is what one cell has beside the mean of nine.
    """
    counts = np.zeros((9, 9))
    counts[4, 4] = 27.0
    found = started(counts, 9, 1.0)
    fine = counts[4, 4] - 27 / 9
    # Eight cells around have 0 instead of 3.
    variance = (fine**2 + 8 * 9) / 9
    kept = 1 - (2 * 8 / 9) / variance
    # The mean of nine cells stands out of that of 81, which is 1 / 3, by 8 / 3.
    means = np.zeros((9, 9))
    means[3:6, 3:6] = 3.0
    wider = np.mean((means - 1 / 3) ** 2)
    by_noise = 2 * (1 / 9 - 1 / 81)
    assert found[4, 4] == pytest.approx(1 / 3 + (1 - by_noise / wider) * 8 / 3 + kept * fine)


def test_turned_it_comes_out_turned():
    counts = np.random.default_rng(2).gamma(0.3, 9, (31, 31))
    np.testing.assert_allclose(
        np.rot90(started(counts, 31, 2.0)), started(np.rot90(counts), 31, 2.0), rtol=1e-9
    )
