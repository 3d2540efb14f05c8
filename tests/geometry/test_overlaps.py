import jaxtyping
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry import RangeQueries, Region
from snhkit.models.variance import fractions, spans, squared_fractions

places = st.one_of(st.floats(0, 1), st.integers(0, 12).map(lambda twelfth: twelfth / 12))


@given(st.lists(st.tuples(places, places), min_size=1), st.integers(1, 12))
def test_the_short_way_is_the_long_one(pairs, m):
    span = np.sort(np.array(pairs), axis=1).T
    long = fractions(span, m)
    assert ((long >= 0) & (long <= 1)).all()
    np.testing.assert_allclose(long.sum(axis=1), (span[1] - span[0]) * m, atol=1e-12)
    np.testing.assert_allclose(squared_fractions(span, m), (long**2).sum(axis=1), atol=1e-12)


def test_by_hand():
    """Of five cells from 0 to 1: 0.1 to 0.7 covers half of the first and third and a half."""
    span = np.array([[0.1], [0.7]])
    np.testing.assert_allclose(fractions(span, 5), [[0.5, 1, 1, 0.5, 0]])
    np.testing.assert_allclose(squared_fractions(span, 5), 2.5)


def test_what_sticks_out_is_cut_off():
    city = Region.around(lat=0, lon=0, side_m=10)
    x, y = spans(RangeQueries(city, [-5, 12, 4], [2, 2, -9], [8, 5, 2], [3, 3, 50]))
    assert x.T.tolist() == [[0, 0.3], [1, 1], [0.4, 0.6]]
    assert y.T.tolist() == [[0.2, 0.5], [0.2, 0.5], [0, 1]]


def test_shapes_in_signatures_are_checked_here():
    with pytest.raises(jaxtyping.TypeCheckError, match="span"):
        fractions(np.zeros((3, 5)), 4)
