"""HTML tables and numbers, as ledgers, releases, reports and the explorer show them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape


def number(value: float, width: float = math.inf) -> str:
    """Return a count as text: whole below 1,000, else to three figures, as ``counts.js`` does.

    More figures are given if the count lies in an interval so narrow that these would hide it.
    """
    size = abs(value)
    if size < 1000:
        shown = math.floor(value + 0.5)
    else:
        finest = math.log10(max(min(width, size), 1))
        step = 10 ** min(math.floor(math.log10(size)) - 2, math.floor(finest))
        shown = math.copysign(math.floor(size / step + 0.5) * step, value)
    return f"{shown:,.0f}".replace("-", "\u2212")


def count_texts(count: float, low: float, high: float) -> tuple[str, str]:
    """Return a count and the ends of its interval as texts; the second is empty if unknown."""
    if not math.isfinite(low):
        return number(count), ""
    width = high - low
    return number(count, width), f"{number(low, width)} to {number(high, width)}"


def error_text(value: float) -> str:
    """Return an error to two figures as text; empty if it is unknown."""
    return f"{float(f'{value:.2g}'):,g}" if math.isfinite(value) else ""


def percent(share: float) -> str:
    """Return a share to two figures as a percentage; empty if it is unknown."""
    return f"{error_text(100 * share)} %" if math.isfinite(share) else ""


class Cell(NamedTuple):
    """A cell of a table with HTML attributes, such as its class."""

    content: str
    attributes: Mapping[str, str]


def html_table(
    columns: Sequence[str | Cell],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    kind: str = "",
    groups: Sequence[tuple[str, int]] = (),
) -> Markup:
    """Return an HTML table whose first column names its rows; texts but ``Markup`` are escaped.

    ``groups`` are headings above those of the columns, each with the number of columns below.
    """
    above = "".join(_cell("th", text, scope="colgroup", colspan=str(span)) for text, span in groups)
    names = "".join(_cell("th", name, scope="col") for name in columns)
    head = (f'<tr class="groups">{above}</tr>' if above else "") + f"<tr>{names}</tr>"
    return Markup(  # noqa: S704 - every text was escaped
        (f'<table class="{escape(kind)}">' if kind else "<table>")
        + (f"<caption>{escape(caption)}</caption>" if caption else "")
        + (f"<thead>{head}</thead>" if names else "")
        + f"<tbody>{''.join(map(_row, rows))}</tbody></table>"
    )


def _row(row: Sequence[object]) -> str:
    """Return a row, whose first cell is a heading unless it is alone."""
    first = [_cell("th", row[0], scope="row")] if len(row) > 1 else []
    rest = [_cell("td", cell) for cell in row[len(first) :]]
    return f"<tr>{''.join(first + rest)}</tr>"


def _cell(tag: str, given: object, **more: str) -> str:
    content, attributes = given if isinstance(given, Cell) else (given, {})
    told = "".join(f' {name}="{escape(text)}"' for name, text in {**more, **attributes}.items())
    return f"<{tag}{told}>{escape(content)}</{tag}>"
