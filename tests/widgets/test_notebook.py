from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_clean_and_on_any_kernel(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.nbformat_minor >= 5
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert len(cell.source.splitlines()) < 15
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


# The kernel's sockets are closed when their garbage is collected.
@pytest.mark.filterwarnings("ignore:.*(zmq|socket|event loop):ResourceWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    if path.stem == "01_explore":
        outputs = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
        assert "application/vnd.jupyter.widget-view+json" in outputs["explorer"][0].data
        assert set(eval(outputs["build-and-answer"][-1].data["text/plain"], {"array": list})) == {
            "UG",
            "Identity",
        }
        assert "spent 0.4, left 2.6" in outputs["ledger"][0].data["text/html"]
