from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, dlaplace

from snhkit.geometry import Grid, Histogram, Points, Region


class Scripted:
    """A source of entropy that returns given words in order, and fails if there are no more."""

    replayable = True

    def __init__(self, words: list[int]) -> None:
        self.left = np.array(words, np.uint64)

    def words(self, count: int) -> NDArray[np.uint64]:
        assert count <= len(self.left), "more words drawn than scripted"
        given, self.left = self.left[:count], self.left[count:]
        return given


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture
def laplace_p() -> Callable[[NDArray[np.int64], Fraction], float]:
    """Return a function that tests draws against scipy's discrete Laplace distribution.

    The function returns the p-value of a chi-square test. Each bin has a probability of about 1/41,
    and none of less than 1/1000, so with 200,000 draws every expected count is above 200, and the
    false-alarm rate equals the threshold for p.
    """

    def p_value(draws: NDArray[np.int64], scale: Fraction) -> float:
        law = dlaplace(float(1 / scale))
        edges = np.unique(law.ppf(np.linspace(0, 1, 42)[1:-1]))
        edges = edges[law.sf(edges) > 1e-3]
        share = np.diff(np.concatenate([[0], law.cdf(edges), [1]]))
        seen = np.bincount(np.searchsorted(edges, draws), minlength=len(share))
        return float(chisquare(seen, share * len(draws)).pvalue)

    return p_value


@pytest.fixture
def histogram() -> Histogram:
    city = Region.around(lat=0, lon=0, side_m=100)
    xy = np.random.default_rng(0).uniform(0, 100, (1_000, 2))
    return Grid(city, 450).count(Points(city, xy))
