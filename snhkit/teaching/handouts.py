"""Handouts: a lecture's headings, lists, formulas, boxed lines and figures on two printed pages."""

import html
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from nbconvert.filters import markdown2html

from snhkit.errors import InputError
from snhkit.teaching.slides import formulas

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_KEPT = re.compile(
    r"#|>|- |\d+\. |\$\$|You will learn|"
    r"\*\*(?!\d|Everybody|Exercise|Guess|It takes|Play|Problem|Spent|The people|Try|What to|Your)"
)
_SIZES = (1.0, 0.9, 0.8, 0.7, 0.6)
_STYLE = """
@page {{ size: A4; margin: 12mm }}
body {{ font: {0:.2f}pt/1.3 system-ui, sans-serif; columns: 2; column-gap: 8mm; margin: 0 }}
h1, h2 {{ color: #0b4f7d; margin: .5em 0 .2em; break-after: avoid }}
h1 {{ font-size: 1.7em; margin-top: 0 }} h2 {{ font-size: 1.2em }}
p, ul, ol, math, figure {{ margin: .3em 0 }} figure, blockquote, math {{ break-inside: avoid }}
ol, ul {{ padding-left: 1.6em }} math {{ font-size: .95em }}
blockquote {{ border-left: .3em solid #e69f00; margin: .4em 0; padding: .1em .6em }}
img {{ display: block; max-width: 100%; max-height: {1:.0f}mm; margin: auto }}
figcaption {{ font-size: .85em; color: #555 }} .anchor-link {{ display: none }}
"""


def handout(notebook: dict[str, Any], size: float = 1.0) -> str:
    """Return the handout of a lecture with its outputs as an HTML page, in a relative size."""
    title = "".join(notebook["cells"][0]["source"]).partition("\n")[0].lstrip("# ")
    parts = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(markdown2html(formulas("\n\n".join(_kept("".join(cell["source"]))))))
        elif alt := html.escape(cell["metadata"].get("alt", "")):
            pictures = [output.get("data", {}).get("image/png") for output in cell["outputs"]]
            caption = html.escape(cell["metadata"].get("caption", ""))
            parts += [
                f'<figure><img alt="{alt}" src="data:image/png;base64,{"".join(picture).strip()}">'
                f"<figcaption>{caption}</figcaption></figure>"
                for picture in pictures
                if picture
            ]
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"
    return f"{head}<style>{_STYLE.format(9.5 * size, 62 * size**2)}</style>{''.join(parts)}</html>"


def _kept(text: str) -> list[str]:
    """Return the blocks of a text that a handout has; a formula comes with the words before it."""
    kept, proving, before = [], False, ""
    for block in text.split("\n\n"):
        said, proof, _ = block.partition("*Proof")
        if not proving and _KEPT.match(said):
            if said.startswith("$$") and not _KEPT.match(before):
                kept.append(before.rpartition(". ")[2])
            kept.append(said)
        proving = (proving or bool(proof)) and not re.search(r"∎|\\square", block)
        before = block
    return kept


def handout_pdf(notebook: dict[str, Any]) -> bytes:
    """Return the handout as a PDF of at most two pages, in the largest size that fits.

    Raises
    ------
    InputError
        If there is no Chromium, which prints the page, or if it fails.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise InputError("Handouts are printed by Chromium, which is not on the PATH: install it.")
    root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    content = b""
    with tempfile.TemporaryDirectory(prefix="snhkit-", ignore_cleanup_errors=True) as folder:
        page, pdf = Path(folder, "page.html"), Path(folder, "page.pdf")
        words = ["--headless", "--disable-gpu", f"--user-data-dir={folder}/profile"]
        words += ["--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri()]
        for size in _SIZES:
            page.write_text(handout(notebook, size), encoding="utf-8")
            command = [browser, *root, *words]
            done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
            if done.returncode or not pdf.exists():
                raise InputError(f"{browser} did not print: {done.stderr[-300:]}")
            content = pdf.read_bytes()
            if len(re.findall(rb"/Type\s*/Page\b", content)) <= 2:
                break
    return content
