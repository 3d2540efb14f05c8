"""One HTML page with what releases say about boxes; nothing in it but what was released."""

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from snhkit.geometry import RangeQueries
from snhkit.privacy import Ledger, written
from snhkit.viz.reports.page import maps, page, wide

if TYPE_CHECKING:
    from snhkit.release import Release

__all__ = ["answers_html"]


def answers_html(
    releases: "Mapping[str, Release]",
    boxes: RangeQueries | None,
    ledger: Ledger,
    *,
    title: str,
    about: str,
    code: str = "",
) -> str:
    """A self-contained page: answers, map, the releases' cards, the ledger and the code.

    Parameters
    ----------
    releases : mapping of name to Release
        At least one, all of one region.
    boxes : RangeQueries, optional
        Asked of every release.
    ledger : Ledger
        What was spent, and what is left.
    title, about : str
        Of the page, and a sentence on where the records come from.
    code : str
        A program that does the same.

    Raises
    ------
    InputError
        If there is no release, or regions differ.
    """
    warnings = {name: release.card().get("Warning") for name, release in releases.items()}
    parts = [
        f"<h2>Records in each box, as released</h2>{_answers(releases, boxes)}",
        f"<h2>On the map</h2>{maps(releases, boxes)}",
        "<h2>The releases</h2>",
        *(f"<h3>{html.escape(name)}</h3>{_card(r)}" for name, r in releases.items()),
        "<h2>What was spent</h2>",
        wide(ledger._repr_html_(), "ledger"),
        f"<h2>The same in Python</h2><pre>{html.escape(code)}</pre>" if code else "",
    ]
    notes = (f"{name}: {warning}" for name, warning in warnings.items() if warning)
    return page(title, about, notes, parts)


def _answers(releases: "Mapping[str, Release]", boxes: RangeQueries | None) -> str:
    if boxes is None or not len(boxes):
        return "<p>No box was drawn.</p>"
    columns = [f"{name}, ε = {written(release.epsilon)}" for name, release in releases.items()]
    head = "".join(f"<th scope='col'>{html.escape(c)}</th>" for c in ["Box", "Metres", *columns])
    told = [(r.answer(boxes), r.standard_error(boxes)) for r in releases.values()]
    rows = []
    for k in range(len(boxes)):
        cells = [f"{boxes.width[k]:,.0f} × {boxes.height[k]:,.0f}"]
        cells += [_count(counts[k], errors[k]) for counts, errors in told]
        rows.append(f"<tr><td>{k + 1}</td>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return wide(table) + (
        "<p>± is the standard error of the noise, where theory gives it. That records do not lie "
        "evenly inside cells makes another error, which is not in it.</p>"
    )


def _count(count: float, error: float) -> str:
    known = "" if np.isnan(error) else f" ± {error:,.1f}"
    return f"{np.round(count, 1) + 0:,.1f}{known}"


def _card(release: "Release") -> str:
    return wide(release._repr_html_(), "ledger")
