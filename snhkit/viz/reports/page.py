"""The parts that reports are made of: one HTML page that needs no network."""

import base64
import html
import io
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from snhkit.geometry import RangeQueries
from snhkit.viz.figures.plots import surface_figure
from snhkit.viz.maps.maps import compare_map, embeds_everything, to_html

if TYPE_CHECKING:
    from snhkit.release import Release

__all__ = ["maps", "page", "picture", "wide"]

_STYLE = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem;
       color: #1a1a1a; background: #fff }
.owner { background: #b00020; color: #fff; padding: .6rem 1rem; font-weight: 600; margin: 0 }
.owner + .owner { border-top: 1px solid #fff }
h1 { margin: 1.5rem 0 .25rem; line-height: 1.2 } h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem }
p { max-width: 46rem; margin: .25rem 0 .75rem } .owner { max-width: none }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .35rem .8rem; text-align: right; border-bottom: 1px solid #ddd }
thead th { border-bottom: 2px solid #1a1a1a; vertical-align: bottom }
tbody th { font-weight: 400 } th:first-child, td:first-child { text-align: left; padding-left: 0 }
caption { text-align: left; padding-bottom: .25rem } .ledger td, .ledger th { text-align: left }
.ledger td:nth-child(2) { white-space: nowrap }
pre { overflow-x: auto }
figure { margin: 1rem 0 } iframe { width: 100%; height: 38rem; border: 1px solid #767676 }
img { max-width: 100% } figcaption { max-width: 46rem }
figcaption, footer { color: #595959; font-size: .9rem }
footer { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: .5rem }
"""


def page(title: str, about: str, notes: Iterable[str], parts: Iterable[str]) -> str:
    """A page that refers to nothing outside itself.

    Parameters
    ----------
    title, about : str
        Text; what the page is called, and a sentence on where the records come from.
    notes : iterable of str
        Text that nobody may miss.
    parts : iterable of str
        HTML.
    """
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return "\n".join(
        [
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>",
            *(f"<p class='owner' role='alert'>{html.escape(note)}</p>" for note in notes),
            f"<h1>{html.escape(title)}</h1><p>{html.escape(about)}</p>",
            *parts,
            f"<footer>snhkit {version('snhkit')}, {made}</footer>",
            "</body></html>",
        ]
    )


def wide(table: str, kind: str = "") -> str:
    """A table that scrolls on a narrow screen instead of breaking the page."""
    return f"<div class='wide {kind}'>{table}</div>"


def maps(releases: "Mapping[str, Release]", boxes: RangeQueries | None = None) -> str:
    """The released counts on a map, with a layer a release; or a picture of them."""
    fmap = compare_map(releases, boxes)
    if not embeds_everything(fmap):
        # folium itself would fetch its parts from the network whenever the page is opened
        return picture(surface_figure(releases), "Released counts, one colour scale for all.")
    inside = html.escape(to_html(fmap))
    return (
        "<figure><iframe title='Map of the released counts' sandbox='allow-scripts' "
        f'srcdoc="{inside}"></iframe>'
        "<figcaption>Choose a method at the top right; all share one colour scale.</figcaption>"
        "</figure>"
    )


def picture(figure: Figure, caption: str) -> str:
    """A figure inside the page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    text = html.escape(caption)
    return (
        f"<figure><img alt='{text}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{text}</figcaption></figure>"
    )
