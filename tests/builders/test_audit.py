"""Audits of each method: lower bounds on epsilon from the answers of many builds.

The noise comes from a seed, so these tests always see the same draws.
"""

from fractions import Fraction
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely

from snhkit.builders import (
    DAWA,
    HDMM,
    PGM,
    AdaptiveGrid,
    HierarchicalGrid,
    Identity,
    Privelet,
    PrivTree,
    QuadTree,
    Tessellation,
    UniformGrid,
)
from snhkit.geometry import Points, RangeQueries, Region
from snhkit.neural import DPSGD, MLP, DenoisedGrid, Prior
from snhkit.privacy import (
    Measurements,
    PointSource,
    PrivacyUnit,
    ReplayableEntropy,
    Terms,
    audited_epsilon,
)

CITY = Region.around(lat=45, lon=7, side_m=400)
SPOT = [130.0, 130.0]
# Squares around the spot, as wide as the cells of the grids and trees below.
SIDES = np.array([10, 25, 40, 50, 100, 200, 400])
LOW = np.floor(SPOT[0] / SIDES) * SIDES
BOXES = RangeQueries(CITY, LOW, LOW, SIDES, SIDES)

QUARTERS = gpd.GeoSeries(
    [shapely.box(x, y, x + 200, y + 200) for x in (-200, 0) for y in (-200, 0)], crs=CITY.crs
)

WHOLE = {  # all of epsilon buys counts that are visible in one answer
    "UG": UniformGrid(),
    "Identity": Identity(100),
    "HB2D": HierarchicalGrid(100, b=2),
    "PGM": PGM(200),
    "HDMM": HDMM(100),
    "Tessellation": Tessellation(QUARTERS),
}
SHARED = {  # epsilon is shared among levels or with the structure, so one answer shows less
    "AG": AdaptiveGrid(),
    "PrivTree": PrivTree(max_depth=2),
    "QuadTree": QuadTree(1),
    "DAWA": DAWA(order=1, block=4),
    "Privelet": Privelet(200),
}
NEURAL = {
    "Denoised": DenoisedGrid(100, prior=Prior(turns=1)),
    "DP-SGD": DPSGD(
        (100, 300), MLP(depth=2, width=4), samples=16, steps=3, batch=1, learning_rate=0.1
    ),
}
EVERY = WHOLE | SHARED | NEURAL


def found(builder: Any, epsilon: int, runs: int) -> float:
    """Return the audited epsilon of answers with and without one record, at 99 % confidence."""
    delta = Fraction(str(getattr(builder, "delta", 0)))
    terms, entropy = (
        Terms(Fraction(epsilon), PrivacyUnit("record"), 3, delta=delta),
        ReplayableEntropy(1),
    )
    few, more = (PointSource(Points(CITY, [SPOT] * count)) for count in (3, 4))
    return audited_epsilon(
        lambda records: builder.build(Measurements(records, terms, entropy)).answer(BOXES),
        few,
        more,
        runs,
        delta=float(delta),
    )


@pytest.mark.parametrize("builder", EVERY.values(), ids=EVERY)
def test_no_more_than_promised(builder):
    assert found(builder, 1, 300 if isinstance(builder, DenoisedGrid) else 1_000) <= 1  # it is slow


@pytest.mark.parametrize("builder", WHOLE.values(), ids=WHOLE)
def test_half_of_the_noise_would_be_caught(builder):
    """The release is built for epsilon 2, while epsilon 1 is claimed."""
    assert found(builder, 2, 500) > 1


@pytest.mark.parametrize("builder", SHARED.values(), ids=SHARED)
def test_an_eighth_of_the_noise_would_be_caught(builder):
    assert found(builder, 8, 300) > 1


def test_half_of_the_noise_is_caught_in_the_denoised_grid():
    assert found(NEURAL["Denoised"], 2, 400) > 1


def test_hardly_any_noise_is_caught_in_dp_sgd():
    """More noise is not detected: a record moves a gradient far less than its noise can hide."""
    assert found(NEURAL["DP-SGD"], 10**8, 100) > 1
