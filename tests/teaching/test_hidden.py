"""Hidden tests: fresh inputs, which a solution passes and a table of known results does not."""

import ast
import json
from functools import partial

import pytest

from snhkit import teaching
from snhkit.teaching.copies import for_nbgrader, lectures, tagged, with_solutions
from snhkit.teaching.exercises import JUDGES
from snhkit.teaching.hidden import NAMES, hidden_test

FUNCTIONS = {name for name, judge in JUDGES.items() if isinstance(judge, partial)}
WITHOUT = {"00-difference"}  # a function of a function, whose inputs are no literals


def cells(path):
    solved = with_solutions(json.loads(path.read_text(encoding="utf-8")))["cells"]
    checks = [cell for cell in solved if tagged(cell, "check")]
    solutions = {cell["id"].removeprefix("ex-"): "".join(cell["source"]) for cell in solved}
    return [("".join(c["source"]), solutions[c["id"].removeprefix("check-")]) for c in checks]


ASKED = {check.split('"')[1]: (check, code) for path in lectures() for check, code in cells(path)}


@pytest.mark.parametrize("exercise", sorted(FUNCTIONS - WITHOUT))
def test_a_solution_passes_a_hidden_test_and_known_results_do_not(exercise):
    check, code = ASKED[exercise]
    test = hidden_test(check, code)
    assert test != hidden_test(check, code)
    call = ast.parse(test).body[0].value
    names = NAMES | {"teaching": teaching}
    exec(code.partition("\n\n\n")[0], names)
    assert eval(test, names)
    known = {str(args): result for args, result in JUDGES[exercise].keywords["cases"]}
    names[call.args[1].id] = lambda *args: known.get(str(args), 0)
    assert teaching.check(exercise, names[call.args[1].id])
    assert not eval(test, names)


def test_only_functions_of_numbers_have_hidden_tests():
    assert {name for name, asked in ASKED.items() if hidden_test(*asked)} == FUNCTIONS - WITHOUT


def test_hidden_tests_stand_between_marks_in_locked_cells():
    lecture = json.loads(lectures()[-2].read_text(encoding="utf-8"))
    hidden = [
        c for c in for_nbgrader(lecture, "key")["cells"] if "HIDDEN TESTS" in "".join(c["source"])
    ]
    assert len(hidden) == 3
    for cell in hidden:
        assert cell["metadata"]["nbgrader"]["locked"]
        assert cell["source"].split("### BEGIN HIDDEN TESTS\n")[0].startswith("teaching.check(")
        assert cell["source"].endswith("\n])\n### END HIDDEN TESTS")
