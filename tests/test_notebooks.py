"""Every notebook: what it looks like, and that it runs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: nbformat.NotebookNode) -> set[str]:
    """The MIME types of what a cell put out."""
    return {mime for output in cell.outputs for mime in output.get("data", {})}


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
    folded = [cell.source for cell in notebook.cells if "<details>" in cell.source]
    assert folded
    assert all(text.count("<details>") == text.count("</details>") for text in folded)
    assert "ledger" in code(notebook)[-1].source
    assert sum("gallery" in cell.metadata.get("tags", []) for cell in code(notebook)) == 1


# The kernel's sockets are closed when their garbage is collected.
@pytest.mark.filterwarnings("ignore:.*(zmq|socket|event loop):ResourceWarning")
@every_notebook
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    assert all(cell.execution_count for cell in code(notebook))
    assert [said for cell in code(notebook) for said in complaints(cell)] == []
    # What a slider calls fails inside its widget, where no cell does.
    states = notebook.metadata.get("widgets", {}).values()
    models = [model["state"] for view in states for model in view["state"].values()]
    outputs = [output for state in models for output in state.get("outputs", [])]
    assert [o["evalue"] for o in outputs if o["output_type"] == "error"] == []
    for cell in code(notebook):
        if "gallery" in cell.metadata.get("tags", []):
            assert shown(cell) & {"image/png", "text/html", WIDGET}
    if path.stem == "01_explore":
        explorer_shows_what_code_did({cell.id: cell for cell in code(notebook)})


def complaints(cell: nbformat.NotebookNode) -> list[str]:
    """Warnings, which are errors elsewhere; bars of progress go to stderr as well."""
    texts = [o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stderr"]
    return [text for text in texts if "Warning" in text]


def explorer_shows_what_code_did(cells: dict[str, nbformat.NotebookNode]) -> None:
    assert WIDGET in shown(cells["explorer"])
    answers = cells["build-and-answer"].outputs[-1].data["text/plain"]
    assert set(eval(answers, {"array": list})) == {"UG", "Identity"}
    assert "spent 0.4, left 2.6" in cells["ledger"].outputs[0].data["text/html"]
