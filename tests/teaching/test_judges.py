"""Answers of every kind get a verdict, and a wrong one says what is off."""

import numpy as np
import pytest

from snhkit.teaching.judges import as_numbers, choice, function, number, numbers


def judged(answer):
    return number(answer, 4, "Two and two.", "Add them.", slips={8: "That is 2³."})


@pytest.mark.parametrize("answer", [4, 4.0, np.float64(4.05), np.array([4]), True + 3])
def test_a_right_number_may_come_in_any_form(answer):
    verdict = judged(answer)
    assert verdict
    assert repr(verdict) == "✓ Right. Two and two."


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (5, "5 is too large. Hint: Add them."),
        (-1, "-1 is too small. Hint: Add them."),
        (8, "That is 2³."),
        ("four", "must be one number, not str"),
        ([4, 4], "must be one number, not 2."),
        (float("nan"), "must be finite, not nan"),
        ({}, "must be one number, not dict"),
    ],
)
def test_a_wrong_number_is_told_what_is_off(answer, says):
    verdict = judged(answer)
    assert verdict.right is False
    assert says in repr(verdict)


@pytest.mark.parametrize("answer", [..., None, [...], (1, ...)])
def test_dots_are_no_answer_yet(answer):
    assert judged(answer).right is None
    assert choice(answer, "a", "", {}).right is None


def test_zero_is_compared_by_the_difference():
    assert number(0.001, 0, "", "", within=0.01)
    assert not number(0.1, 0, "", "", within=0.01)


def test_how_near_an_answer_must_be():
    assert number(4.07, 4, "", "")
    assert not number(4.09, 4, "", "")
    assert numbers([2, 1.019], [2, 1], ["a", "b"], "", ["", ""])
    assert not numbers([2, 1.021], [2, 1], ["a", "b"], "", ["", ""])
    assert numbers([2, 1.09], [2, 1], ["a", "b"], "", ["", ""], within=0.1)
    assert not function(lambda x: x**0.50001, [((4,), 2)], "", "")
    assert function(lambda x: x**0.50001, [((4,), 2)], "", "", within=1e-4)


def test_several_numbers_name_those_that_are_off_with_the_first_hint():
    names, hints = ["a", "b", "c"], ["first", "second", "third"]
    assert numbers([1, 2, 3], [1, 2, 3], names, "Good.", hints)
    said = repr(numbers([1, 9, 0], [1, 2, 3], names, "Good.", hints))
    assert said == "✗ Not yet. Off: b (9 is too large), c (0 is too small). Hint: second"
    assert as_numbers([1, 2], (3,)).right is False


def test_a_choice_is_read_without_case_and_a_wrong_one_is_explained():
    wrong = {"DAWA": "It orders cells."}
    assert choice(" ug", "UG", "Yes.", wrong)
    assert "It orders cells." in repr(choice("dawa", "UG", "Yes.", wrong))
    assert "['DAWA', 'UG']" in repr(choice("AG", "UG", "Yes.", wrong))


def root(x):
    return x**0.5


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (root, "Right. Good."),
        (lambda x: np.array([x**0.5]), "Right. Good."),
        (lambda x: ..., "Nothing to check yet"),
        (..., "Nothing to check yet"),
        (2, "2 is not a function"),
        (lambda x: x / 2, "(9) is 4.5, but should be 3. Hint: Take the root."),
        (lambda x: x, "(4) is 4, but should be 2. That is the square."),
        (lambda x: "two", "must be one number, not str"),
        (lambda x: None, "(4) returns None."),
        (lambda: 2, "raises TypeError"),
        (lambda x: 10 / (9 - x), "(9) raises ZeroDivisionError: division by zero. Hint: Take the"),
        (lambda x: 1 / (9 - x), "(4) is 0.2, but should be 2."),
        (lambda x: 2.00001, "(4) is 2.00001, but should be 2."),
    ],
)
def test_a_function_is_judged_by_a_counterexample(answer, says):
    cases = [((4,), 2), ((9,), 3)]
    slips = [(lambda x: x, "That is the square.")]
    verdict = function(answer, cases, "Good.", "Take the root.", slips=slips)
    assert says in repr(verdict)
    assert bool(verdict) == ("Right" in says)
