"""What a page holds is what was put in: no number is cut to fewer bits than it needs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from snhkit.viz.reports.rendering import packed, unpacked

bits = st.integers(1, 62)
whole = bits.flatmap(lambda k: st.integers(-(2**k), 2**k))
numbers = st.one_of(whole.map(float), st.floats(allow_nan=False, allow_infinity=False))


@given(
    arrays(np.int64, st.integers(0, 5), elements=whole),
    arrays(np.float64, st.integers(0, 5), elements=numbers),
)
def test_arrays_come_back_as_they_were(ints, floats):
    header, found = unpacked(packed({"title": "é"}, {"ints": ints, "floats": floats}))
    assert header == {"title": "é"}
    # Numbers beyond 32 bits are stored as floats, as the page's script has no others.
    np.testing.assert_array_equal(found["ints"], ints.astype(float))
    np.testing.assert_array_equal(found["floats"], floats)


def test_each_number_takes_as_few_bytes_as_its_range_allows():
    for low, high, kind in [(-128, 127, "int8"), (-129, 0, "int16"), (0, 255, "uint8"),
                            (-1, 255, "int16"), (0, 65_535, "uint16"), (-1, 65_535, "int32"),
                            (0, 2**32 - 1, "uint32"), (-1, 2**32 - 1, "float64")]:  # fmt: skip
        _, found = unpacked(packed({}, {"a": np.array([low, high])}))
        assert found["a"].dtype.name == kind
        assert found["a"].tolist() == [low, high]
