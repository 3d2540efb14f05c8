"""One person has one key, in whatever types the sources have the id.

Ids that split or merge people would break the promise to them.
"""

import decimal
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit import PrivateDataset
from snhkit.data import ReadReport, read_points
from snhkit.data.sources import frames
from snhkit.data.sources.people import _is_other_number, person_keys
from snhkit.errors import InputError
from snhkit.geometry import Region

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)


def of(values, kind=None):
    return person_keys(pa.array(values, kind))[0].tolist()


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
            array = pa.array([decimal.Decimal(i) for i in ids], kind)
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


def frame(user, **kind) -> pd.DataFrame:
    return pd.DataFrame({"lat": 37.76, "lon": -122.43, "user": pd.Series(user, **kind)})


def people(source, **said):
    reports: list[ReadReport] = []
    points = read_points(source, CITY, report=reports.append, **said)
    return points.user if points.user is None else points.user.tolist(), reports[-1]


@pytest.mark.parametrize(
    ("user", "told"),
    [
        (["a", b"a", 7], r"text \('a'\) and bytes \(\"b'a'\"\) and number \('7'\)"),
        ([2, True], r"number \('2'\) and true or false \('True'\)"),
        (["a", uuid.UUID(int=5)], r"text \('a'\) and UUID"),
    ],
)
def test_mixed_types_are_refused(user, told):
    with pytest.raises(InputError, match=f"^the frame: user ids are of mixed types: {told}"):
        read_points(frame(user), CITY)
    with pytest.raises(InputError, match="mixed types"):
        read_points(frame(user).astype({"user": "category"}), CITY)


@pytest.mark.parametrize("other", [b"7", uuid.UUID(int=7)])
def test_types_that_begin_later_are_refused_too(other, monkeypatch):
    monkeypatch.setattr(frames, "_BATCH", 2)
    with pytest.raises(InputError, match=r"of mixed types, bytes and text"):
        read_points(frame([None, None, "7", "7", other]), CITY, user="user")
    assert people(frame([7, 7, "7", None, 7.0]), user="user")[0] == [0] * 4
    times = frame([7] * 4).assign(time=[1.8e9, 1.8e9, 1.8e12, 1.8e12])
    with pytest.raises(InputError, match="times are numbers of milliseconds and of seconds; write"):
        read_points(times, CITY, time="time")


def test_numbers_of_several_kinds_are_one_type():
    assert people(frame([1001, "1001", " 1001.0", 7]))[0] == [0, 0, 0, 1]
    assert people(frame([5, 5.0, np.int8(5), decimal.Decimal(5)], dtype=object))[0] == [0] * 4
    told = filter(_is_other_number, ("042", "7", "1 000", "Ann", "1.5", "1.50", "1e5"))
    assert list(told) == ["042", "1 000", "1.50", "1e5"]  # of text, beside a column of numbers
    wide = pl.Series("user", [10**30, 5, 10**30, 5], pl.Int128)
    assert people(pl.from_pandas(frame([0] * 4)).with_columns(wide))[0] == [0, 1, 0, 1]


def test_spellings_of_one_id_are_one_person_and_told(tmp_path):
    spelt = ["42", "42.0", " 42", "42.00\t", "+42", "-7", "-7.0"]
    spelt = frame([*spelt, "Ann", "Ann\u00a0", "Jose\u0301", "José", "042"])
    spelt.to_csv(tmp_path / "a.csv", index=False)
    for source in (spelt, tmp_path / "a.csv", spelt.astype({"user": "category"})):
        found, report = people(source)
        assert found == [0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4]
        assert "7 user ids were written in several ways" in str(report)
        assert "1 user id differs from another only in case, punctuation or" in str(report)


@pytest.mark.parametrize("word", ["NULL", "None", "nan", "", " ", "N/A", "<NA>", "-"])
def test_words_for_a_missing_id_are_no_person(word, tmp_path):
    table = frame(["a", word, "b"])
    table.to_csv(tmp_path / "a.csv", index=False)
    for source in (table, tmp_path / "a.csv", pl.from_pandas(table)):
        found, report = people(source, user="user")
        assert found == [0, 1]
        assert (report.unusable, len(report.unusable_rows)) == (1, 1)
        reason = "is missing" if not word.strip() else f"{word!r} is not an id"
        assert f"user {reason}" in str(report)


def test_gaps_in_a_column_that_nobody_named_cost_no_rows(tmp_path):
    table = frame(["a", None, "b"]).rename(columns={"user": "device"})
    table.to_csv(tmp_path / "a.csv", index=False)
    for source in (table, tmp_path / "a.csv"):
        found, report = people(source)
        assert found is None
        assert (report.kept, report.unusable) == (3, 0)
        assert "the column 'device' looks like user ids, but 1 rows have none" in str(report)
        assert people(source, user="device")[0] == [0, 1]


def test_users_are_listed_as_the_source_has_them():
    people_of = [[1, 2], ["1.0", "2"], [b"1", b"2"], [uuid.UUID(int=1), uuid.UUID(int=2)]]
    for ids in [*people_of, [str(uuid.UUID(int=1)), str(uuid.UUID(int=2))]]:
        wanted = people_of[3][:1] if len(str(ids[0])) > 9 else ids[:1]
        assert people(frame(ids), user="user", users=wanted)[1].kept == 1
    for one in ("u1", 7, b"u"):
        with pytest.raises(InputError, match=r"users must be a list of user ids, such as \["):
            people(frame(["u1"]), user="user", users=one)


def test_large_floats_that_merge_people_are_refused():
    with pytest.raises(InputError, match=r"above 2\*\*53, where different ids round"):
        read_points(frame([2.0**60, np.nan, 3.0]), CITY)
    assert people(frame([2**60, 2**60 + 1, None], dtype="Int64"), user="user")[0] == [0, 1]


def test_ids_that_a_spreadsheet_has_rounded_are_pointed_out():
    assert "rounded by a spreadsheet, such as '1.2E+17'" in str(people(frame(["1.2E+17", "b"]))[1])


def test_an_id_that_stands_for_many_is_pointed_out():
    crowd = ["0"] * 50 + [f"u{k}" for k in range(200)]
    assert "the user id '0' has 50 of 250 records" in str(people(frame(crowd))[1])
    assert people(frame([f"u{k % 7}" for k in range(250)]))[1].notes == ()


def test_of_each_person_as_many_records_count_as_were_promised():
    table = frame([1001.0] * 3 + [1001] * 3, dtype=object)
    points = read_points(table, CITY)
    data = PrivateDataset(points, 1, unit="user", max_per_user=1, n_public=True)
    assert data.n == 1
