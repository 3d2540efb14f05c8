"""A slice of a column holds the records of its rows, whatever readers look at first."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from snhkit.data.sources.chunk import _strata_of
from snhkit.data.sources.geo import Geometry, degrees_of, floats_of, points_of
from snhkit.data.sources.people import Unasked, person_keys
from snhkit.data.sources.times import times_of
from snhkit.geometry.strata import By

N = 9
X, Y = np.linspace(-122.5, -122.4, N), np.linspace(37.7, 37.8, N)
POINTS = shapely.points(X, Y)
SOME = [None if i == 3 else one for i, one in enumerate(POINTS)]  # read by another way
IDS = pa.array(["b", None, "a", "7", "07", "7.0", "c", "", "b"])
NUMBERS = pa.array([5, None, 7, 8, 9, 10**18, -1, 5, 0])
SECONDS = pa.array([1_793_491_200 + 3_600 * i for i in range(N)])
KINDS = pa.array(["bike", "car", None, "bus", "bike", "car", "car", "other", "bike"])


def shapes(encoding, column):
    return degrees_of("a.parquet", column, Geometry("geometry", encoding, ""))


READERS = {
    "WKB": (partial(shapes, "WKB"), pa.array(shapely.to_wkb(POINTS))),
    "WKB with gaps": (partial(shapes, "WKB"), pa.array(shapely.to_wkb(SOME))),
    "WKT": (partial(shapes, "WKT"), pa.array(shapely.to_wkt(POINTS))),
    "struct": (partial(shapes, "point"), pa.StructArray.from_arrays([X, Y], ["x", "y"])),
    "list": (partial(shapes, "point"),
             pa.FixedSizeListArray.from_arrays(np.stack([X, Y], axis=1).ravel(), 2)),
    "points": (lambda column: points_of("a.csv", column, None),
               pa.array([f"({y}, {x})" for x, y in zip(X, Y, strict=True)])),
    "points in WKB": (lambda column: points_of("a.csv", column, None),
                      pa.array(shapely.to_wkb(POINTS))),
    "numbers": (partial(floats_of, "a.csv"), pa.array([None if i == 4 else i for i in range(N)])),
    "numbers as text": (partial(floats_of, "a.csv"), pa.array([f" {i}" for i in range(N)])),
    "texts of people": (lambda column: person_keys(column)[0], IDS),
    "people": (lambda column: person_keys(column)[0], NUMBERS),
    "people as bytes": (lambda column: person_keys(column)[0], IDS.cast(pa.binary())),
    "people as decimals": (lambda column: person_keys(column)[0], NUMBERS.cast(pa.decimal128(30))),
    "coded people": (lambda column: person_keys(column)[0], IDS.dictionary_encode()),
    "people not asked for": (lambda column: person_keys(Unasked(column)[:].column)[0], IDS),
    "seconds": (lambda column: times_of("time", column)[0], SECONDS),
    "times": (lambda column: times_of("time", column, "Europe/Paris")[0],
              SECONDS.cast(pa.timestamp("s"))),
    "times as text": (lambda column: times_of("time", column, "Europe/Paris")[0],
                      SECONDS.cast(pa.timestamp("s")).cast(pa.string())),
    "strata": (lambda column: _strata_of(column, By.column("kind", ["bike", "bus"])), KINDS),
    "coded strata": (
        lambda column: _strata_of(column, By.column("kind", ["bike", "car"], other=False)),
        KINDS.dictionary_encode(),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("read", "column"), READERS.values(), ids=READERS)
@given(st.integers(0, N - 1), st.integers(1, N))
def test_a_slice_is_read_as_a_slice_of_what_is_read(read, column, start, length):
    assert len(column) == N
    whole = np.atleast_2d(read(column))
    part = np.atleast_2d(read(column.slice(start, length)))
    np.testing.assert_array_equal(part, whole[:, start : start + length])
