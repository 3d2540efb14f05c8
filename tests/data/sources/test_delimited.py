"""A stray quotation mark must not take rows away unseen."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.data import read_points
from snhkit.data.sources.delimited import refuse_swallowed_rows
from snhkit.errors import InputError
from snhkit.geometry import Region

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)


def rows(count: int, stray: tuple[int, ...] = ()) -> list[str]:
    return [f"{chr(34) * (i in stray)}n,37.76,-122.4{i % 10}" for i in range(count)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("stray", [(10, 20), (10, 11), (0, 59), (10, 20, 30, 40)])
def test_swallowed_rows_are_refused_naming_the_open_mark(tmp_path, stray, pack):
    text = "\n".join(["note,lat,lon", *rows(60, stray)]) + "\n"
    (tmp_path / "a.csv").write_bytes(pack(text.encode()))
    told = rf"a\.csv: line {stray[0] + 2}: a quotation mark .* only on line {stray[1] + 2}"
    with pytest.raises(InputError, match=told):
        read_points(tmp_path / "a.csv", CITY)


@pytest.mark.parametrize("stray", [(10,), (10, 20, 30)])
def test_a_mark_that_is_never_closed_is_named(tmp_path, stray):
    text = "\n".join(["note,lat,lon", *rows(60, stray)])
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=f"line {stray[0] + 2}: a quotation mark opens"):
        read_points(tmp_path / "a.csv", CITY)


def test_marks_inside_fields_and_text_of_several_lines_are_no_fault(tmp_path):
    text = (
        "note,lat,lon\r\n"
        '5" pipe,37.76,-122.43\r\n'
        '"two\r\nlines, ""quoted""\r\n\r\n and more",37.76,-122.43\r\n'
        '"",37.76,-122.43\r\n'
        '"a ""b"" c",37.76,-122.43'
    )
    (tmp_path / "a.csv").write_bytes(text.encode())
    assert len(read_points(tmp_path / "a.csv", CITY)) == 4


FIELD = st.text(st.sampled_from('a",\n '), max_size=8)


@given(st.lists(st.tuples(FIELD, FIELD), max_size=8))
def test_well_formed_text_is_never_refused(table):
    def quoted(field: str) -> str:
        return '"' + field.replace('"', '""') + '"'

    text = "\n".join(f"{quoted(a)},1.5,{quoted(b)}" for a, b in table)
    refuse_swallowed_rows("x", text.split("\n"), ",", lambda f: len(f) == 3 and f[1] == "1.5")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("lat,lon\n37.76,-122.43,\n", r"3 fields, but the header has 2 \(rows end in ','"),
        ("lat,lon\n1,37.76,-122.43\n", r"3 fields, but the header has 2 \(if the first field"),
        ("lat,lon,\n37.76,-122.43\n", r"row 2: 2 fields, but the header has 3 \("),
    ],
)
def test_trailing_commas_and_row_names_are_told(tmp_path, text, told):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=told):
        read_points(tmp_path / "a.csv", CITY)
