"""A small city with records of a few people, for the tests of builders and releases."""

import os
from collections.abc import Iterator

import jax
import numpy as np
import pytest
from hypothesis import settings

from snhkit.geometry import Points, Region

# A busy machine is no failure.
settings.register_profile("snhkit", deadline=None)
settings.load_profile("snhkit")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """All tests are dealt out to the cores, four at most; some of them stay in this process."""
    every = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return min(os.cpu_count() or 1, 4) if every else 0


@pytest.fixture(scope="session")
def city() -> Region:
    return Region.around(lat=45, lon=7, side_m=400)


@pytest.fixture(scope="session")
def records(city: Region) -> Points:
    """300 records of 40 people, two thirds of them around two places."""
    rng = np.random.default_rng(3)
    near = np.repeat([[100, 130], [310, 290]], 100, axis=0) + rng.normal(0, 20, (200, 2))
    xy = np.concatenate([np.clip(near, 0, 399), rng.uniform(0, 400, (100, 2))])
    return Points(city, xy, rng.integers(40, size=300))


@pytest.fixture(scope="module")
def hasty_compiler() -> Iterator[None]:
    """For programs that run for milliseconds: compiled in a third of the time, not to be quick.

    Not for the prior: it runs long, and what is compiled stays so for all tests that follow.
    """
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
