"""The course's files, and copies of its notebooks with or without the solutions of exercises."""

import copy
import re
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]
_FOLDED = re.compile(r"\s*<details>.*?</details>\s*", re.DOTALL)
_CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def lectures() -> list[Path]:
    """Return the paths of the course's notebooks, in order."""
    return sorted(_folder().glob("*.ipynb"))


def quizzes() -> list[Path]:
    """Return the paths of the quizzes, Markdown files with folded answers, in lecture order."""
    return sorted((_folder() / "quizzes").glob("*.md"))


def league_folder() -> Path:
    """Return the folder with the league's assignment, its rubric, and sample hand-ins."""
    return _folder() / "league"


def _folder() -> Path:
    installed = _PACKAGE / "_notebooks"
    return installed if installed.is_dir() else _PACKAGE.parent / "notebooks"


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
            cells.append(_code_cell(f"{cell['id']}-run", found) | {"metadata": alt})
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


def for_nbgrader(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the source of an nbgrader assignment: solutions stand between marks, nowhere else.

    Solutions of exercises without a cell are left out.
    """
    solved = {cell["id"]: _text(cell) for cell in with_solutions(notebook)["cells"]}
    marked = without_solutions(notebook)
    for cell in marked["cells"]:
        if tagged(cell, "exercise"):
            cell["source"] = (
                f"{_text(cell)}\n### BEGIN SOLUTION\n{solved[cell['id']]}\n### END SOLUTION"
            )
    return marked


_OTTER_CONFIG = """\
# ASSIGNMENT CONFIG
generate: true
export_cell: false
solutions_pdf: false
template_pdf: false
"""


def for_otter(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the master notebook of an otter-grader assignment: each check is a question's test.

    Solutions of exercises without a cell are left out.
    """
    solved = {cell["id"]: _text(cell) for cell in with_solutions(notebook)["cells"]}
    marked = without_solutions(notebook)
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
            cells += [
                _raw_cell(f"{name}-tests", "# BEGIN TESTS"),
                _code_cell(f"{name}-test", f"assert {_text(cell)}"),
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


def _code_cell(name: str, source: str) -> dict[str, Any]:
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    return {**empty, "id": name[:64], "source": source}
