"""Settings of Sphinx for the documentation: sphinx-build -W docs docs/_build/html.

The site opens from a folder, without a network: the theme brings its fonts, formulas are MathML,
and the lectures are pages with outputs (``extensions/lectures.py``).
"""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx

import snhkit
from snhkit.viz.reports.story import shipped_story, story_html

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

from reference import HOMES  # pyright: ignore[reportMissingImports]

project = "snhkit"
author = "The snhkit developers"
project_copyright = author
version = release = version_of("snhkit")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_codeautolink",
    "lectures",
    "mathml",
    "reference",
    "whole_tree",
]
exclude_patterns = ["_build", "_templates", "extensions"]
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "snhkit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {page: [] for page in ("index", "quickstart", "methods", "privacy", "contributing")}
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # summaries would be fetched, which file:// forbids
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # extensions/lectures.py runs them
nb_ipywidgets_js = {}  # MyST-NB's would come from the network
nb_number_source_lines = False

autosummary_generate = [f"api/{home}.md" for home in ("snhkit", *HOMES)]
autodoc_typehints = "none"  # numpydoc's parameter sections say them
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = {"of", "or", "optional", "shape", "default", "number", "numbers"}
# Types of Python and numpy would be links to the network's pages; public names are links to ours.
numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS}
numpydoc_xref_aliases |= {name: f"snhkit.{name}" for name in snhkit.__all__}

# What docstring examples take as given, so that names in them are links.
codeautolink_global_preface = (
    f"import snhkit as snh\nfrom snhkit import {', '.join(snhkit.__all__)}"
)


def setup(app: Sphinx) -> None:
    """Write the page of ``snhkit story`` into the site, whose first page shows it."""

    def write(app: Sphinx) -> None:
        Path(app.outdir, "story.html").write_text(story_html(shipped_story()), encoding="utf-8")

    app.connect("builder-inited", write)
