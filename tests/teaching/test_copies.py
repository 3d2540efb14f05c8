"""Notebooks with their solutions at their place, and without any."""

import json
from pathlib import Path

import pytest

from snhkit.teaching import with_solutions, without_solutions

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def cell(kind, name, source, *tags):
    made = {"cell_type": kind, "id": name, "metadata": {"tags": list(tags)}, "source": source}
    return made


def folded(code, text=""):
    return f"{text}<details><summary>Solution</summary>\n\n```python\n{code}\n```\n\n</details>"


LECTURE = {
    "cells": [
        cell("markdown", "q", "**1.** What?"),
        cell("code", "ex-a", "a = ...", "exercise"),
        cell("code", "check-a", "check(a)", "check"),
        cell("markdown", "s", folded("a = 1")),
        cell("markdown", "r", folded("b = a + 1", "**2.** And?\n\n")),
        cell("markdown", "t", "**3.** Why?\n\n<details>Because.</details>\n\nAnd so on."),
    ]
}


def test_a_solution_goes_into_its_empty_cell_or_into_a_cell_after_it():
    before = json.dumps(LECTURE)
    solved = with_solutions(LECTURE)["cells"]
    assert json.dumps(LECTURE) == before
    names = [c["id"] for c in solved]
    assert names == ["q", "ex-a", "check-a", "s", "r", "r-run", "t"]
    sources = {c["id"]: c["source"] for c in solved}
    assert sources["ex-a"] == "a = 1"
    assert sources["r-run"] == "b = a + 1"


def test_without_solutions_questions_stay_and_nothing_folded():
    clean = without_solutions(LECTURE)["cells"]
    assert [c["id"] for c in clean] == ["q", "ex-a", "check-a", "r", "t"]
    assert [c["source"] for c in clean][-2:] == ["**2.** And?", "**3.** Why?\n\nAnd so on."]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_solution_is_left_in_a_students_copy(path):
    clean = json.dumps(without_solutions(json.loads(path.read_text(encoding="utf-8"))))
    assert "<details" not in clean
    assert "Solution" not in clean
