"""The door to the exercises, in a class and under nbgrader."""

import pytest

from snhkit.errors import InputError
from snhkit.teaching import Verdict, check, exercise_names


def test_every_exercise_is_named_after_its_lecture():
    names = exercise_names()
    assert len(names) == len(set(names))
    assert all(name[:2].isdigit() and name[2] == "-" for name in names)


def test_an_unknown_exercise_is_refused_by_name():
    with pytest.raises(InputError, match="no exercise '02-nothing'"):
        check("02-nothing", 1)


def test_under_nbgrader_a_wrong_answer_raises_and_a_right_one_does_not(monkeypatch):
    assert not check("02-sensitivity", [1, 1])
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(AssertionError, match="moved"):
        check("02-sensitivity", [1, 1])
    with pytest.raises(AssertionError, match="Nothing to check"):
        check("02-sensitivity", ...)
    assert check("02-sensitivity", [1, 2])


def test_a_verdict_shows_text_not_markup():
    shown = Verdict(False, "<b> & more", "x < 1")._repr_html_()
    assert "&lt;b&gt; &amp; more" in shown
    assert "x &lt; 1" in shown


@pytest.mark.parametrize(
    ("bet", "says"),
    [
        (True, "not a function"),
        (lambda count: True, "no more than a coin would"),
        (lambda count: count < 18, "opposite"),
        (lambda a, b: True, "raises TypeError"),
    ],
)
def test_a_bet_that_is_not_the_best_is_told_what_is_wrong_with_it(bet, says):
    verdict = check("02-bet", bet, epsilon=1)
    assert not verdict
    assert says in repr(verdict)
