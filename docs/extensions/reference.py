"""Sphinx extension that writes the API reference: a page for each public module.

The names of ``snhkit`` itself are in the order of ``snhkit/__init__.pyi``, by the subpackage that
each comes from. The pages of the other modules have the names that only they export. The reference
thus lists every public name, and no list of names is maintained by hand.
"""

import ast
from importlib import import_module
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

HOMES = (
    "snhkit.geometry",
    "snhkit.districts",
    "snhkit.models",
    "snhkit.privacy",
    "snhkit.data",
    "snhkit.builders",
    "snhkit.neural",
    "snhkit.neural.networks",
    "snhkit.select",
    "snhkit.metrics",
    "snhkit.methods",
    "snhkit.planning",
    "snhkit.experiment",
    "snhkit.viz.figures",
    "snhkit.viz.maps",
    "snhkit.widgets",
    "snhkit.teaching",
    "snhkit.reproduction",
)
"""The modules with public names in addition to ``snhkit``."""

SECTIONS = {
    "Regions and boxes": ("geometry", "districts"),
    "Records": ("data", "dataset", "privacy"),
    "Releases": ("release", "loading", "experiment", "planning"),
    "Methods": ("methods", "builders"),
    "Methods with networks, and ParamSelect": ("neural", "select"),
    "Maps and the explorer": ("viz.maps", "viz.reports.public_page", "widgets"),
    "Exceptions": ("errors",),
}
"""Sections of the page of ``snhkit``, by the rooms that its names come from."""


def write_all(app: Sphinx) -> None:
    """Write the pages of docs/api whose text has changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = {"snhkit": front(), **{home: page(home) for home in HOMES}}
    pages["index"] = index()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def index() -> str:
    """Return the text of the page that lists the modules."""
    rows = [f"| [{home}]({home}.md) | {sentence(home)} |" for home in ("snhkit", *HOMES)]
    tree = ["```{toctree}", ":hidden:", "", "snhkit", *HOMES, "```"]
    says = (
        "Most users need only the names of `snhkit` itself. The other modules have names that "
        "lectures and special uses need."
    )
    lines = ["# API reference", "", says, "", *tree, ""]
    return "\n".join([*lines, "| module | content |", "|---|---|", *rows, ""])


def front() -> str:
    """Return the text of the page of ``snhkit``, in sections by the packages of its names."""
    rooms, lines = origins("snhkit"), ["# snhkit", ""]
    for title, parts in SECTIONS.items():
        names = [name for part in parts for name in rooms.pop(f"snhkit.{part}")]
        homes = [name for name in names if f"snhkit.{name}" in HOMES]
        lines += [f"## {title}", ""]
        lines += [
            f"- [snhkit.{name}](snhkit.{name}.md): {sentence(f'snhkit.{name}')}" for name in homes
        ]
        lines += ["", *listing("snhkit", [name for name in names if name not in homes]), ""]
    if rooms:
        raise ValueError(f"SECTIONS in {__file__} has no section for {', '.join(rooms)}.")
    return "\n".join(lines)


def page(home: str) -> str:
    """Return the text of a module's page; names on earlier pages become links to these."""
    above = {"snhkit": set(import_module("snhkit").__all__)}
    for earlier in HOMES[: HOMES.index(home)]:
        above[earlier] = set(import_module(earlier).__all__)
    own, links = [], []
    for name in sorted(import_module(home).__all__, key=str.lower):
        where = next((module for module, names in above.items() if name in names), None)
        if where is None:
            own.append(name)
        else:
            links.append(f"{{py:obj}}`{name} <{where}.{name}>`")
    lines = [f"# {home}", "", sentence(home), ""]
    if links:
        lines += [f"On other pages: {', '.join(links)}.", ""]
    return "\n".join([*lines, *listing(home, own), ""])


def sentence(module: str) -> str:
    """Return the first line of a module's docstring."""
    return (import_module(module).__doc__ or "").partition("\n")[0]


def listing(module: str, names: list[str]) -> list[str]:
    """Return the lines of a page that document names of a module."""
    if not names:
        return []
    objects = [name for name in names if documents_itself(getattr(import_module(module), name))]
    lines = ["```{eval-rst}", f".. currentmodule:: {module}", ""]
    if objects:
        lines += [".. autosummary::", "   :toctree: generated", ""]
        lines += [*(f"   {name}" for name in objects), ""]
    for name in names:
        if name not in objects:
            lines += [f".. py:data:: {name}", "", *(f"   {s}" for s in comment(module, name)), ""]
    return [*lines, "```"]


def documents_itself(thing: object) -> bool:
    """Return whether an object is a class, function or module, which has its own docstring."""
    return hasattr(thing, "__name__") and hasattr(thing, "__doc__")


def comment(module: str, name: str) -> list[str]:
    """Return the lines of the string that documents a constant, below its assignment."""
    where = next((m for m, names in origins(module).items() if name in names), module)
    if where != module and where in HOMES:
        return comment(where, name)
    return ModuleAnalyzer.for_module(where).find_attr_docs().get(("", name), [])


def origins(module: str) -> dict[str, list[str]]:
    """Return the names that a module or its stub imports, by the modules that they come from."""
    source = Path(import_module(module).__file__ or "")
    if (stub := source.with_suffix(".pyi")).exists():
        source = stub
    found: dict[str, list[str]] = {}
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for name in (alias.name for alias in node.names):
                origin = node.module or name
                found.setdefault(f"{module}.{origin}" if node.level else origin, []).append(name)
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension, which writes the pages before Sphinx reads them."""
    app.connect("config-inited", lambda app, config: write_all(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
