"""The explorer's tables: what the releases say of boxes and districts, and what was spent."""

import html
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry import RangeQueries
from snhkit.privacy import Entry, Ledger, written

__all__ = ["Answers", "answers_table", "districts_table", "ledger_panel"]

_CAPTION = "Records in each {}, as released; ± is one standard deviation of the noise"
_BESIDE = (
    "That records do not lie evenly inside a method's cells makes another error, which no theory "
    "gives: it is not in ±."
)


class Answers(NamedTuple):
    """What a release says of boxes: counts and standard errors, nan where not known, shape (q,)."""

    counts: NDArray[np.float64]
    errors: NDArray[np.float64]


def answers_table(
    boxes: RangeQueries | None, columns: Mapping[str, Answers], *, truth: NDArray | None = None
) -> str:
    """A table with a row a box: its size, each release's count, and the truth if it is given.

    Parameters
    ----------
    boxes : RangeQueries, optional
        None while there is none.
    columns : mapping of name to Answers
        What was released.
    truth : ndarray of int, shape (q,), optional
        True counts, for teaching with invented data only.
    """
    heads = [] if boxes is None else [_box_head(k, boxes) for k in range(len(boxes))]
    empty = "No box yet: draw one on the map with its rectangle tool, or type one below it."
    return _table(["Box", "Size in metres"], heads, columns, truth, empty)


def districts_table(
    names: Sequence[str], columns: Mapping[str, Answers], *, truth: NDArray | None = None
) -> str:
    """The same with a row a district, to scroll in if they are many.

    Parameters
    ----------
    names : sequence of str
        What the q districts are called.
    columns, truth
        As for ``answers_table``.
    """
    heads = [f'<th scope="row">{html.escape(name)}</th>' for name in names]
    table = _table(["District"], heads if columns else [], columns, truth, "Nothing released yet.")
    says = 'role="region" aria-label="Counts of districts" tabindex="0"'
    return f'<div class="snhkit-districts" {says}>{table}</div>'


def _table(
    first: list[str],
    heads: list[str],
    columns: Mapping[str, Answers],
    truth: NDArray | None,
    empty: str,
) -> str:
    """``heads``: the first cells of each row, as HTML."""
    cells = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in [*first, *columns])
    if truth is not None:
        cells += '<th scope="col" class="snhkit-truth">Truth</th>'
    rows = [f"<tr>{head}{_counts(k, columns, truth)}</tr>" for k, head in enumerate(heads)]
    width = len(first) + len(columns) + (truth is not None)
    nothing = f'<tr><td colspan="{width}">{empty}</td></tr>'
    return (
        f'<table class="snhkit-answers"><caption>{_CAPTION.format(first[0].lower())}</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(rows) or nothing}</tbody></table>"
        + (f'<p class="snhkit-soft">{_BESIDE}</p>' if rows and columns else "")
    )


def _box_head(k: int, boxes: RangeQueries) -> str:
    side = boxes.region.side_m
    west, south = boxes.x[k], boxes.y[k]
    east, north = west + boxes.width[k], south + boxes.height[k]
    size = f"{boxes.width[k]:,.0f} × {boxes.height[k]:,.0f}"
    if min(west, south) < 0 or max(east, north) > side:
        size += " (reaches outside)"
    return f'<th scope="row">{k + 1}</th><td>{size}</td>'


def _counts(k: int, columns: Mapping[str, Answers], truth: NDArray | None) -> str:
    row = ""
    for counts, errors in columns.values():
        known = np.isfinite(errors[k])
        said = f"± {errors[k]:,.1f}" if known else "± not known"
        row += f"<td>{_number(counts[k])}<small>{said}</small>"
        if truth is not None:
            row += (
                f'<small class="snhkit-truth">off by {_number(counts[k] - truth[k], "+")}</small>'
            )
        row += "</td>"
    if truth is not None:
        row += f'<td class="snhkit-truth">{truth[k]:,}</td>'
    return row


def _number(value: float, sign: str = "") -> str:
    return f"{np.round(value, 1) + 0:{sign},.1f}"


def ledger_panel(ledger: Ledger) -> str:
    """The budget as a bar, a piece for each charge, above the ledger's table."""
    pieces = "".join(_piece(entry, ledger.total) for entry in ledger.entries)
    left = ledger.remaining
    said = f"{written(left)} left" if left else "nothing left: further builds are refused"
    rest = f'<span class="snhkit-left" style="flex-grow:{_share(left, ledger.total)}"></span>'
    return (
        f'<div class="snhkit-budget" role="img" aria-label="Budget: {said}">{pieces}{rest}</div>'
        f'<p class="snhkit-soft">Of ε = {written(ledger.total)}, {said}.</p>{ledger._repr_html_()}'
    )


def _piece(entry: Entry, whole: Fraction) -> str:
    who = html.escape(entry.who)
    title = f"{who}: {written(entry.epsilon)}, {entry.state}"
    grow = f"flex-grow:{_share(entry.epsilon, whole)}"
    return f'<span class="snhkit-{entry.state}" style="{grow}" title="{title}">{who}</span>'


def _share(part: Fraction, whole: Fraction) -> str:
    return f"{float(part / whole):.4f}"
