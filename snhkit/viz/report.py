"""One HTML page that shows a comparison and needs no network."""

import base64
import html
import io
from datetime import UTC, datetime
from importlib.metadata import version

import pandas as pd
from matplotlib.figure import Figure

from snhkit.experiment import METHODS, OWNER_ONLY
from snhkit.experiment.run import Comparison
from snhkit.viz.maps import compare_map, embeds_everything, to_html
from snhkit.viz.plots import error_bars, surface_figure

__all__ = ["report_html", "table_for_people"]

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
figure { margin: 1rem 0 } iframe { width: 100%; height: 38rem; border: 1px solid #767676 }
img { max-width: 100% } figcaption { max-width: 46rem }
figcaption, footer { color: #595959; font-size: .9rem }
footer { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: .5rem }
"""
_REPLAYABLE = (
    "The noise came from a seed: whoever knows it can take the noise away. Do not publish."
)
_MEASURE = (
    "Mean relative error of the queries; less is better. A query's is "
    "|answer - truth| / max(truth, 0.1 % of the records)."
)


def report_html(comparison: Comparison, *, title: str, about: str) -> str:
    """A comparison as one self-contained page: map, plots, table, ledger.

    Parameters
    ----------
    comparison : Comparison
        What ``experiment.run`` found.
    title : str
        Of the page.
    about : str
        A sentence on where the records come from.

    Returns
    -------
    str
        HTML that refers to nothing outside itself.
    """
    shown = max(epsilon for _, epsilon in comparison.releases)
    releases = {
        METHODS[name].title: release
        for (name, epsilon), release in comparison.releases.items()
        if epsilon == shown
    }
    notes = [OWNER_ONLY, *comparison.cautions]
    if any(release.replayable for release in releases.values()):
        notes.append(_REPLAYABLE)
    errors = comparison.table.assign(
        method=[METHODS[name].title for name in comparison.table["method"]]
    )
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return "\n".join(
        [
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>",
            *(f"<p class='owner' role='alert'>{html.escape(note)}</p>" for note in notes),
            f"<h1>{html.escape(title)}</h1><p>{html.escape(about)}</p>",
            "<h2>How wrong, how slow, how large</h2>",
            _wide(table_for_people(comparison.table).to_html(index=False, border=0)),
            _picture(error_bars(errors), _MEASURE),
            f"<h2>What the releases say, at epsilon {shown:g}</h2>",
            _map(releases),
            "<h2>What was spent</h2>",
            _wide(comparison.dataset.ledger._repr_html_(), "ledger"),
            f"<footer>snhkit {version('snhkit')}, {made}</footer>",
            "</body></html>",
        ]
    )


def table_for_people(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a comparison as text, with units in the headings."""
    return pd.DataFrame(
        {
            "method": [METHODS[name].title for name in table["method"]],
            "epsilon": [f"{e:g}" for e in table["epsilon"]],
            "mean relative error": [f"{e:.3f}" for e in table["rel_error"]],
            "mean error (records)": [f"{e:,.1f}" for e in table["abs_error"]],
            "build (s)": [f"{s:,.2f}" for s in table["build_s"]],
            "query (µs)": [f"{t:,.1f}" for t in table["query_us"]],
            "bytes": [f"{b:,}" for b in table["bytes"]],
        }
    )


def _wide(table: str, kind: str = "") -> str:
    """A table that scrolls on a narrow screen instead of breaking the page."""
    return f"<div class='wide {kind}'>{table}</div>"


def _map(releases: dict) -> str:
    fmap = compare_map(releases)
    if not embeds_everything(fmap):
        # folium itself would fetch its parts from the network whenever the page is opened
        return _picture(surface_figure(releases), "Released counts, one colour scale for all.")
    page = html.escape(to_html(fmap))
    return (
        "<figure><iframe title='Map of the released counts' sandbox='allow-scripts' "
        f'srcdoc="{page}"></iframe>'
        "<figcaption>Choose a method at the top right; all share one colour scale.</figcaption>"
        "</figure>"
    )


def _picture(figure: Figure, caption: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    text = html.escape(caption)
    return (
        f"<figure><img alt='{text}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{text}</figcaption></figure>"
    )
