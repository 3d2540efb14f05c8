"""The tables of a comparison, as HTML and as text for a terminal of 80 columns."""

from collections.abc import Iterable, Sequence

import pandas as pd
from markupsafe import Markup

from snhkit.experiment.run import Comparison
from snhkit.methods import title
from snhkit.viz.reports.page import table

__all__ = ["errors_html", "sizes_html", "table_for_people", "terminal_tables"]


def table_for_people(table: pd.DataFrame) -> pd.DataFrame:
    """Return a comparison's table for readers: numbers as text, and units in the headings."""
    return pd.DataFrame(
        {
            "method": [title(name) for name in table["method"]],
            "epsilon": [f"{e:g}" for e in table["epsilon"]],
            "mean relative error": [f"{e:.3f}" for e in table["rel_error"]],
            "mean error (records)": [_records(e) for e in table["abs_error"]],
            "mean error anywhere (records)": [_records(e) for e in table["abs_error_anywhere"]],
            "sum of tiles / n": [_sum(e) for e in table["adds_up"]],
            "build (s)": [f"{s:,.2f}" for s in table["build_s"]],
            "query (µs)": [f"{t:,.1f}" for t in table["query_us"]],
            "bytes": [f"{b:,}" for b in table["bytes"]],
        }
    )


def errors_html(comparison: Comparison) -> Markup:
    """Return an HTML table of errors, sums of tiles, times and sizes of a comparison."""
    shown = table_for_people(comparison.table)
    return table(list(shown.columns), shown.to_numpy().tolist())


def sizes_html(comparison: Comparison) -> Markup:
    """Return a comparison's errors around records and anywhere, by size band, as an HTML table."""
    sizes = list(dict.fromkeys(comparison.sizes["size"]))
    groups = [
        ("", 2),
        ("relative error, around records", len(sizes)),
        ("error in records, anywhere", len(sizes)),
    ]
    rows = [
        [*head, *relative, *absolute]
        for head, relative, absolute in zip(
            _heads(comparison),
            _by_band(comparison.sizes, "rel_error"),
            _by_band(comparison.sizes, "abs_error_anywhere"),
            strict=True,
        )
    ]
    return table(["method", "epsilon", *sizes, *sizes], rows, groups)


def terminal_tables(comparison: Comparison) -> str:
    """Return a comparison's errors, errors by size band, and costs as text of 80 columns."""
    rows, heads = comparison.table, _heads(comparison)
    errors = [
        [*head, f"{relative:.3f}", _records(around), _records(anywhere), _sum(total)]
        for head, relative, around, anywhere, total in zip(
            heads,
            rows["rel_error"],
            rows["abs_error"],
            rows["abs_error_anywhere"],
            rows["adds_up"],
            strict=True,
        )
    ]
    costs = [
        [*head, f"{seconds:,.2f}", f"{query:,.1f}", f"{size:,}"]
        for head, seconds, query, size in zip(
            heads, rows["build_s"], rows["query_us"], rows["bytes"], strict=True
        )
    ]
    said = {
        "Mean errors of squares around records, relative and in records; mean errors, in\n"
        "records, of squares of the same sizes anywhere; sums of all 100 m tiles / n": _aligned(
            ["method", "epsilon", "relative", "records", "anywhere", "tiles / n"], errors
        )
    }
    sizes = list(dict.fromkeys(comparison.sizes["size"]))
    if sizes:
        blocks = []
        for value, name in (
            ("rel_error", "relative, around records"),
            ("abs_error_anywhere", "in records, anywhere"),
        ):
            blocks.append([name, *[""] * (len(sizes) + 1)])
            cells = _by_band(comparison.sizes, value)
            blocks += [
                [f"  {head[0]}", head[1], *row] for head, row in zip(heads, cells, strict=True)
            ]
        by_size = _aligned(["", "epsilon", *sizes], blocks)
        said["Mean errors of squares by the length of their sides"] = by_size
    said["Costs"] = _aligned(["method", "epsilon", "build (s)", "query (µs)", "bytes"], costs)
    return "\n\n".join(f"{caption}\n{lines}" for caption, lines in said.items())


def _heads(comparison: Comparison) -> list[list[str]]:
    """Return the title of the method and the epsilon of each release, as texts."""
    return [[title(name), f"{epsilon:g}"] for name, epsilon in comparison.releases]


def _by_band(sizes: pd.DataFrame, value: str) -> list[list[str]]:
    """Return the errors in the column ``value`` as texts, with one row for each release."""
    written = _records if value.startswith("abs") else "{:.3f}".format
    bands = max(len(set(sizes["size"])), 1)
    cells = [written(number) for number in sizes[value]]
    return [cells[start : start + bands] for start in range(0, len(cells), bands)]


def _aligned(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return lines of text: first column aligned to the left, others to the right.

    If only the first cell of a row has a text, the cell is a heading and does not widen the column.
    """
    every = [list(columns), *map(list, rows)]
    alone = [not any(row[1:]) for row in every]
    widths = [
        max(len(row[k]) for row, heading in zip(every, alone, strict=True) if not heading)
        for k in range(len(columns))
    ]
    lines = []
    for row in every:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _records(error: float) -> str:
    """Return a number of records as text: two decimals below 1, one below 100, none from 100."""
    if abs(error) >= 100:
        return f"{error:,.0f}"
    return f"{error:.1f}" if abs(error) >= 1 else f"{error:.2f}"


def _sum(total: float) -> str:
    """Return a sum of answers divided by n as text: three decimals below 10, otherwise one."""
    return f"{total:.3f}" if abs(total) < 10 else f"{total:,.1f}"
