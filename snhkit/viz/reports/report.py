"""One HTML page that shows a comparison and needs no network."""

import pandas as pd

from snhkit.experiment import METHODS, OWNER_ONLY
from snhkit.experiment.run import Comparison
from snhkit.viz.figures.plots import error_bars
from snhkit.viz.reports.page import maps, page, picture, wide

__all__ = ["report_html", "table_for_people"]

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
    parts = [
        "<h2>How wrong, how slow, how large</h2>",
        wide(table_for_people(comparison.table).to_html(index=False, border=0)),
        picture(error_bars(errors), _MEASURE),
        f"<h2>What the releases say, at epsilon {shown:g}</h2>",
        maps(releases),
        "<h2>What was spent</h2>",
        wide(comparison.dataset.ledger._repr_html_(), "ledger"),
    ]
    return page(title, about, notes, parts)


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
