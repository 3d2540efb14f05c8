"""The map starts from the noisy counts, smoothed where noise prevails."""

import numpy as np
import pytest

from snhkit.neural.networks.networks import start_map


def test_without_noise_the_counts_come_out():
    counts = np.random.default_rng(0).poisson(2.0, (40, 40)).astype(float)
    np.testing.assert_allclose(start_map(counts, 1e-9), counts, atol=1e-9)


def test_noise_alone_is_smoothed_away():
    """Of 5 records a cell and noise of scale 3."""
    counts = 5 + np.random.default_rng(1).laplace(0, 3, (60, 60))
    found = start_map(counts, 3.0)
    assert np.std(found) < 0.5 * 3 * np.sqrt(2)
    assert found.mean() == pytest.approx(5, rel=0.05)
    assert np.std(start_map(counts, 0.3)) > 0.9 * 3 * np.sqrt(2)


def test_by_hand_where_one_cell_stands_out():
    """Three cells: of the spike's excess over the mean of all, 24, its variance leaves a part.

    Windows of 3 and more cover all cells or their mirror images; the noise has variance 2, of
    which 16 / 9 is what one cell has beside the mean of nine.
    """
    counts = np.zeros((9, 9))
    counts[4, 4] = 27.0
    found = start_map(counts, 1.0)
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
        np.rot90(start_map(counts, 2.0)), start_map(np.rot90(counts), 2.0), rtol=1e-9
    )
