"""Slides of a lecture, as one HTML page that needs no network."""

import re
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import SlidesExporter

from snhkit.teaching.copies import tagged

_WIDGET = "application/vnd.jupyter.widget-view+json"


def slides(notebook: dict[str, Any]) -> str:
    """Return the slides of a notebook with its outputs, as one HTML page.

    The template takes the place of nbconvert's own, which loads reveal.js and MathJax from the
    network. Arrow keys move between slides; cells that do not fit on the screen are moved to
    another slide, and a cell that is taller than the screen is scaled down.
    """
    title = "".join(notebook["cells"][0]["source"]).partition("\n")[0].lstrip("# ")
    cells = [_without_kernel(cell) for cell in notebook["cells"] if not tagged(cell, "check")]
    kept = {key: value for key, value in notebook["metadata"].items() if key != "widgets"}
    content: Any = nbformat.from_dict({**notebook, "metadata": kept, "cells": cells})
    exporter = SlidesExporter(
        template_file=str(Path(__file__).with_name("slides.html.j2")), exclude_input_prompt=True
    )
    return exporter.from_notebook_node(content, resources={"metadata": {"name": title}})[0]


def _without_kernel(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell whose formulas are MathML, without widgets and progress bars."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return {**cell, "source": formulas(source)}
    outputs = [
        _said("In the notebook, this part is interactive.")
        if _WIDGET in output.get("data", {})
        else output
        for output in cell.get("outputs", [])
        if output.get("name") != "stderr" and not _is_progress(output)
    ]
    return {**cell, "source": source, "outputs": outputs}


def _is_progress(output: dict[str, Any]) -> bool:
    """Return whether an output is a progress bar of tqdm, which is a widget."""
    text = "".join(output.get("data", {}).get("text/plain", ""))
    return _WIDGET in output.get("data", {}) and re.search(r"\d+%\||\[\d\d:\d\d", text) is not None


def _said(text: str) -> dict[str, Any]:
    data = {"text/plain": text}
    return {"output_type": "display_data", "metadata": {}, "data": data}


def formulas(text: str) -> str:
    """Return a Markdown text with its formulas as MathML, which needs no script."""
    from latex2mathml.converter import convert

    text = re.sub(
        r"\$\$(.+?)\$\$", lambda m: convert(m[1].strip(), display="block"), text, flags=re.DOTALL
    )
    return re.sub(r"\$([^$\n]+?)\$", lambda m: convert(m[1]), text)
