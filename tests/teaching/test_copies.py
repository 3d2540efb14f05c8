"""Notebooks with their solutions at their place, and without any."""

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from snhkit import teaching
from snhkit.cli.course import course as course_command
from snhkit.teaching import own_numbers, with_solutions, without_solutions
from snhkit.teaching.assignments import OWN_NUMBERS
from snhkit.teaching.copies import for_nbgrader, for_otter, quizzes, students_files

KEY = "sample"
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
INSIDE_SNH = NOTEBOOKS[0].with_name("04_inside_snh.ipynb")


def cell(kind, name, source, *tags):
    made = {"cell_type": kind, "id": name, "metadata": {"tags": list(tags)}, "source": source}
    return made


def folded(code, text=""):
    return f"{text}<details><summary>Solution</summary>\n\n```python\n{code}\n```\n\n</details>"


LECTURE = {
    "cells": [
        cell("markdown", "q", "**1.** What?"),
        cell("code", "ex-a", "a = ...", "exercise"),
        cell("code", "check-a", 'check("a", a)', "check"),
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


def solutions(notebook):
    """Return the lines, of text and of code, that only the folded parts of a notebook have."""
    text = "\n".join("".join(c["source"]) for c in notebook["cells"])
    others = "\n".join("".join(c["source"]) for c in without_solutions(notebook)["cells"])
    folded = re.findall(r"<details>(.*?)</details>", text, re.DOTALL)
    lines = {line.strip() for part in folded for line in part.splitlines()}
    return {line for line in lines if len(line) > 8 and "summary>" not in line} - {
        line for line in lines if line in others
    }


def leaked(lecture, notebook):
    """Return the lines of solutions that a notebook for students has."""
    text = "\n".join("".join(c["source"]) for c in notebook["cells"])
    return [line for line in solutions(lecture) if line in text]


def answers(files):
    """Return the lines of solutions and answers, with the files that have them, by path."""
    secret = {line for path in NOTEBOOKS for line in solutions(read(path)) if len(line) > 16}
    for quiz in quizzes().values():
        for question in quiz["question"]:
            secret |= {question["why"], *question["wrong"].values()}
    assert len(secret) > 600
    return [(name, line) for name, text in files.items() for line in secret if line in text]


def test_students_get_no_solution_and_no_answer_of_any_lecture():
    files = students_files()
    assert [path.name for path in NOTEBOOKS] == [name for name in files if "ipynb" in name]
    assert len(files) == 2 * len(NOTEBOOKS) + 1
    assert answers(files) == []
    assert not any("<details" in text or "Solution" in text for text in files.values())


@pytest.mark.release
def test_what_is_installed_has_no_solution_and_no_answer(tmp_path):
    root = NOTEBOOKS[0].parents[1]
    words = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(root)]
    subprocess.run([sys.executable, *words], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        files = {name: file.read(name).decode(errors="replace") for name in file.namelist()}
    shown = {k.partition("_notebooks/")[2]: v for k, v in files.items() if "_notebooks/" in k}
    assert shown == students_files()
    assert answers(files) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_assignment_has_solutions_between_marks_only(path):
    lecture = json.loads(path.read_text(encoding="utf-8"))
    assert len(solutions(lecture)) > 5
    marks = {
        for_nbgrader: r"### BEGIN (SOLUTION|HIDDEN TESTS).*?### END \1",
        for_otter: r"# BEGIN SOLUTION NO PROMPT.*?# END SOLUTION|# HIDDEN.*",
    }
    for assignment, marked in marks.items():
        cells = assignment(lecture, "key")["cells"]
        texts = [re.sub(marked, "", "".join(c["source"]), flags=re.DOTALL) for c in cells]
        students = {"cells": [{"source": text} for text in texts]}
        assert leaked(lecture, students) == []
        asked = sum(text.startswith("teaching.check(") for text in texts)
        own = sum(text.startswith("teaching.own_numbers(") for text in texts)
        assert own == sum(name[:2] == path.stem[:2] for name in OWN_NUMBERS)
        assert any(text.startswith("STUDENT = ") for text in texts) == (own > 0)
        assert sum("..." in text for text in texts) >= asked


@pytest.mark.parametrize("assignment", [for_nbgrader, for_otter])
def test_a_check_of_an_assignment_refuses_the_answer_of_a_neighbour(assignment):
    texts = ["".join(c["source"]) for c in assignment(read(INSIDE_SNH), KEY)["cells"]]
    checks = {text.removeprefix("assert ") for text in texts if '.check("04-fresh' in text}
    (code,) = checks
    spent = {}
    for name in ("ada", "eve"):
        numbers = own_numbers("04-fresh-grids", KEY, name)
        spent[name] = numbers["networks"] * numbers["epsilon"]
    for name in spent:
        for whose, answer in spent.items():
            names = {"teaching": teaching, "STUDENT": name, "spent": answer}
            assert bool(eval(code, names)) == (name == whose)


def test_an_otter_question_has_a_stub_a_solution_and_a_test():
    cells = for_otter(LECTURE, "key")["cells"]
    sources = {c["id"]: c["source"] for c in cells}
    assert [c["id"] for c in cells[2:11]] == [
        "ex-a-question", "ex-a-solution", "ex-a", "ex-a-solved",
        "check-a-tests", "check-a-test", "check-a-tested", "check-a-end", "check-a",
    ]  # fmt: skip
    assert sources["ex-a-question"] == "# BEGIN QUESTION\nname: qa\npoints: 1"
    assert sources["check-a-test"] == 'assert check("a", a)'
    assert "\na = 1\n# END SOLUTION" in sources["ex-a"]
    assert '""" # BEGIN PROMPT\na = ...\n""" # END PROMPT' in sources["ex-a"]


GRADED = ("00_before_privacy", "12_choosing_a_place", "13_composition", "14_dpsgd_beside_snh")
STUDENTS = ("ada", "bob", "eve")  # ada is right, bob has no answer, eve hands in what ada wrote


@pytest.fixture(scope="module")
def graders(tmp_path_factory):
    """Return a function that runs nbgrader or otter in a throw-away environment."""
    folder = tmp_path_factory.mktemp("graders")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = next(folder.glob("[Ll]ib/**/site-packages"))
    here = [path for path in sys.path if Path(path).name == "site-packages"]
    (site / "here.pth").write_text("\n".join([*here, str(NOTEBOOKS[0].parents[1])]))
    packages = ["nbgrader==0.9.6", "otter-grader==7.0.0"]
    install = [python, "-m", "pip", "install", "-q", *packages]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nbgrader and otter-grader could not be installed: {done.stderr[-300:]}")
    data = [f"{sys.prefix}/share/jupyter", os.environ.get("JUPYTER_PATH", "")]
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    env = os.environ | {"PATH": path, "JUPYTER_PATH": os.pathsep.join(data)}

    def run(cwd, *command):
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
        assert not done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "class"
    assert (
        CliRunner()
        .invoke(course_command, ["--teacher", "--key", KEY, "--out", str(folder)])
        .exit_code
        == 0
    )
    return folder


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def hand_in(released, student, path, claimed=""):
    """Write a student's notebook: the released one, with answers in the cells of exercises."""
    lecture = read(NOTEBOOKS[0].with_name(released.name))
    answer = without_solutions if student == "bob" else with_solutions
    solved = {c["id"]: c["source"] for c in answer(lecture)["cells"]}
    notebook = read(released)
    if OWN_NUMBERS.keys() & {name[3:] for name in solved}:
        numbers = own_numbers("00-hidden", KEY, "ada")
        assert numbers != own_numbers("00-hidden", KEY, "eve")
        hidden = "first = {column} - 6\nsecond = {row} - 8 - 11 - first".format(**numbers)
        solved["ex-00-hidden"] = "first, second = ..., ..." if student == "bob" else hidden
        (name,) = [c for c in notebook["cells"] if "".join(c["source"]).startswith("STUDENT = ")]
        name["source"] = f"STUDENT = {claimed or student!r}"
    exercises = [c for c in notebook["cells"] if "exercise" in c["metadata"].get("tags", [])]
    assert len(exercises) >= 3
    for c, source in zip(exercises, [v for k, v in solved.items() if k[:3] == "ex-"], strict=True):
        c["source"] = source
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.mark.release
def test_nbgrader_generates_assignments_without_solutions_and_grades_them(course, graders):
    folder = course / "nbgrader"
    for path in NOTEBOOKS:
        graders(folder, "nbgrader", "generate_assignment", path.stem, "--create", "--force")
        made = read(folder / "release" / path.stem / path.name)
        assert leaked(read(path), made) == []
        assert "<details" not in json.dumps(made)
        assert "cases=" not in json.dumps(made)  # of a hidden test
    for student in STUDENTS:
        for name in GRADED:
            handed_in = folder / "submitted" / student / name / f"{name}.ipynb"
            released = folder / "release" / name / f"{name}.ipynb"
            hand_in(released, student, handed_in, claimed="ada")  # the folder says who it is
    for name in GRADED:
        graders(folder, "nbgrader", "autograde", name, "--create")
    graders(folder, "nbgrader", "export", "--to", "grades.csv")
    grades = pd.read_csv(folder / "grades.csv").set_index("assignment").loc[list(GRADED)]
    right, empty, copied = (grades[grades["student_id"] == student] for student in STUDENTS)
    assert (right["score"] == right["max_score"]).all()
    assert (right["score"] >= 3).all()
    assert (empty["score"] == 0).all()
    assert (copied["score"] == right["score"] - (copied.index == GRADED[0])).all()


@pytest.mark.release
def test_otter_generates_assignments_without_solutions_and_grades_them(course, graders):
    folder = course / "otter"
    for path in NOTEBOOKS:
        graders(folder, "otter", "assign", "--no-run-tests", path.name, path.stem)
        made = read(folder / path.stem / "student" / path.name)
        assert leaked(read(path), made) == []
        assert "cases=" not in json.dumps(made)  # of a hidden test
    for name in GRADED:
        (autograder,) = (folder / name / "autograder").glob("*.zip")
        scores = {}
        for student in STUDENTS:
            handed_in = folder / student / name / f"{name}.ipynb"
            hand_in(folder / name / "student" / f"{name}.ipynb", student, handed_in)
            graders(handed_in.parent, "otter", "run", "-a", str(autograder), handed_in.name)
            tests = read(handed_in.parent / "results.json")["tests"]
            scores[student] = sum(test["score"] for test in tests if test.get("max_score"))
            most = sum(test["max_score"] for test in tests if test.get("max_score"))
        assert scores["ada"] == most >= 3
        assert scores["bob"] == 0
        assert scores["eve"] == most - (name == GRADED[0])
