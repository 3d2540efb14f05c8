"""The door to the exercises, in a class and under nbgrader."""

import random
from fractions import Fraction

import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region
from snhkit.teaching import Verdict, check, claim, exercise_names

CITY = Region.around(lat=43.04, lon=-87.91, side_m=300)
FACTS = {
    "01-builds-left": {"left": Fraction(3, 4)},
    "02-bet": {"epsilon": 1},
    "03-one-cell-wins": {"city": CITY},
    "04-by-hand": {
        "noisy": np.ones((3, 3)),
        "cell_m": 100.0,
        "box": RangeQueries.squares(CITY, [[150, 150]], 100),
    },
    "05-scaled": {"epsilon": 0.2, "private": 10_000, "public": 1_000},
    "09-neighbour": {"counts": np.eye(5, dtype=int)},
}
"""Facts of a notebook, for the exercises whose judges need any."""

RIGHT = {
    "00-left-over": 1_500_000 / 50**4,
    "00-difference": [4, 0],
    "00-hidden": [3, 1],
    "00-kerckhoffs": False,
    "02-answers": [800, 80],
    "02-bet": lambda count: count > 17,
    "04-fresh-grids": 0.8,
    "06-people": 1,
    "09-guilty": "B, C, E",
    "09-neighbour": (0, 1),
    "10-free": ("kinds", "again"),
    "10-total": 365**0.5,
    "11-council": "c",
}
SLIPS = [
    ("00-left-over", 1.24, "the person herself"),
    ("00-kerckhoffs", True, "What is secret then"),
    ("02-answers", [800, 800], "their total"),
    ("04-fresh-grids", 1.6, "replacing a record"),
    ("09-guilty", 5, "a set of letters"),
    ("09-guilty", "A, B", "A is ε-private"),
    ("09-guilty", "B, Q", "'Q'"),
    ("09-neighbour", ("a", "b"), "must be 2 numbers"),
    ("09-neighbour", (0.5, 1), "whole numbers"),
    ("09-neighbour", (0, 0), "holds 1 records"),
    ("10-free", ("running", "again"), "16 maps"),
    ("10-free", ["daily", "again"], "every day"),
    ("10-free", ["kinds", "unbounded"], "Of how many days"),
    ("10-free", ["kinds", "different"], "different numbers"),
]
ABSURD = [
    ..., None, True, "", "Ω", "B, C, E", 5, -1e300, float("nan"), 1j, b"x", [], {}, [[]], [1, "b"],
    ("a", "b"), {"A", 3}, [...], np.zeros((2, 3)), np.array(["x"]), object(), len,
    lambda count: "no",
]  # fmt: skip


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


@pytest.mark.parametrize("exercise", exercise_names())
def test_every_judge_returns_a_verdict_whatever_the_answer_is(exercise):
    for answer in ABSURD:
        verdict = check(exercise, answer, **FACTS.get(exercise, {}))
        assert isinstance(verdict, Verdict)
        assert verdict.says


@pytest.mark.parametrize("exercise", RIGHT)
def test_a_right_answer_is_accepted_as_students_write_it(exercise):
    assert check(exercise, RIGHT[exercise], **FACTS.get(exercise, {}))


@pytest.mark.parametrize(("exercise", "answer", "says"), SLIPS)
def test_a_common_slip_is_explained(exercise, answer, says):
    verdict = check(exercise, answer, **FACTS.get(exercise, {}))
    assert not verdict
    assert says in repr(verdict)


def test_a_bet_by_coin_tosses_is_not_accepted():
    coin = random.Random(1)
    for _ in range(50):
        assert not check("02-bet", lambda count: coin.random() < 0.5, epsilon=1)
        assert not check("02-bet", lambda count: count > 17 or coin.random() < 0.1, epsilon=1)


def test_a_claim_says_one_of_two_things(capsys):
    claim(True, "It fell.", "It rose.")
    claim(False, "It fell.", "It rose.")
    assert capsys.readouterr().out.splitlines() == [
        "✓ It fell.",
        "≠ In this run it is different. It rose.",
    ]
