"""Gaussian noise against published values, and mechanisms that people run themselves."""

from fractions import Fraction

import numpy as np
import pytest

from snhkit.geometry import Grid, Points, Region
from snhkit.privacy import ReplayableEntropy
from snhkit.privacy.gradients import noise_multiplier
from snhkit.teaching import (
    counts_of_answers,
    gaussian_delta,
    gaussian_std,
    moved,
    randomised_cells,
)

CITY = Region.around(lat=45, lon=7, side_m=4_000)
GRID = Grid(CITY, 4)
POINTS = Points(CITY, [[500.25, 500.75]] * 30_000 + [[3_500, 1_500]] * 10_000)


@pytest.mark.parametrize(("epsilon", "delta", "times"), [(1, 1e-6, 1), (0.5, 1e-5, 10)])
def test_the_noise_is_that_of_another_library(epsilon, delta, times):
    pytest.importorskip("dp_accounting")
    ours = gaussian_std(epsilon, delta, times)
    assert ours == pytest.approx(
        noise_multiplier(Fraction(epsilon), Fraction(delta), times), rel=0.01
    )
    assert gaussian_delta(epsilon, ours, times) == pytest.approx(delta, rel=1e-6)


def test_the_answers_of_people_estimate_the_counts():
    answers = randomised_cells(POINTS, GRID, 2.0, ReplayableEntropy(1))
    stays = np.exp(2) / (np.exp(2) + 15)
    assert np.mean(answers == np.repeat([0, 13], [30_000, 10_000])) == pytest.approx(
        stays, abs=0.01
    )
    counts = counts_of_answers(answers, GRID, 2.0)
    assert counts.sum() == pytest.approx(40_000)
    assert counts[0, 0] == pytest.approx(30_000, abs=1_500)
    assert counts[3, 1] == pytest.approx(10_000, abs=1_500)


def test_places_move_as_far_as_epsilon_says_around_where_they_were():
    off = moved(POINTS, 2.0, ReplayableEntropy(1)) - POINTS.xy
    assert np.abs(off).mean() == pytest.approx(500, rel=0.03)
    assert np.abs(off.mean(axis=0)).max() < 20
