"""Maps of strata that are drawn together: sums, empty land, and what each keeps of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snhkit as snh
from snhkit.models import PackedGridModel
from snhkit.models.pooled import drawn_together

CITY = snh.Region.around(lat=45, lon=7, side_m=1_600)


def model(counts, scale=0.01):
    counts = np.asarray(counts, float)
    return PackedGridModel.of(CITY, counts, scale, round(counts.sum()))


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(2, 5), st.sampled_from([0, 3, 900]))
def test_strata_add_up_to_all_in_each_cell(seed, m, strata, most):
    rng = np.random.default_rng(seed)
    whole = model(rng.integers(0, most + 1, (m, m)))
    sides = rng.integers(1, 9, strata)
    parts = [model(rng.integers(0, 50, (side, side)) * rng.integers(0, 2)) for side in sides]
    made = list(drawn_together(whole, parts, 0.1))
    assert {part.grid.m for part, _ in made} == {m}
    assert [n for _, n in made] == [round(part.total) for part, _ in made]
    together = sum(part.values(m) for part, _ in made)
    # Each running sum of counts is rounded to a unit of 0.1 / 16 / strata.
    np.testing.assert_allclose(together, whole.values(m), atol=2 * 0.1 / 16)
    assert sum(part.total for part, _ in made) == pytest.approx(whole.total)
    assert all(part.values(m).min() >= 0 for part, _ in made)


def test_strata_keep_their_share_and_some_of_their_pattern():
    whole = model([[240, 160], [0, 0]])
    west, flat = model([[90, 10], [0, 0]]), model([[150, 150], [0, 0]])
    (first, n), (second, _) = drawn_together(whole, [west, flat], 0.01)
    assert n == pytest.approx(100, abs=2)
    assert first.total + second.total == pytest.approx(400, abs=0.01)
    share = first.values(2)[0, 0] / first.total
    assert 0.7 < share < 0.88  # between the share of all strata, 0.6, and its own, 0.9


def test_where_all_strata_together_have_no_records_none_has_any():
    (one, _), (other, _) = drawn_together(
        model([[8, 0], [0, 0]]), [model([[1, 5], [0, 2]])] * 2, 0.01
    )
    assert one.values(2).ravel()[1:].tolist() == other.values(2).ravel()[1:].tolist() == [0, 0, 0]


def test_equal_strata_have_the_map_of_all():
    whole = model([[8, 4], [2, 2]])
    for part, n in drawn_together(whole, [model([[3, 3], [3, 3]])] * 2, 0.001):
        np.testing.assert_allclose(part.values(2), whole.values(2) / 2, atol=0.01)
        assert n == 8


def test_values_of_other_cells_are_answers_to_them():
    part = model(np.arange(25).reshape(5, 5))
    for m in (1, 3, 5, 10):
        cells = snh.geometry.Grid(CITY, m).boxes()
        np.testing.assert_allclose(part.values(m).ravel(), part.answer(cells), atol=1e-3)
    assert part.total == pytest.approx(300)
