"""Notebooks with their solutions at their place, and without any."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from snhkit.cli.course import course as course_command
from snhkit.teaching import with_solutions, without_solutions
from snhkit.teaching.copies import for_nbgrader

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


def solutions(notebook):
    """Return the lines of code that only the solutions of a notebook have."""
    with_them, without = (
        {
            line.strip()
            for c in made(notebook)["cells"]
            for line in "".join(c["source"]).splitlines()
        }
        for made in (with_solutions, without_solutions)
    )
    return {line for line in with_them - without if len(line) > 8 and not line.startswith("<")}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_assignment_has_solutions_between_marks_only(path):
    lecture = json.loads(path.read_text(encoding="utf-8"))
    marked = "\n".join("".join(cell["source"]) for cell in for_nbgrader(lecture)["cells"])
    generated = re.sub(r"### BEGIN SOLUTION.*?### END SOLUTION", "", marked, flags=re.DOTALL)
    assert generated.count("...") >= generated.count('teaching.check("')
    assert not [line for line in solutions(lecture) if line in generated.splitlines()]
    assert "<details" not in marked


@pytest.mark.release
def test_nbgrader_generates_assignments_without_solutions_and_grades_them(tmp_path):
    pytest.importorskip("nbgrader", reason="nbgrader is not installed")
    course = tmp_path / "class"
    assert CliRunner().invoke(course_command, ["--out", str(course)]).exit_code == 0
    folder = course / "nbgrader"

    def nbgrader(*words):
        command = [sys.executable, "-m", "nbgrader", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert not done.returncode, done.stderr

    for path in (NOTEBOOKS[0], NOTEBOOKS[2]):
        nbgrader("generate_assignment", path.stem, "--create", "--force")
        made = json.loads((folder / "release" / path.stem / path.name).read_text(encoding="utf-8"))
        lines = {line.strip() for c in made["cells"] for line in "".join(c["source"]).splitlines()}
        lecture = json.loads(path.read_text(encoding="utf-8"))
        assert not [line for line in solutions(lecture) if line in lines]
    name = "00_before_privacy"
    for student, answers in {"ada": with_solutions, "bob": without_solutions}.items():
        lecture = json.loads((NOTEBOOKS[0]).read_text(encoding="utf-8"))
        solved = {c["id"]: c["source"] for c in answers(lecture)["cells"]}
        made = json.loads((folder / "release" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
        for c in made["cells"]:
            if "exercise" in c["metadata"].get("tags", []):
                c["source"] = solved[c["id"]]
        handed_in = folder / "submitted" / student / name / f"{name}.ipynb"
        handed_in.parent.mkdir(parents=True)
        handed_in.write_text(json.dumps(made), encoding="utf-8")
    nbgrader("autograde", name, "--create")
    nbgrader("export", "--to", "grades.csv")
    grades = pd.read_csv(folder / "grades.csv").set_index("student_id")
    points = grades.loc[grades["assignment"] == name, "score"]
    assert points["ada"] == grades.loc["ada", "max_score"].max() >= 4
    assert points["bob"] == 0
