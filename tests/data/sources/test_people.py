"""One person has one key, in whatever types the sources have the id."""

import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.data.sources.people import person_keys
from snhkit.errors import InputError


def of(values, kind=None):
    return person_keys(pa.array(values, kind))[0].tolist()


@pytest.mark.parametrize(
    "values",
    [
        ["42", " 42 ", "42.0", "42.00", "+42"],
        ["-7", "-7.0"],
        [42, 42],
        [42.0, 42.0],
        ["e\u0301", "é"],
        [b"a", b"a"],
    ],
)
def test_spellings_of_an_id_are_one_person(values):
    assert len(set(of(values))) == 1


@pytest.mark.parametrize("size", [10**17, 10**18 - 1, 10**18, 10**18 + 7, 2**62, 2**63 - 1])
def test_long_numbers_are_the_people_of_their_texts(size):
    assert of([size, -size]) == of([str(size), str(-size)])


@pytest.mark.parametrize(
    "values", [["42", "042"], [1, 2], [1.5, 2.5], ["a", "A"], [b"\xe9", b"\xea"]]
)
def test_other_ids_are_other_people(values):
    assert len(set(of(values))) == 2


def test_a_missing_id_is_nobody():
    assert of(["", "NULL", None, "-", " nan"]) == [0] * 5
    assert of([None, 3])[0] == of([float("nan"), 3.0])[0] == of([None, b"x"])[0] == 0


def test_keys_do_not_depend_on_the_chunk():
    assert of(["b", "a"])[1] == of(["a", "c", "d"])[0]
    assert of([7, 5])[0] == of([7])[0]


INTS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(38, 0),
        pa.decimal256(50, 4), pa.string(), pa.large_string(), pa.string_view()]  # fmt: skip


def encoded(ids, kind):
    """The ids as an Arrow array of a type; None if the type cannot hold them exactly."""
    try:
        if "string" in str(kind):
            array = pa.array([str(i) for i in ids], pa.string()).cast(kind)
        elif pa.types.is_decimal(kind):
            array = pa.array([Decimal(i) for i in ids], kind)
        elif pa.types.is_floating(kind):
            exact = {16: 2**11, 32: 2**24, 64: 2**53}[kind.bit_width]
            array = (
                pa.array(np.array(ids, kind.to_pandas_dtype()))
                if max(map(abs, ids)) < exact
                else None
            )
        else:
            array = pa.array(ids, kind)
    except (pa.ArrowInvalid, OverflowError):
        return None
    return array


ids = st.one_of(st.integers(0, 100), st.integers(-(2**31), 2**31), st.integers(-(2**63), 2**64 - 1))


@given(st.lists(ids, min_size=1, max_size=20), st.sampled_from(INTS), st.sampled_from(INTS))
def test_any_two_encodings_of_whole_numbers_are_the_same_people(ids, one, other):
    keys = [
        person_keys(array)[0].tolist()
        for kind in (one, other)
        if (array := encoded(ids, kind)) is not None
    ]
    assert all(found == keys[0] for found in keys)
    for found in keys:
        assert len(set(found)) == len(set(ids))
        assert 0 not in found


@given(st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=20))
def test_bytes_are_people_by_their_bytes(ids):
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        found = of(ids, kind)
        assert len(set(found)) == len(set(ids))
        assert found == of(ids, pa.binary())
    wide = [one.ljust(16, b"x") for one in ids]
    assert of(wide, pa.binary(16)) == of(wide, pa.binary())
    assert person_keys(pa.array(wide, pa.uuid()))[0].tolist() == of(wide, pa.binary())


def test_encoded_columns_are_those_of_their_values():
    plain = pa.array(["b", None, "a", "b"])
    assert person_keys(plain.dictionary_encode())[0].tolist() == person_keys(plain)[0].tolist()
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([7, 8]))
    assert person_keys(runs)[0].tolist() == of([7, 7, 8])
    assert of([uuid.UUID(int=5).bytes], pa.uuid()) == of([uuid.UUID(int=5).bytes])
    assert of([1.5, 0.1], pa.float32()) == of(["1.5", "0.1"]) == of([1.5, 0.1])


@pytest.mark.parametrize(
    ("values", "kind"),
    [([2.0**53, 1.0], None), ([2.0**24], pa.float32()), ([[1], [2]], None), ([True], None)],
)
def test_ids_that_tell_nobody_apart_are_refused(values, kind):
    with pytest.raises(InputError):
        of(values, kind)
