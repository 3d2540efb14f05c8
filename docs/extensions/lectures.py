"""Sphinx extension that runs notebooks/*.ipynb into docs/lectures/ before a build.

A page has no kernel, so what a slider would draw is shown at the slider's first position, and in
the place of the explorer stands its picture from the gallery. A lecture runs again when it or the
package has changed.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_output
from sphinx.application import Sphinx
from sphinx.util import logging

from snhkit.teaching.kernels import notebook_client

ROOT = Path(__file__).parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
LONGEST_S = 600  # of one cell
AT_ONCE = 2
STILL = "*In the notebook this has a slider; here it stands at its first position.*"
PICTURE = "*In the notebook this is the explorer, with its map and buttons; here it is a picture.*"

log = logging.getLogger(__name__)


def run_all(app: Sphinx) -> None:
    """Run the lectures whose pages are older than the notebook or the package."""
    sources = [*ROOT.glob("snhkit/**/*.py"), *ROOT.glob("snhkit/**/*.safetensors")]
    newest = max(path.stat().st_mtime for path in sources)
    stale = []
    for notebook in sorted(ROOT.glob("notebooks/*.ipynb")):
        page = Path(app.srcdir) / "lectures" / notebook.name
        made = page.stat().st_mtime if page.exists() else 0
        if made < max(newest, notebook.stat().st_mtime):
            stale.append((notebook, page))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for notebook in pool.map(lambda pair: run(*pair), stale):
            log.info("ran %s", notebook.name)


def run(notebook: Path, page: Path) -> Path:
    """Run one lecture and write its page, with outputs that need no kernel; return the notebook."""
    content = nbformat.read(notebook, as_version=4)
    notebook_client(content, page.parent, LONGEST_S).execute()
    widgets = content.metadata.pop("widgets", {})
    states = {
        key: model["state"] for view in widgets.values() for key, model in view["state"].items()
    }
    picture = ROOT / "docs" / "gallery" / f"{notebook.stem}.png"
    for cell in content.cells:
        if cell.cell_type == "code":
            if "alt" in cell.metadata:
                cell.metadata["mystnb"] = {"image": {"alt": cell.metadata["alt"]}}
            cell.outputs = [
                still
                for output in cell.outputs
                for still in without_kernel(output, states, picture)
            ]
    nbformat.write(content, page)
    return notebook


def without_kernel(output: Any, states: dict[str, dict], picture: Path) -> list[Any]:
    """Return the outputs that a static page shows instead of a notebook's output."""
    if output["output_type"] == "stream" and output["name"] == "stderr":
        return []  # bars of progress
    if WIDGET not in output.get("data", {}):
        return [output]
    drawn = drawn_by(output["data"][WIDGET]["model_id"], states)
    if drawn:
        return [said(STILL), *drawn]
    return [said(PICTURE), said(f"![The explorer](../gallery/{picture.name})")]


def drawn_by(model: str, states: dict[str, dict]) -> list[Any]:
    """Return the outputs of a widget and of the widgets inside it."""
    state = states[model]
    inside = [child.removeprefix("IPY_MODEL_") for child in state.get("children", [])]
    own = [nbformat.from_dict(output) for output in state.get("outputs", [])]
    return [*own, *(output for child in inside for output in drawn_by(child, states))]


def said(text: str) -> Any:
    """Return a notebook output that shows Markdown text."""
    return new_output("display_data", {"text/markdown": text})


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension, which runs the lectures before Sphinx reads pages."""
    app.connect("config-inited", lambda app, config: run_all(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
