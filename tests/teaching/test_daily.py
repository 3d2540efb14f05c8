"""A count a day adds up, and a tree of sums has the error that its formula says."""

import numpy as np
import pytest

from snhkit.privacy import ReplayableEntropy
from snhkit.teaching import guessed_after, running_totals, running_totals_std, surest


def test_one_day_is_as_hard_as_epsilon_says_and_a_year_is_not():
    first, year = guessed_after([1, 365], 0.5, 2_000, ReplayableEntropy(1))
    assert first == pytest.approx(surest(0.5), abs=0.05)
    assert year > 0.99


def test_days_may_come_in_any_order():
    late, early = guessed_after([100, 1], 0.5, 2_000, ReplayableEntropy(1))
    assert late > early + 0.2


def test_totals_without_noise_are_exact_and_with_noise_as_wide_as_the_formula():
    counts = np.arange(37)
    assert np.array_equal(running_totals(counts, 10_000, ReplayableEntropy(1)), counts.cumsum())
    draws = [running_totals(counts, 1, ReplayableEntropy(k))[30] for k in range(300)]
    wanted = running_totals_std(31, 1) * np.sqrt(7**2 / 6**2)  # 37 days have a level more
    assert np.std(draws) == pytest.approx(wanted, rel=0.15)
    assert np.mean(draws) == pytest.approx(counts[:31].sum(), abs=4)
