"""The list of releases, and the table of measured or (for real records) expected errors."""

import html
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from snhkit.errors import InputError
from snhkit.geometry import RangeQueries
from snhkit.markup import Cell, error_text, html_table, percent
from snhkit.methods import key_of
from snhkit.metrics import band_name
from snhkit.planning.expected import expected_error
from snhkit.privacy import written
from snhkit.viz.figures.style import method_styles
from snhkit.widgets import teaching
from snhkit.widgets.session import Built, Session

_UNKNOWN = (
    "The expected errors of these releases are unknown, since such releases were not measured on "
    "public data of cities. The errors on these records are not shown, because measuring them "
    "would cost epsilon."
)
_EXPECTED = (
    "These errors are estimates from public data of cities and were not measured on these records. "
    "The errors of 8 of 10 places are expected to lie between the bounds in grey."
)
_ANYWHERE = "squares of the first column's sizes, placed uniformly in the region"


def built_line(session: Session) -> str:
    """Return HTML that lists the releases with their build times, and the budget's state."""
    ledger = session.dataset.ledger
    if not session.built:
        return (
            '<p class="snhkit-soft">Nothing is built yet. Choose methods and epsilon, and press '
            f"Build. The budget has ε = {written(ledger.remaining)} left.</p>"
        )
    built = list(session.built.values())
    took = [one.seconds for one in built if one.seconds is not None]
    each = ", ".join(
        f"{one.name}" + ("" if one.seconds is None else f" in {_seconds(one.seconds)}")
        for one in built
    )
    total = f" in {_seconds(sum(took))}" if took else ""
    said = "1 release" if len(built) == 1 else f"{len(built)} releases"
    return (
        f'<p role="status" class="snhkit-built" title="{html.escape(each)}"><b>{said}{total}</b>: '
        f"spent {written(ledger.spent)}, left {written(ledger.remaining)}. {html.escape(each)}.</p>"
    )


def verdict(session: Session, sizes_m: tuple[float, float], *, truth: bool) -> str:
    """Return HTML with one row per release: a bar for its error, and its errors by box size.

    The errors are measured if ``truth`` may be shown, else expected from public data of cities.
    """
    low, high = sizes_m
    if not session.built or not 0 < low <= high <= session.region.side_m:
        return ""
    if not truth:
        return _expected(session, sizes_m)
    bands, found = teaching.measured(session, sizes_m)
    expected = {name: _expected_of(session, one, sizes_m) for name, one in session.built.items()}
    lines = {
        name: _Line(
            one.relative,
            _beside(expected[name]),
            [error_text(one.anywhere), error_text(one.adds_up)],
        )
        for name, one in found.items()
    }
    return _table(
        "Mean relative error of squares around records: measured, and expected from public cities",
        bands,
        lines,
        {
            "records, anywhere": f"Mean error, in records, of {_ANYWHERE}",
            "tiles / n": "Sum of counts of all 100 m tiles / number of records; 1 is right",
        },
    )


def best_first(session: Session, sizes_m: tuple[float, float]) -> list[str]:
    """Return the names of all releases by their expected errors, the smallest first."""
    found = {name: _expected_of(session, one, sizes_m) for name, one in session.built.items()}
    return sorted(found, key=lambda name: (found[name] or (np.inf,))[0])


class _Line(NamedTuple):
    """A row of the table of errors."""

    errors: Sequence[float]  # the mean relative error in each band of sizes
    range: str  # the first error's bounds, or what was expected; empty if unknown
    rest: Sequence[str]  # the columns after the errors


def _expected(session: Session, sizes_m: tuple[float, float]) -> str:
    """Return HTML with expected errors, which come from public data and not from the records."""
    bands = teaching.bands_of(session, sizes_m)
    lines = {}
    for name, one in session.built.items():
        errors = [_expected_of(session, one, band) for band in bands]
        if errors[0] is not None:
            _, low, high, records = errors[0]
            lines[name] = _Line(
                [np.nan if each is None else each[0] for each in errors],
                f"{percent(low)} to {percent(high)}",
                [error_text(records)],
            )
    if not lines:
        return f'<p class="snhkit-soft">{_UNKNOWN}</p>'
    heads = {"records, anywhere": f"Expected error, in records, of {_ANYWHERE}"}
    table = _table("Expected mean relative error of squares around records", bands, lines, heads)
    return f'{table}<p class="snhkit-soft">{_EXPECTED}</p>'


@lru_cache(maxsize=512)
def _expected_of(
    session: Session, one: Built, band: tuple[float, float]
) -> tuple[float, float, float, float] | None:
    """Return the expected relative error, its bounds, and the error in records; None if unknown."""
    if one.by:  # the table of expected errors is of one map
        return None
    whole = session.region.side_m
    everything = RangeQueries(session.region, [0], [0], [whole], [whole])
    # n is public or noisy. If it is None, the released count of the whole region takes its place.
    n = one.release.n or round(float(one.release.answer(everything)[0]))
    unit = one.release.unit
    try:
        row = expected_error(
            key_of(one.release) or "",
            n=max(n, 1),
            epsilon=one.release.epsilon,
            sizes_m=band,
            public=session.public,
            region=session.region,
            unit=unit.kind,
            max_per_user=unit.max_per_user,
        ).iloc[0]
    except InputError:  # not in the table of expected errors
        return None
    return row.rel_error, row.rel_error_low, row.rel_error_high, row.abs_error_anywhere


def _table(
    caption: str,
    bands: Sequence[tuple[float, float]],
    lines: Mapping[str, _Line],
    heads: Mapping[str, str],
) -> str:
    """Return an HTML table of errors with a bar for each error in the first band.

    The rows are sorted by the error in the first band, smallest first.
    """
    order = sorted(lines, key=lambda name: lines[name].errors[0])
    styles = method_styles(order)
    top = max(lines[name].errors[0] for name in order) or 1.0
    bar, more = {"class": "snhkit-bar"}, {"class": "snhkit-more"}  # more: not on telephones
    rows = [
        [
            name,
            Cell(_bar(lines[name], top, styles[name].colour), bar),
            *(Cell(percent(error), more) for error in lines[name].errors[1:]),
            *lines[name].rest,
        ]
        for name in order
    ]
    first, *others = map(band_name, bands)
    tips = [Cell(head, {"title": tip}) for head, tip in heads.items()]
    columns = ["Release", Cell(first, bar), *(Cell(other, more) for other in others), *tips]
    return html_table(columns, rows, caption=caption, kind="snhkit-verdict")


def _bar(line: _Line, top: float, colour: str) -> Markup:
    """Return the bar of a release's first error, whose length is relative to the largest."""
    width = f"calc((100% - 52px) * {line.errors[0] / top:.3f})"
    range_ = Markup("<small>{}</small>").format(line.range) if line.range else ""
    return Markup('<span style="width:{};background:{}"></span><b>{}</b>{}').format(
        width, colour, percent(line.errors[0]), range_
    )


def _beside(expected: tuple[float, float, float, float] | None) -> str:
    """Return an expected error and its bounds as text, to show beside a measured error."""
    if expected is None:
        return "expected: not known"
    error, low, high, _ = expected
    return f"expected {percent(error)} ({percent(low)} to {percent(high)})"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
