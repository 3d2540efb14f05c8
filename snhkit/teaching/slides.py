"""Slides of a lecture, as one HTML page that needs no network."""

import html
import re
from typing import Any

from snhkit.errors import InputError
from snhkit.teaching.copies import tagged

__all__ = ["parts", "slides"]

_WIDGET = "application/vnd.jupyter.widget-view+json"
_STYLE = """
html{scroll-snap-type:y proximity}
body{margin:0;font:1.45rem/1.45 system-ui,sans-serif;color:#1a1a1a;background:#fff}
section{min-height:100vh;box-sizing:border-box;padding:4vh 7vw;scroll-snap-align:start;
 display:flex;flex-direction:column;justify-content:center;border-bottom:1px solid #ddd}
h1{font-size:2.6rem;color:#0b4f7d}h2{font-size:2.1rem;color:#0b4f7d}
pre{font-size:1.05rem;line-height:1.35;background:#f6f6f6;padding:.7em 1em;
 overflow-x:auto;margin:.4em 0}
img{max-width:100%;max-height:72vh}iframe{width:100%;height:70vh;border:0}
.output_wrapper pre{white-space:pre-wrap;overflow-wrap:anywhere}
table{border-collapse:collapse;font-size:1.15rem}
td,th{padding:.25em .8em;border-bottom:1px solid #ddd}
.jp-InputPrompt,.jp-OutputPrompt,.prompt,.anchor-link{display:none}
blockquote{border-left:.3em solid #e69f00;margin-left:0;padding-left:1em}
footer{position:fixed;right:1em;bottom:.5em;font-size:.8rem;color:#777}
@media print{section{page-break-after:always}}
"""
_SCRIPT = """
const tall=s=>s.scrollHeight>innerHeight+1;
const sized=(s,size)=>{for(const cell of s.children)cell.style.zoom=size;return!tall(s)};
const another=(s,cells)=>{const t=document.createElement("section");t.append(...cells);s.after(t)};
const shows=cell=>cell.innerText.trim()||cell.querySelector("img,svg,iframe,math");
function fit(s){
 for(const cell of[...s.children])if(!shows(cell))cell.remove();
 const cells=[...s.children],fits=()=>[1,.92,.85].some(size=>sized(s,size));let kept=cells.length;
 while(!fits()&&kept>1)cells[--kept].remove();
 if(kept<cells.length)another(s,cells.slice(kept));
 const output=kept===1&&!fits()&&cells[0].querySelector(".output_wrapper");
 if(output&&cells[0].querySelector(".input")){
  const cell=cells[0].cloneNode(false);cell.append(output);another(s,[cell])}
 for(let size=1;size>=.5&&!sized(s,size);)size-=.05;
}
let all=[];const foot=document.querySelector("footer");
const now=()=>all.findIndex(s=>s.getBoundingClientRect().bottom>innerHeight/2);
const tell=()=>foot.textContent=`${now()+1} / ${all.length}`;
addEventListener("load",()=>{
 for(let s=document.querySelector("section");s?.matches("section");s=s.nextElementSibling)fit(s);
 all=[...document.querySelectorAll("section")];tell()});
addEventListener("scroll",tell);
addEventListener("keydown",e=>{
 const by={ArrowRight:1,PageDown:1," ":1,ArrowLeft:-1,PageUp:-1}[e.key];
 if(by){e.preventDefault();const to=all[now()+by];if(to)to.scrollIntoView()}});
"""


def parts(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the cells of each slide, according to the slide type of each cell of a notebook.

    A cell of the type "slide" or "subslide" begins a slide. Cells of the types "skip" and "notes",
    and cells with the tag "check", are left out. Every other cell belongs to the same slide as the
    cell before.

    Examples
    --------
    >>> def cell(source, kind):
    ...     return {"source": source, "metadata": {"slideshow": {"slide_type": kind}}}
    >>> cells = [cell("a", "slide"), cell("b", "-"), cell("c", "skip"), cell("d", "subslide")]
    >>> [[c["source"] for c in part] for part in parts({"cells": cells})]
    [['a', 'b'], ['d']]
    """
    pages: list[list[dict[str, Any]]] = []
    for cell in notebook["cells"]:
        kind = cell["metadata"].get("slideshow", {}).get("slide_type", "-")
        if kind in ("skip", "notes") or tagged(cell, "check"):
            continue
        if kind in ("slide", "subslide") or not pages:
            pages.append([])
        pages[-1].append(cell)
    return pages


def slides(notebook: dict[str, Any]) -> str:
    """Return the slides of a notebook with its outputs, as one HTML page.

    Arrow keys move between slides. Cells that do not fit on the screen are moved to another slide,
    and a cell that is taller than the screen is scaled down. Formulas are MathML, and pictures are
    embedded, so the page needs no network. Widgets need a kernel, so each is replaced by a note.
    """
    try:
        import nbformat
        from nbconvert import HTMLExporter
    except ImportError:
        raise InputError('Slides need nbconvert: pip install "snhkit[course]".') from None
    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True)
    title = html.escape("".join(notebook["cells"][0]["source"]).partition("\n")[0].lstrip("# "))
    pages = []
    for cells in parts(notebook):
        kept = {key: value for key, value in notebook["metadata"].items() if key != "widgets"}
        shown = {**notebook, "metadata": kept, "cells": [_without_kernel(c) for c in cells]}
        page: Any = nbformat.from_dict(shown)
        body, _ = exporter.from_notebook_node(page)
        pages.append(f"<section>{body}</section>")
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
        f"<style>{_STYLE}</style>{''.join(pages)}<footer></footer><script>{_SCRIPT}</script></html>"
    )


def _without_kernel(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell without widgets and progress bars, which need a kernel.

    The formulas of a Markdown cell are converted to MathML.
    """
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return {**cell, "source": _formulas(source)}
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


def _formulas(text: str) -> str:
    from latex2mathml.converter import convert

    text = re.sub(
        r"\$\$(.+?)\$\$", lambda m: convert(m[1].strip(), display="block"), text, flags=re.DOTALL
    )
    return re.sub(r"\$([^$\n]+?)\$", lambda m: convert(m[1]), text)
