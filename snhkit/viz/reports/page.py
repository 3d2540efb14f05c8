"""The parts of an HTML report, made from templates; the report needs no network connection."""

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from snhkit.geometry import RangeQueries
from snhkit.markup import html_table
from snhkit.privacy import Ledger
from snhkit.release import Release
from snhkit.viz.figures.plots import surface_figure
from snhkit.viz.maps.maps import compare_map, embeds_everything, to_html
from snhkit.viz.reports.rendering import environment


def page(title: str, about: str, notes: Iterable[str], parts: Iterable[Markup]) -> str:
    """Return an HTML page that needs no other files; ``notes`` are warnings above the heading."""
    template = environment().get_template("page.html.j2")
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return template.render(
        title=title, about=about, notes=notes, parts=parts, version=version("snhkit"), made=made
    )


def section(heading: str, *contents: Markup) -> Markup:
    """Return contents as HTML under a second-level heading."""
    return _part("section", heading, contents)


def titled(heading: str, contents: Markup) -> Markup:
    """Return contents as HTML under a third-level heading, for a part of a section."""
    return _part("titled", heading, contents)


def paragraph(text: str) -> Markup:
    """Return a text as an HTML paragraph."""
    return _part("paragraph", text)


def program(text: str) -> Markup:
    """Return source code as HTML that keeps its line breaks."""
    return _part("program", text)


def wide(contents: Markup, kind: str = "") -> Markup:
    """Return a table inside an area of the CSS class ``kind`` that scrolls sideways."""
    return _part("wide", contents, kind)


def shown_as_here(thing: Release | Ledger) -> Markup:
    """Return the table that a release or a ledger shows in a notebook; its texts are escaped."""
    return wide(Markup(thing._repr_html_()), "ledger")  # noqa: S704


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    groups: Sequence[tuple[str, int]] = (),
) -> Markup:
    """Return an HTML table that scrolls sideways; ``groups`` as in ``html_table``."""
    return wide(html_table(columns, rows, groups=groups))


def maps(releases: Mapping[str, Release], boxes: RangeQueries | None = None) -> Markup:
    """Return a map of released counts as HTML, with a layer for each release.

    Without the extra ``offline``, a map cannot be embedded in a page, and a picture is returned.
    """
    fmap = compare_map(releases, boxes)
    if not embeds_everything(fmap):
        # folium alone would load its parts from the network whenever the page is opened.
        return picture(surface_figure(releases), "Released counts, all on the same colour scale.")
    return _part("map", to_html(fmap), len(releases) > 1)


def picture(figure: Figure, caption: str) -> Markup:
    """Return a figure and its caption as HTML that contains the image."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return _part("picture", base64.b64encode(buffer.getvalue()).decode("ascii"), caption)


def _part(name: str, *values: Any) -> Markup:
    """Return the HTML that the template macro called ``name`` makes from values."""
    module = environment().get_template("parts.html.j2").module
    return Markup(getattr(module, name)(*values))  # noqa: S704 - the macro has escaped the values
