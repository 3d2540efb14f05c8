"""Fixtures for the tests of maps and figures: releases without noise, for exact comparisons."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from snhkit.geometry import Grid, Points, RangeQueries, Region, SummedArea


@dataclass
class Told:
    """A stand-in for a release that answers from given values and records each call."""

    region: Region
    values: np.ndarray
    asked: list[int] = field(default_factory=list)

    def answer(self, queries: RangeQueries) -> np.ndarray:
        self.asked.append(len(queries))
        return SummedArea(Grid(self.region, len(self.values)), self.values).sums(queries)


@pytest.fixture
def told():
    return Told


@pytest.fixture
def city() -> Region:
    return Region.around(lat=37.7637, lon=-122.4337, side_m=1_000)


@pytest.fixture
def two_releases(city: Region) -> dict[str, Told]:
    rng = np.random.default_rng(5)
    points = Points(city, rng.uniform(0, 1_000, (400, 2)))
    counts = Grid(city, 10).count(points).counts
    return {"Exact": Told(city, counts), "Twice": Told(city, 2 * counts)}
