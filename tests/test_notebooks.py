"""Every notebook: what it looks like, and that it runs, solved, changed, and twice in a row."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from snhkit.teaching import exercise_names, with_solutions
from snhkit.teaching.copies import tagged
from snhkit.teaching.kernels import notebook_client

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"
SMALL = 12_000
"""The most records that a lecture has in the tests that are not slow."""
QUICK = ("01_explore", "07_reproduce_the_paper")
CHANGES = [("kansas_city", 0.05), ("miami", 0.4), ("kansas_city", 1.5)]

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# The kernel's sockets are closed when their garbage is collected.
sockets = pytest.mark.filterwarnings("ignore:.*(zmq|socket|event loop):ResourceWarning")


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: nbformat.NotebookNode) -> set[str]:
    """The MIME types of what a cell put out."""
    return {mime for output in cell.outputs for mime in output.get("data", {})}


def parameters(path: Path) -> dict[str, object]:
    """The names and values of the cell that is tagged so."""
    cells = nbformat.read(path, as_version=4).cells
    (cell,) = [cell for cell in cells if tagged(cell, "parameters")]
    program: dict[str, object] = {}
    exec(cell.source, program)
    return {name: value for name, value in program.items() if name.isupper()}


def changed(path: Path, **others: object) -> nbformat.NotebookNode:
    """The notebook with its solutions, and with other values below the cell of parameters."""
    solved = with_solutions(json.loads(path.read_text(encoding="utf-8")))
    notebook = nbformat.reads(json.dumps(solved), as_version=4)
    known = parameters(path)
    lines = [f"{name} = {value!r}" for name, value in others.items() if name in known]
    at = next(k for k, cell in enumerate(notebook.cells) if tagged(cell, "parameters"))
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell("\n".join(lines), id="injected"))
    return notebook


def run(notebook: nbformat.NotebookNode, folder: Path, times: int = 1) -> None:
    """Run all cells, as often as is said in one kernel, and look for what went wrong."""
    client = notebook_client(notebook, folder, 400)
    with client.setup_kernel():
        for _ in range(times):
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
        client.set_widgets_metadata()
    assert [said for cell in code(notebook) for said in complaints(cell)] == []
    # What a slider calls fails inside its widget, where no cell does.
    states = notebook.metadata.get("widgets", {}).values()
    models = [model["state"] for view in states for model in view["state"].values()]
    outputs = [output for state in models for output in state.get("outputs", [])]
    assert [o["evalue"] for o in outputs if o["output_type"] == "error"] == []
    for cell in code(notebook):
        if tagged(cell, "gallery"):
            assert shown(cell) & {"image/png", "text/html", WIDGET}
        if "image/png" in shown(cell):
            assert cell.metadata.get("alt"), cell.id  # nbconvert, the slides and the site read it


def complaints(cell: nbformat.NotebookNode) -> list[str]:
    """Warnings, which are errors elsewhere; bars of progress go to stderr as well."""
    texts = [o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stderr"]
    return [text for text in texts if "Warning" in text]


def not_right(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The checks that do not call the solution right, and what they say."""
    said = {}
    for cell in code(notebook):
        if tagged(cell, "check"):
            (output,) = [o for o in cell.outputs if "data" in o]
            if not output.data["text/plain"].startswith("✓"):
                said[cell.id] = output.data["text/plain"]
    return said


@every_notebook
def test_formulas_are_such_as_the_site_can_write(path):
    mathml = pytest.importorskip("docutils.utils.math.latex2mathml")
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", cell.source, re.S):
                aligned = re.sub(r"\\(begin|end)\{aligned\}", "", block or inline)
                mathml.tex2mathml(aligned.strip(), as_block=bool(block))


@every_notebook
def test_a_notebook_is_short_clean_and_on_any_kernel(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.nbformat_minor >= 5
    assert notebook.metadata.kernelspec.name == "python3"
    assert code(notebook)
    for cell in code(notebook):
        assert len(cell.source.splitlines()) <= 15, cell.source
        assert cell.outputs == []
        assert cell.execution_count is None


@every_notebook
def test_a_lecture_says_how_long_it_takes_asks_and_accounts(path):
    notebook = nbformat.read(path, as_version=4)
    assert "minutes" in notebook.cells[0].source
    text = "".join(cell.source for cell in notebook.cells)
    assert text.count("> **ε for add or remove, 2 ε for replace.**") == 1
    folded = [cell.source for cell in notebook.cells if "<details>" in cell.source]
    assert folded
    assert all(text.count("<details>") == text.count("</details>") for text in folded)
    assert "ledger" in code(notebook)[-1].source
    assert sum(tagged(cell, "gallery") for cell in code(notebook)) == 1
    assert parameters(path)


@every_notebook
def test_the_minutes_of_the_sections_add_up_to_those_of_the_lecture(path):
    said = nbformat.read(path, as_version=4).cells[0].source
    (whole,) = re.findall(r"takes\W+(?:about )?(\d+) minutes", said)
    page = (path.parents[1] / "docs" / "course" / "index.md").read_text(encoding="utf-8")
    (row,) = [line.split("|") for line in page.splitlines() if f"| `{path.stem}` | " in line]
    assert int(whole) == sum(map(int, re.findall(r"\d+", row[3])))


@every_notebook
def test_a_lecture_has_two_empty_cells_at_least_each_with_a_check_and_a_solution(path):
    notebook = nbformat.read(path, as_version=4)
    solved = changed(path)
    empty = [cell for cell in code(notebook) if tagged(cell, "exercise")]
    assert len(empty) >= 2
    for cell in empty:
        check = notebook.cells[notebook.cells.index(cell) + 1]
        assert tagged(check, "check")
        (call,) = ast.parse(check.source).body
        name = ast.literal_eval(call.value.args[0])
        assert name in exercise_names()
        assert name[:2] == path.stem[:2]
        (filled,) = [c for c in code(solved) if c.id == cell.id]
        assert "..." in cell.source
        assert "..." not in filled.source
        assert cell.metadata.nbgrader.solution
        assert check.metadata.nbgrader.grade
        assert check.metadata.nbgrader.locked


def test_every_exercise_is_in_a_lecture():
    cells = [c for path in NOTEBOOKS for c in code(nbformat.read(path, as_version=4))]
    checks = [cell.source for cell in cells if tagged(cell, "check")]
    asked = [ast.literal_eval(ast.parse(text).body[0].value.args[0]) for text in checks]
    assert sorted(asked) == exercise_names()


def test_lectures_have_little_given_code():
    cells = [c for path in NOTEBOOKS for c in code(nbformat.read(path, as_version=4))]
    given = [c.source for c in cells if not tagged(c, "exercise") and not tagged(c, "check")]
    lines = [line.strip() for text in given for line in text.splitlines()]
    assert len([line for line in lines if line and line[0] not in "#%"]) < 900


@sockets
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=() if p.stem in QUICK else pytest.mark.slow) for p in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_with_its_solutions_at_their_place(path, tmp_path):
    fewer = min(int(parameters(path).get("N", SMALL)), SMALL)
    notebook = changed(path, N=fewer, METHODS=("ug", "identity"), STEPS=250)
    run(notebook, tmp_path)
    assert not_right(notebook) == {}
    if path.stem == "01_explore":
        explorer_shows_what_code_did({cell.id: cell for cell in code(notebook)})


@pytest.mark.release
@sockets
@every_notebook
def test_a_notebook_runs_as_it_is_with_nothing_filled_in(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    run(notebook, tmp_path)
    checks = [cell for cell in code(notebook) if tagged(cell, "check")]
    assert set(not_right(notebook)) == {cell.id for cell in checks}


@pytest.mark.release
@sockets
@pytest.mark.parametrize(("city", "epsilon"), CHANGES)
@every_notebook
def test_a_notebook_runs_twice_in_a_row_on_other_cities_at_any_epsilon(
    path, city, epsilon, tmp_path
):
    notebook = changed(
        path, CITY=city, EPSILON=epsilon, N=SMALL, METHODS=("ug", "identity"), STEPS=250
    )
    run(notebook, tmp_path, times=2)
    assert not_right(notebook) == {}


def test_lectures_run_where_jax_arrow_and_a_network_are_missing(tmp_path):
    paths = [path for path in NOTEBOOKS if path.stem[:2] in ("00", "02", "09")]
    assert len(paths) == 4
    program = [sys.executable, Path(__file__).parent / "without_jax.py", *paths]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr[-2_000:]


def explorer_shows_what_code_did(cells: dict[str, nbformat.NotebookNode]) -> None:
    assert WIDGET in shown(cells["explorer"])
    answers = cells["build-and-answer"].outputs[-1].data["text/plain"]
    assert set(eval(answers, {"array": list})) == {"UG, ε = 0.2", "Identity, ε = 0.2"}
    assert "spent 0.4, left 2.6" in cells["ledger"].outputs[0].data["text/html"]
