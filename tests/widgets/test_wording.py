import pytest

from snhkit.errors import InputError
from snhkit.privacy import PrivacyUnit
from snhkit.widgets.wording import epsilon_in_words, message, parse_box


def test_messages_are_text():
    assert "<i>" not in message("<i>")
    assert 'role="alert"' in message("no", error=True)


@pytest.mark.parametrize(
    ("epsilon", "unit", "says"),
    [
        (0.05, PrivacyUnit("record"), ("Very strong", "1.05 times", "about 20 records")),
        (1, PrivacyUnit("record"), ("about 1 record.",)),
        (5, PrivacyUnit("record"), ("Weak", "148 times", "about 0.2 records")),
        (10, PrivacyUnit("record"), ("Weak", "22,026 times", "about 0.1 records")),
        (0.5, PrivacyUnit("user", 4), ("Strong", "of one person", "about 8 records")),
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
