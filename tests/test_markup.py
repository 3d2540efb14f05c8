import math
import re

import pytest

from snhkit.markup import Cell, count_texts, error_text, html_table, number, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-0.4, "0"), (0.5, "1"), (12.4, "12"), (999.4, "999"), (999.6, "1,000"),
     (1_005, "1,010"), (1_234.5, "1,230"), (98_760, "98,800"), (-2_345, "\u22122,350"),
     (999_600, "1,000,000")],
)  # fmt: skip
def test_counts_are_whole_or_have_three_figures(value, text):
    assert number(value) == text


def test_errors_have_two_figures():
    assert [percent(share) for share in (0.0843, 0.1234, 1.234, 12.34)] == [
        "8.4 %", "12 %", "120 %", "1,200 %",
    ]  # fmt: skip
    assert [error_text(value) for value in (0.9876, 3.14, 1_234)] == ["0.99", "3.1", "1,200"]


def test_what_is_unknown_has_no_number():
    assert count_texts(1_234, math.nan, math.nan) == ("1,230", "")
    assert percent(math.nan) == error_text(math.nan) == ""


@pytest.mark.parametrize(
    ("count", "low", "high", "texts"),
    [(600, 1.2, 1_234, ("600", "1 to 1,230")),
     (13_402, 13_396, 13_408, ("13,400", "13,400 to 13,410")),
     (13_402, 13_399, 13_405, ("13,402", "13,399 to 13,405")),
     (5_000, 5_000, 5_000, ("5,000", "5,000 to 5,000")),
     (98_765, 90_000, 99_999, ("98,800", "90,000 to 100,000"))],
)  # fmt: skip
def test_an_interval_keeps_its_width_beside_a_large_count(count, low, high, texts):
    assert count_texts(count, low, high) == texts


def test_texts_in_tables_are_escaped():
    mark = '"<b>'
    cell = Cell(mark, {"class": mark})
    table = html_table([cell, mark], [[mark, cell]], caption=mark, kind=mark, groups=[(mark, 2)])
    assert "<b>" not in table
    assert mark[0] not in re.sub('="[^"<>]*"', "", table)[1:].replace("&#34;", "")
    assert table.count("&#34;&lt;b&gt;") == 9
