"""Noisy max and the sparse vector technique choose with the probabilities of their noise."""

import numpy as np
import pytest

from snhkit.privacy import ReplayableEntropy
from snhkit.teaching import first_quiet, noisy_max

RUNS, FAR = 4_000, 40  # values of noise beyond FAR / epsilon have a probability below 1e-17


def laplace(scale):
    """Return all values of noise, and their probabilities."""
    values = np.arange(-int(FAR * scale), int(FAR * scale) + 1)
    weights = np.exp(-np.abs(values) / scale)
    return values, weights / weights.sum()


def agrees(drawn, probability):
    """Say no to a right mechanism with a probability below 1e-8 (Hoeffding)."""
    return abs(np.mean(drawn) - probability) < (np.log(2e8) / 2 / RUNS) ** 0.5


@pytest.mark.parametrize("epsilon", [1, 0.25])
def test_noisy_max_takes_the_larger_of_two_as_often_as_its_noise_says(epsilon):
    values, p = laplace(1 / epsilon)
    ahead = values[:, None] + 3 >= values  # the first wins a tie
    entropy = ReplayableEntropy(1)
    drawn = [noisy_max([8, 5], epsilon, entropy) == 0 for _ in range(RUNS)]
    assert agrees(drawn, p @ ahead @ p)


@pytest.mark.parametrize("epsilon", [1, 0.5])
def test_the_first_quiet_place_is_found_as_often_as_the_noise_says(epsilon):
    counts, threshold = [9, 2, 0], 4
    lines, p = laplace(2 / epsilon)
    noise, q = laplace(4 / epsilon)
    below = [[q[noise + c < threshold + line].sum() for line in lines] for c in counts]
    stays = np.cumprod([np.ones(len(lines)), *(1 - np.array(below))], axis=0)
    stops = [p @ (kept * at) for kept, at in zip(stays, [*below, np.ones(len(lines))], strict=True)]
    entropy = ReplayableEntropy(2)
    drawn = np.array([first_quiet(counts, threshold, epsilon, entropy) for _ in range(RUNS)])
    assert sum(stops) == pytest.approx(1)
    for place, probability in enumerate(stops):
        assert agrees(drawn == place, probability)
