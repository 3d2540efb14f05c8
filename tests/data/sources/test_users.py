"""Who is one person: ids that split or merge people would break the promise to them."""

import decimal
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pytest

from snhkit import PrivateDataset
from snhkit.data import ReadReport, read_points
from snhkit.data.sources import frames
from snhkit.errors import InputError
from snhkit.geometry import Region

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)


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


def test_numbers_of_several_kinds_are_one_type():
    assert people(frame([1001, "1001", " 1001.0", 7]))[0] == [0, 0, 0, 1]
    assert people(frame([5, 5.0, np.int8(5), decimal.Decimal(5)], dtype=object))[0] == [0] * 4
    wide = pl.Series("user", [10**30, 5, 10**30, 5], pl.Int128)
    assert people(pl.from_pandas(frame([0] * 4)).with_columns(wide))[0] == [0, 1, 0, 1]


def test_spellings_of_one_id_are_one_person_and_told(tmp_path):
    spelt = frame(["42", "42.0", " 42", "42.00\t", "Ann", "Ann\u00a0", "Jose\u0301", "José", "042"])
    spelt.to_csv(tmp_path / "a.csv", index=False)
    for source in (spelt, tmp_path / "a.csv", spelt.astype({"user": "category"})):
        found, report = people(source)
        assert found == [0, 0, 0, 0, 1, 1, 2, 2, 3]
        assert "5 user ids were written in several ways" in str(report)
        assert "1 user id differs from another only in case, punctuation or" in str(report)


@pytest.mark.parametrize("word", ["NULL", "None", "nan", "", " ", "N/A", "<NA>", "-"])
def test_words_for_a_missing_id_are_no_person(word, tmp_path):
    given = frame(["a", word, "b"])
    given.to_csv(tmp_path / "a.csv", index=False)
    for source in (given, tmp_path / "a.csv", pl.from_pandas(given)):
        found, report = people(source, user="user")
        assert found == [0, 1]
        assert (report.unusable, len(report.unusable_rows)) == (1, 1)
        reason = "is missing" if not word.strip() else f"{word!r} is not an id"
        assert f"user {reason}" in str(report)


def test_gaps_in_a_column_that_nobody_named_cost_no_rows(tmp_path):
    given = frame(["a", None, "b"]).rename(columns={"user": "device"})
    given.to_csv(tmp_path / "a.csv", index=False)
    for source in (given, tmp_path / "a.csv"):
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
    given = frame([1001.0] * 3 + [1001] * 3, dtype=object)
    points = read_points(given, CITY)
    data = PrivateDataset(points, 1, unit="user", max_per_user=1, n_public=True)
    assert data.n == 1
