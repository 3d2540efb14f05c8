"""The course's files, and copies of its notebooks with or without the solutions of exercises.

The wheel's build runs this file by its path, to put the students' copies into the wheel.
"""

import copy
import json
import re
import tomllib
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = _PACKAGE / "_notebooks"
_FOLDED = re.compile(r"\s*<details>.*?</details>\s*", re.DOTALL)
_CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def lectures() -> list[Path]:
    """Return the paths of the course's notebooks, in order."""
    return sorted((checkout() or _INSTALLED).glob("*.ipynb"))


def checkout() -> Path | None:
    """Return the folder with solutions, answers and the league's rubric; None if installed."""
    return None if _INSTALLED.is_dir() else _PACKAGE.parent / "notebooks"


def quizzes() -> dict[str, dict[str, Any]]:
    """Return the quizzes of a checkout with their answers, by the names of the lectures."""
    paths = sorted(((checkout() or _INSTALLED) / "quizzes").glob("*.toml"))
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in paths}


def students_files() -> dict[str, str]:
    """Return the texts of the students' files, by path, which are all that is installed."""
    if folder := checkout():
        return for_students(folder)
    paths = [path for path in sorted(_INSTALLED.rglob("*")) if path.is_file()]
    return {path.relative_to(_INSTALLED).as_posix(): path.read_text("utf-8") for path in paths}


def for_students(folder: Path) -> dict[str, str]:
    """Return the texts of the students' files, by path, from the folder of all lectures."""
    files = {}
    for path in sorted(folder.glob("*.ipynb")):
        files[path.name] = written(without_solutions(json.loads(path.read_text("utf-8"))))
    for path in sorted((folder / "quizzes").glob("*.toml")):
        page = unfolded(quiz_page(tomllib.loads(path.read_text("utf-8"))))
        files[f"quizzes/{path.stem}.md"] = page
    return files | {"league.txt": (folder / "league" / "assignment.txt").read_text("utf-8")}


def written(notebook: dict[str, Any]) -> str:
    """Return the text of a notebook's file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def options(question: dict[str, Any]) -> list[str]:
    """Return a question's options, in an order that says nothing about the right one."""
    return sorted([question["right"], *question["wrong"]], key=lambda text: text[::-1])


def quiz_page(quiz: dict[str, Any]) -> str:
    """Return a quiz in Markdown, with folded answers."""
    parts = [f"# Quiz: {quiz['title']}"]
    for number, question in enumerate(quiz["question"], 1):
        offered = dict(zip("abcd", options(question), strict=False))
        parts += [f"**{number}.** {question['asks']}"]
        parts += ["\n".join(f"- **{letter}** {text}" for letter, text in offered.items())]
        told = question["wrong"] | {question["right"]: f"**Right.** {question['why']}"}
        answer = "\n".join(f"- **{letter}** {told[text]}" for letter, text in offered.items())
        parts += [f"<details><summary>Answer</summary>\n\n{answer}\n\n</details>"]
    return "\n\n".join(parts) + "\n"


def with_solutions(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a notebook in which each exercise's solution is code that can be run.

    A solution is Python code in a folded part (an HTML ``details`` element) after the exercise. The
    code replaces the contents of the exercise's code cell, which has the tag "exercise". If there
    is no such cell, the code goes into a new cell after the folded part.
    """
    solved = copy.deepcopy(notebook)
    cells: list[dict[str, Any]] = []
    for cell in solved["cells"]:
        cells.append(cell)
        found = _solution(cell)
        if not found:
            continue
        empty = _empty_cell_before(cells)
        if empty is None:
            alt = {"alt": text} if (text := cell["metadata"].get("alt")) else {}
            cells.append(_code_cell(f"{cell['id']}-run", found, **alt))
        else:
            empty["source"] = found
    solved["cells"] = cells
    return solved


def without_solutions(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a notebook without solutions; cells that become empty are left out.

    Solutions are folded parts of Markdown cells (HTML ``details`` elements).
    """
    clean = copy.deepcopy(notebook)
    for cell in clean["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = unfolded(_text(cell)).strip()
    clean["cells"] = [c for c in clean["cells"] if c["cell_type"] != "markdown" or c["source"]]
    return clean


NBGRADER_CONFIG = """\
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "snhkit"
# Exercises keep their dots, so no code is put in the place of a solution.
c.ClearSolutions.code_stub = {"python": "# Replace the dots above by your answer."}
c.ExecutePreprocessor.timeout = 1800  # seconds for a cell, since some train networks
"""
"""The text of ``nbgrader_config.py`` for the notebooks of ``for_nbgrader``."""


def for_nbgrader(notebook: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the source of an nbgrader assignment: solutions stand between marks, nowhere else.

    Solutions of exercises without a cell are left out. Functions have hidden tests. Numbers differ
    from student to student, and follow from the name of the folder that is graded.
    """
    solved = {cell["id"]: _text(cell) for cell in with_solutions(notebook)["cells"]}
    marked = _with_own_numbers(without_solutions(notebook), key)
    for cell in marked["cells"]:
        if tagged(cell, "exercise"):
            cell["source"] = (
                f"{_text(cell)}\n### BEGIN SOLUTION\n{solved[cell['id']]}\n### END SOLUTION"
            )
        elif hidden := _hidden(cell, solved):
            cell["source"] = (
                f"{_text(cell)}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
            )
    if marked["cells"][1]["id"] == "student":
        marked["cells"].insert(2, _STUDENT_OF_FOLDER)
    return marked


_STUDENT = 'STUDENT = ""  # your name in this course; your numbers in exercises follow from it'


def _with_own_numbers(notebook: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a notebook for students with their own numbers in exercises that ask for a number."""
    from snhkit.teaching.assignments import OWN_NUMBERS

    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        exercise = cell["id"].partition("-")[2]
        own = f"teaching.own_numbers({exercise!r}, {key!r}, STUDENT)"
        if exercise in OWN_NUMBERS and tagged(cell, "exercise"):
            shown = f"{own}  # use these numbers in place of those in the text"
            cells.append(_code_cell(f"own-{exercise}", shown))
        if exercise in OWN_NUMBERS and tagged(cell, "check"):
            cell = {**cell, "source": f"{_text(cell).rstrip().removesuffix(')')}, **{own})"}
        cells.append(cell)
    if len(cells) > len(notebook["cells"]):
        cells.insert(1, _code_cell("student", _STUDENT))
    return {**notebook, "cells": cells}


def _hidden(cell: dict[str, Any], solved: dict[str, str]) -> str:
    """Return the code of a check's hidden test; empty if it has none."""
    from snhkit.teaching.hidden import hidden_test

    if not tagged(cell, "check"):
        return ""
    return hidden_test(_text(cell), solved.get(cell["id"].replace("check-", "ex-", 1), ""))


_OTTER_CONFIG = """\
# ASSIGNMENT CONFIG
generate: true
export_cell: false
solutions_pdf: false
template_pdf: false
"""


def for_otter(notebook: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the master notebook of an otter-grader assignment: each check is a question's test.

    Solutions of exercises without a cell are left out. Functions have hidden tests. Numbers differ
    from student to student, and follow from the name that the notebook gives.
    """
    solved = {cell["id"]: _text(cell) for cell in with_solutions(notebook)["cells"]}
    marked = _with_own_numbers(without_solutions(notebook), key)
    cells = [_raw_cell("otter-config", _OTTER_CONFIG)]
    for cell in marked["cells"]:
        name = cell["id"]
        if tagged(cell, "exercise"):
            question = name.removeprefix("ex-").replace("-", "_")
            stub = f'""" # BEGIN PROMPT\n{_text(cell)}\n""" # END PROMPT'
            code = f"# BEGIN SOLUTION NO PROMPT\n{solved[name]}\n# END SOLUTION\n{stub}"
            head = f"# BEGIN QUESTION\nname: q{question}\npoints: 1"
            cells += [
                _raw_cell(f"{name}-question", head),
                _raw_cell(f"{name}-solution", "# BEGIN SOLUTION"),
                {**cell, "source": code},
                _raw_cell(f"{name}-solved", "# END SOLUTION"),
            ]
        elif tagged(cell, "check"):
            tests = [_code_cell(f"{name}-test", f"assert {_text(cell)}")]
            if hidden := _hidden(cell, solved):
                tests.append(_code_cell(f"{name}-hidden", f"# HIDDEN\nassert {hidden}"))
            cells += [
                _raw_cell(f"{name}-tests", "# BEGIN TESTS"),
                *tests,
                _raw_cell(f"{name}-tested", "# END TESTS"),
                _raw_cell(f"{name}-end", "# END QUESTION"),
                cell,
            ]
        else:
            cells.append(cell)
    return {**marked, "cells": cells}


def unfolded(text: str) -> str:
    """Return a Markdown text without its folded parts (HTML ``details`` elements)."""
    return _FOLDED.sub("\n\n", text)


def tagged(cell: dict[str, Any], tag: str) -> bool:
    """Return whether a cell of a notebook has a tag."""
    return tag in cell["metadata"].get("tags", [])


def _text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _solution(cell: dict[str, Any]) -> str:
    """Return the code of the solutions in a Markdown cell; empty if there is none."""
    if cell["cell_type"] != "markdown":
        return ""
    blocks = [code for folded in _FOLDED.findall(_text(cell)) for code in _CODE.findall(folded)]
    return "\n\n".join(block.rstrip() for block in blocks)


def _empty_cell_before(cells: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the exercise's code cell before the last cell, past a check; None if there is none."""
    before = [cell for cell in cells[-3:-1] if not tagged(cell, "check")]
    return before[-1] if before and tagged(before[-1], "exercise") else None


def _raw_cell(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "raw", "metadata": {}, "id": name[:64], "source": source}


def _code_cell(name: str, source: str, **metadata: Any) -> dict[str, Any]:
    empty = {"cell_type": "code", "metadata": metadata, "outputs": [], "execution_count": None}
    return {**empty, "id": name[:64], "source": source}


_STUDENT_OF_FOLDER = _code_cell(
    "student-of-folder",
    """\
assert STUDENT, "Write your name into the cell above."
### BEGIN HIDDEN TESTS
from pathlib import Path

STUDENT = Path.cwd().parent.name  # the name of the folder that is graded
### END HIDDEN TESTS""",
    nbgrader={
        "grade": True, "grade_id": "student-of-folder", "locked": True, "points": 0,
        "schema_version": 3, "solution": False, "task": False,
    },
)  # fmt: skip
"""A cell that gets no points, which nbgrader needs in order to restore what it hides."""
