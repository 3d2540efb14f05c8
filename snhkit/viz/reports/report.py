"""A comparison of methods: tables for a terminal, and an HTML page that needs no network."""

from collections.abc import Iterable, Sequence

import pandas as pd
from markupsafe import Markup

from snhkit.experiment import OWNER_ONLY
from snhkit.experiment.compare import Comparison
from snhkit.methods import title as title_of
from snhkit.viz.figures.panels import method_panels
from snhkit.viz.reports.page import maps, page, paragraph, picture, section, shown_as_here, table

_REPLAYABLE = (
    "The noise came from a seed: anyone who knows the seed can remove the noise. Do not publish "
    "the releases."
)
_MEASURE = (
    "Mean relative error of the queries; less is better. The relative error of a query is "
    "|released count - true count| / max(true count, 0.1 % of the records)."
)
_AROUND = (
    "Mean relative error of squares centred on records, by the length of their sides. Most such "
    "squares hold many records."
)
_ANYWHERE = (
    "Mean absolute error, in records, of squares of the same sizes placed uniformly in the region. "
    "Most such squares hold few records or none, so errors here show whether a method places "
    "records on empty land."
)
_ADDS_UP = (
    "The sum of the answers to all tiles of 100 m, divided by the number of records. The tiles "
    "cover the region without overlapping, so the right value is 1, up to noise. If the value of a "
    "method is far from 1, do not add up the method's answers to small boxes."
)
_NO_BAND = "Not measured: the region is smaller than the squares of every range of sizes."


def report_html(comparison: Comparison, *, title: str, about: str) -> str:
    """Return an HTML page of a comparison: tables, plots, a map and the ledger, for the owner."""
    shown = max(epsilon for _, epsilon in comparison.releases)
    releases = {
        title_of(name): release
        for (name, epsilon), release in comparison.releases.items()
        if epsilon == shown
    }
    notes = [OWNER_ONLY, *comparison.cautions]
    if any(release.replayable for release in releases.values()):
        notes.append(_REPLAYABLE)
    errors = comparison.table.assign(method=comparison.table["method"].map(title_of))
    sums = method_panels(errors, "adds_up", label="sum of tiles / n", right=1.0)
    parts = [
        section(
            "Errors, time and size",
            errors_html(comparison),
            picture(method_panels(errors, "rel_error", label="mean relative error"), _MEASURE),
        ),
        *_by_size(comparison),
        section("Sums of all tiles", picture(sums, _ADDS_UP)),
        section(f"Released counts, at epsilon {shown:g}", maps(releases)),
        section("What was spent", shown_as_here(comparison.dataset.ledger)),
    ]
    return page(title, about, notes, parts)


def _by_size(comparison: Comparison) -> list[Markup]:
    """Return the sections on errors by size band (range of sides): a table and two figures."""
    if comparison.sizes.empty:
        return [section("Errors by size of square", paragraph(_NO_BAND))]
    sizes = comparison.sizes.assign(method=comparison.sizes["method"].map(title_of))
    around = method_panels(sizes, "rel_error", label="mean relative error", panel="size")
    anywhere = method_panels(
        sizes, "abs_error_anywhere", label="mean error in records", panel="size"
    )
    return [
        section("Errors by size of square", sizes_html(comparison)),
        section("Errors around records", picture(around, _AROUND)),
        section("Errors anywhere", picture(anywhere, _ANYWHERE)),
    ]


def table_for_people(table: pd.DataFrame) -> pd.DataFrame:
    """Return a comparison's table for readers: numbers as text, and units in the headings."""
    return pd.DataFrame(
        {
            "method": [title_of(name) for name in table["method"]],
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
    relative, absolute = (_by_band(comparison, of) for of in ("rel_error", "abs_error_anywhere"))
    rows = [[*one, *other[2:]] for one, other in zip(relative, absolute, strict=True)]
    return table(["method", "epsilon", *sizes, *sizes], rows, groups)


def terminal_tables(comparison: Comparison) -> str:
    """Return a comparison's errors, errors by size band, and costs as text of 80 columns."""
    rows = table_for_people(comparison.table).to_numpy().tolist()
    said = {
        "Mean errors of squares around records, relative and in records; mean errors, in\n"
        "records, of squares of the same sizes anywhere; sums of all 100 m tiles / n": _aligned(
            ["method", "epsilon", "relative", "records", "anywhere", "tiles / n"],
            [row[:6] for row in rows],
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
            blocks += [[f"  {name}", *row] for name, *row in _by_band(comparison, value)]
        by_size = _aligned(["", "epsilon", *sizes], blocks)
        said["Mean errors of squares by the length of their sides"] = by_size
    costs = [[*row[:2], *row[6:]] for row in rows]
    said["Costs"] = _aligned(["method", "epsilon", "build (s)", "query (µs)", "bytes"], costs)
    return "\n\n".join(f"{caption}\n{lines}" for caption, lines in said.items())


def _by_band(comparison: Comparison, value: str) -> list[list[str]]:
    """Return a row for each release: title, epsilon, and the errors ``value`` of its bands."""
    written = _records if value.startswith("abs") else "{:.3f}".format
    bands = len(set(comparison.sizes["size"]))
    cells = [written(number) for number in comparison.sizes[value]]
    return [
        [title_of(name), f"{epsilon:g}", *cells[k * bands : (k + 1) * bands]]
        for k, (name, epsilon) in enumerate(comparison.releases)
    ]


def _aligned(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return lines of aligned text; a row with one text is a heading, which widens no column."""
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
