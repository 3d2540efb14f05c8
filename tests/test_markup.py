import math

import pytest

from snhkit.markup import error_text, html_table, interval_text, number, percent


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
    assert interval_text(math.nan, math.nan) == percent(math.nan) == error_text(math.nan) == ""
    assert interval_text(1.2, 1_234) == "1 to 1,230"


def test_texts_in_tables_are_escaped():
    assert "<b>" not in html_table(["<b>"], [["<b>", 1]], caption="<b>", kind="<b>")
