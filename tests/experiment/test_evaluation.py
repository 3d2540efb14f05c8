"""The boxes that releases are measured on."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.experiment.evaluation import SizeBand, adds_up, anywhere, bands_in
from snhkit.geometry import Asked, Points, RangeQueries, Region, exact_counts
from snhkit.metrics import SIZE_BANDS_M, band_name

CITY = Region.around(lat=45, lon=7, side_m=400)


@given(st.lists(st.tuples(st.floats(0, 900), st.floats(0, 900)), max_size=20), st.integers(0, 99))
def test_boxes_anywhere_keep_their_sizes_and_lie_inside(sizes, seed):
    width, height = np.array(sizes, float).reshape(-1, 2).T
    boxes = RangeQueries(CITY, np.full(len(width), 390), np.full(len(width), -50), width, height)
    moved = anywhere(boxes, seed)
    assert moved.width.tolist() == np.minimum(width, 400).tolist()
    assert moved.height.tolist() == np.minimum(height, 400).tolist()
    assert ((moved.x >= 0) & (moved.y >= 0)).all()
    assert ((moved.x1 <= 400 + 1e-9) & (moved.y1 <= 400 + 1e-9)).all()
    np.testing.assert_array_equal(anywhere(boxes, seed).x, moved.x)


def test_boxes_anywhere_are_spread_uniformly():
    """Kolmogorov's distance of 4,000 centres is above 0.04 with chance below 1e-5; seeded."""
    moved = anywhere(RangeQueries(CITY, *np.zeros((2, 4_000)), *np.full((2, 4_000), 100.0)))
    for low in (moved.x, moved.y):
        rank = np.sort(low) / 300
        assert np.abs(rank - np.arange(4_000) / 4_000).max() < 0.04
    assert abs(np.corrcoef(moved.x, moved.y)[0, 1]) < 0.08


@pytest.mark.parametrize(
    ("side_m", "tiles"), [(400, 16), (449, 16), (451, 25), (40, 1), (150, 4), (30_000, 90_000)]
)
def test_tiles_are_the_nearest_whole_number_to_100_m_and_cover_the_region(side_m, tiles):
    region, asked = Region.around(lat=45, lon=7, side_m=side_m), []

    def answer(boxes):
        asked.append(boxes)
        return boxes.width * boxes.height

    total = adds_up(SimpleNamespace(region=region, answer=answer), 7)  # pyright: ignore[reportArgumentType]
    assert sum(map(len, asked)) == tiles
    assert max(map(len, asked)) < 70_000  # many are asked in parts
    assert total == pytest.approx(side_m**2 / 7)


def test_without_records_there_is_no_sum():
    release = SimpleNamespace(region=CITY, answer=lambda boxes: np.ones(len(boxes)))
    assert np.isnan(adds_up(release, 0))  # pyright: ignore[reportArgumentType]


def test_errors_by_hand():
    records = Points(CITY, [[10.0, 10.0], [10.0, 20.0], [300.0, 300.0]])
    asked = Asked.of(records, RangeQueries(CITY, [0, 200], [0, 200], [100, 10], [100, 10]))
    assert asked.counts.tolist() == [2, 0]
    assert asked.absolute_error(np.array([3.0, -1.0])) == 1
    # psi is 0.003 for 3 records
    assert asked.relative_error(np.array([3.0, -1.0])) == pytest.approx((1 / 2 + 1 / 0.003) / 2)
    none = Asked.of(records, RangeQueries(CITY, [], [], [], []))
    assert np.isnan(none.absolute_error(np.zeros(0)))


def test_a_band_has_squares_of_its_sizes_on_records_and_anywhere():
    records = Points(CITY, [[10.0, 10.0], [390.0, 390.0]])
    band = SizeBand.of(records, (25, 100), count=500)
    for asked in (band.around, band.anywhere):
        assert len(asked.boxes) == 500
        assert asked.boxes.width.min() >= 25
        assert asked.boxes.width.max() <= 100
        np.testing.assert_array_equal(asked.counts, exact_counts(records, asked.boxes))
    np.testing.assert_array_equal(band.around.boxes.width, band.anywhere.boxes.width)
    assert (band.around.counts >= 1).all()
    assert (band.anywhere.counts == 0).mean() > 0.8


def test_bands_that_do_not_fit_are_left_out():
    names = [band_name(band) for band in SIZE_BANDS_M]
    assert names == ["25-100 m", "100-300 m", "300-1,000 m", "1-5 km"]
    for side, fitting in ((99, 0), (100, 1), (999, 2), (1_000, 3), (4_999, 3), (5_000, 4)):
        assert bands_in(Region.around(lat=45, lon=7, side_m=side)) == list(SIZE_BANDS_M[:fitting])
