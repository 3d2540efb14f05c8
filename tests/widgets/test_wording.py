import re

import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region
from snhkit.privacy import PrivacyUnit
from snhkit.widgets.wording import answers_table, epsilon_in_words, message, parse_box

CITY = Region.around(lat=37.76, lon=-122.43, side_m=10_000)
BOXES = RangeQueries(CITY, [0, 9_500], [0, 100], [1_000, 1_000], [2_500, 50])


def cells(table: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", table)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_a_row_a_box_and_a_column_a_release():
    table = answers_table(BOXES, {"UG": np.array([1234.56, -0.04]), "SNH": np.array([5, 6])})
    assert cells(table) == [
        ["Box", "Size in metres", "UG", "SNH"],
        ["1", "1,000 × 2,500", "1,234.6", "5.0"],
        ["2", "1,000 × 50 (reaches outside)", "0.0", "6.0"],
    ]
    assert table.count('scope="col"') == 4
    assert table.count('scope="row"') == 2


def test_the_truth_is_a_column_only_if_given():
    assert "Truth" not in answers_table(BOXES, {})
    assert [row[-1] for row in cells(answers_table(BOXES, {}, truth=np.array([7, 8])))] == [
        "Truth",
        "7",
        "8",
    ]


def test_no_box_yet():
    assert 'colspan="3">No box yet' in answers_table(None, {"UG": np.zeros(0)})


def test_names_and_messages_are_text():
    assert "<i>" not in answers_table(None, {"<i>": np.zeros(0)})
    assert "<i>" not in message("<i>")
    assert 'role="alert"' in message("no", error=True)


@pytest.mark.parametrize(
    ("epsilon", "unit", "says"),
    [
        (0.05, PrivacyUnit.of("record"), ("Very strong", "1.05 times", "about 20 records")),
        (5, PrivacyUnit.of("record"), ("Weak", "148 times", "about 0.2 records")),
        (10, PrivacyUnit.of("record"), ("Weak", "22,026 times", "about 0.1 records")),
        (0.5, PrivacyUnit.of("user", 4), ("Strong", "of one person", "about 8 records")),
    ],
)
def test_epsilon_in_words(epsilon, unit, says):
    sentence = epsilon_in_words(epsilon, unit)
    for part in says:
        assert part in sentence


@pytest.mark.parametrize("text", ["1 2 3 4", "1,2,3,4", " 1, 2 ,3  4 "])
def test_a_typed_box(text):
    assert parse_box(text) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "four numbers"),
        ("1, 2, 3", "four numbers"),
        ("1, 2, 3, x", "four numbers"),
        ("1, 2, nan, 4", "four numbers"),
        ("3, 2, 1, 4", "South"),
        ("1, 4, 3, 2", "West"),
        ("-95, 2, 3, 4", "South"),
    ],
)
def test_a_box_that_is_none(text, says):
    with pytest.raises(InputError, match=says):
        parse_box(text)
