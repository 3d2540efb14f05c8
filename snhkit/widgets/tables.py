"""The explorer's tables: released counts of boxes and districts, and the ledger."""

import html
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from snhkit.geometry import RangeQueries
from snhkit.markup import Cell, count_texts, html_table, number
from snhkit.privacy import Entry, Ledger, PrivacyUnit, written
from snhkit.viz.figures.style import method_styles
from snhkit.widgets.session import Day

__all__ = ["answers_table", "cards", "districts_table", "ledger_panel"]

_SLACK = 0.02  # tolerance as a share of a size, since a box in degrees is not exactly a rectangle
_TRUTH = {"class": "snhkit-truth"}


def answers_table(
    boxes: RangeQueries | None,
    columns: Mapping[str, pd.DataFrame],
    *,
    unit: PrivacyUnit,
    truth: NDArray | None = None,
    sizes_m: tuple[float, float] | None = None,
) -> str:
    """Return an HTML table of boxes, the newest first: size, true count and released counts.

    ``columns`` holds the estimates of each release, by heading. Boxes of sides outside ``sizes_m``,
    for which no release is prepared, are marked. ``truth`` is for invented records only.
    """
    empty = "No box yet: draw one on the map with its rectangle tool, type one, or sample some."
    heads = [] if boxes is None else [_box_head(k, boxes, sizes_m) for k in range(len(boxes))]
    if truth is not None:
        truth = truth[::-1]
    newest = {name: frame.iloc[::-1] for name, frame in columns.items()}
    return _table(["Box", "Size in metres"], heads[::-1], newest, unit, truth, empty)


def cards(
    boxes: RangeQueries | None,
    columns: Mapping[str, NDArray],
    unit: PrivacyUnit,
    truth: NDArray | None = None,
    days: Mapping[str, Day] | None = None,
) -> list[dict[str, Any]]:
    """Return the card of each of q boxes, which the map shows at the box, as JSON values.

    ``columns`` are counts and their ends, shape (q, 3), by the names of releases. A row has a
    release's name, count and interval as texts, its colour, and the places of count and interval on
    the common scale, from 0 to 1; ``true`` is the place of the true count. ``days`` are the counts
    in strata by the names of releases; a card has a line of each of them.
    """
    if boxes is None or not columns:
        return []
    styles, made = method_styles(columns), []
    for k in range(len(boxes)):
        true = 0.0 if truth is None else float(truth[k])
        top = max(true, 1.0, *(float(np.nanmax(numbers[k])) for numbers in columns.values()))
        rows = []
        for name, numbers in columns.items():
            count, low, high = numbers[k]
            known = bool(np.isfinite(low))
            ends = (low, high) if known else (count, count)
            places = np.clip(np.array([count, *ends]) / top, 0, 1).round(4).tolist()
            told = count_texts(count, low, high)
            rows.append([name, *told, styles[name].colour, *places])
        size = f"{boxes.width[k]:,.0f} × {boxes.height[k]:,.0f} m"
        card: dict[str, Any] = {"number": f"Box {k + 1}", "size": size, "rows": rows}
        if unit.max_per_user is not None:
            card["counted"] = unit.counted
        if truth is not None:
            card |= {"truth": number(truth[k]), "true": round(true / top, 4)}
        lines = [
            {"name": name, "colour": styles[name].colour, **_line(day, k)}
            for name, day in (days or {}).items()
        ]
        made.append(card | ({"lines": lines} if lines else {}))
    return made


def _line(day: Day, k: int) -> dict[str, Any]:
    """Return the counts of box k in each stratum as places on a scale from 0 to 1."""
    told = day.told[:, k]
    ends = np.where(np.isfinite(told), told, told[:, :1])
    truth = np.zeros(0) if day.truth is None else day.truth[:, k]
    top, most = max(1.0, ends.max(), truth.max(initial=0)), int(told[:, 0].argmax())
    line = {
        "places": np.clip(ends / top, 0, 1).round(4).tolist(),
        "ends": [day.labels[0], day.labels[-1]],
        "top": number(top),
        "said": f"most in {day.labels[most]}: {number(told[most, 0])}",
    }
    return line if day.truth is None else line | {"truth": (truth / top).round(4).tolist()}


def districts_table(
    names: Sequence[str],
    columns: Mapping[str, pd.DataFrame],
    *,
    unit: PrivacyUnit,
    truth: NDArray | None = None,
) -> str:
    """Return an HTML table with one row for each of q districts."""
    heads = [[name] for name in names]
    empty = "No release yet: press Build."
    return _table(["District"], heads if columns else [], columns, unit, truth, empty)


def _table(
    first: list[str],
    heads: Sequence[Sequence[str | Cell]],
    columns: Mapping[str, pd.DataFrame],
    unit: PrivacyUnit,
    truth: NDArray | None,
    empty: str,
) -> str:
    """Return an HTML table of released and true counts, or with the text ``empty``.

    ``first`` has the headings before the counts, and ``heads`` the cells below these headings.
    """
    names = [*first, *([] if truth is None else [Cell("Truth", _TRUTH)]), *columns]
    rows = [[*head, *_counts(k, columns, truth)] for k, head in enumerate(heads)]
    nothing = [[Cell(empty, {"colspan": str(len(names))})]]
    caption = f"Released counts of each {first[0].lower()}: {unit.counted}"
    table = html_table(names, rows or nothing, caption=caption, kind="snhkit-answers")
    return str(table) + (_notes(columns, unit) if rows and columns else "")


def _notes(columns: Mapping[str, pd.DataFrame], unit: PrivacyUnit) -> str:
    """Return HTML with the meaning of the intervals, and the reasons why some are unknown."""
    about = dict.fromkeys(frame.attrs["intervals"] for frame in columns.values())
    said = " ".join(filter(None, [unit.counting, *about]))
    return f'<p class="snhkit-soft">{html.escape(said)}</p>'


def _box_head(k: int, boxes: RangeQueries, sizes_m: tuple[float, float] | None) -> list[str | Cell]:
    side = boxes.region.side_m
    west, south = boxes.x[k], boxes.y[k]
    east, north = west + boxes.width[k], south + boxes.height[k]
    size = Markup("{:,.0f} × {:,.0f}").format(boxes.width[k], boxes.height[k])
    if min(west, south) < 0 or max(east, north) > side:
        size += " (partly outside the region)"
    if sizes_m is not None and not all(
        sizes_m[0] * (1 - _SLACK) <= side <= sizes_m[1] * (1 + _SLACK)
        for side in (boxes.width[k], boxes.height[k])
    ):
        size += Markup("<small>not {:g} to {:g} m</small>").format(*sizes_m)
    return [Cell(str(k + 1), {"data-box": str(k)}), size]


def _counts(k: int, columns: Mapping[str, pd.DataFrame], truth: NDArray | None) -> list[str | Cell]:
    row: list[str | Cell] = [] if truth is None else [Cell(number(truth[k]), _TRUTH)]
    for frame in columns.values():
        count, low, high = (float(frame[name].iloc[k]) for name in ("count", "low", "high"))
        told, known = count_texts(count, low, high)
        reason = Markup(' title="{}"').format(frame.attrs["intervals"]) if not known else ""
        small = Markup("<small{}>{}</small>").format(reason, known or "interval not known")
        row.append(Markup("{}{}").format(told, small))
    return row


def ledger_panel(ledger: Ledger) -> str:
    """Return HTML with the ledger, and a bar that shows each entry's part of the budget."""
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
