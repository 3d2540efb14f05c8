"""A ledger as text, as HTML and as a DataFrame."""

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from snhkit.markup import html_table
from snhkit.privacy.budget import Budget, written
from snhkit.privacy.entry import Entry, remaining, spent
from snhkit.privacy.spend import total
from snhkit.privacy.unit import PrivacyUnit

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("#", "when (UTC)", "who", "epsilon", "state", "bought")
_RIGHT_ALIGNED = (0, 3)  # columns of numbers
# White on red is legible in light and dark notebook themes.
_RED = "background:#b3261e;color:#fff;padding:0 .4em;border-radius:.3em"


def as_text(budget: Budget, entries: tuple[Entry, ...], unit: PrivacyUnit | None = None) -> str:
    """Return a ledger's summary and a table of its entries as text with aligned columns."""
    rows = [_COLUMNS, *(_cells(entry) for entry in entries)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            cell.rjust(width) if k in _RIGHT_ALIGNED else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    head = [summary(budget, entries), *([] if unit is None else [_hidden(unit, budget)])]
    return "\n".join([*head, *(lines if entries else [])])


def as_html(budget: Budget, entries: tuple[Entry, ...], unit: PrivacyUnit | None = None) -> str:
    """Return a ledger's entries as an HTML table, whose caption is the ledger's summary."""
    hidden = "" if unit is None else Markup("<br>{}").format(_hidden(unit, budget))
    caption = escape(summary(budget, entries)) + hidden
    return html_table(_COLUMNS, map(_marked, entries), caption=caption)


def as_frame(entries: tuple[Entry, ...]) -> "pd.DataFrame":
    """Return a ledger's entries as a DataFrame, with epsilon, delta and rho as floats."""
    import pandas as pd

    columns = [
        "number", "when", "who", "epsilon", "delta", "rho", "state", "replayable", "bought",
        "reason",
    ]  # fmt: skip
    rows = [
        (e.number, e.when, e.who, float(e.epsilon), float(e.delta), float(e.rho), e.state,
         e.replayable, _bought(e), e.reason)
        for e in entries
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def summary(budget: Budget, entries: tuple[Entry, ...]) -> str:
    """Return one line of text with a ledger's budget, the epsilon spent and the epsilon left."""
    if budget.delta:
        used, left = spent(budget, entries), remaining(budget, budget.rho, entries)
        rho = total(entries).rho
        return (
            f"Privacy budget: epsilon {budget}, spent {float(used):.3g}, left {float(left):.3g} "
            f"(in zCDP: rho {float(budget.rho):.3g}, spent {float(rho):.3g})"
        )
    used = spent(budget, entries)
    left = written(budget.epsilon - used)
    delta = total(entries).delta
    impure = f"; and delta {written(delta)}: not pure" if delta else ""
    return f"Privacy budget: epsilon {budget}, spent {written(used)}, left {left}{impure}"


def _hidden(unit: PrivacyUnit, budget: Budget) -> str:
    """Return one line of text that names the unit of privacy that each release hides."""
    if unit.n_public and budget.delta:
        return f"n is public: each entry hides {unit.sentence}, at the epsilon on its release card"
    if unit.n_public:
        return f"n is public: each entry hides {unit.sentence}, at twice its epsilon"
    return f"Each entry hides {unit.sentence_for_any_bound}"


def _cells(entry: Entry) -> tuple[str, ...]:
    """Return the texts of an entry's table cells, one for each of ``_COLUMNS``."""
    state = entry.state + (f" ({entry.reason})" if entry.reason else "")
    return (
        str(entry.number),
        f"{entry.when:%Y-%m-%d %H:%M:%S}",
        entry.who,
        written(entry.epsilon) + (f", rho {float(entry.rho):.3g}" if entry.rho else ""),
        state + (", replayable" if entry.replayable else ""),
        _bought(entry),
    )


def _marked(entry: Entry) -> list[str]:
    """Return the texts of an entry's table cells; "replayable" is marked in red."""
    *others, state, bought = _cells(entry)
    if entry.replayable:
        plain = state.removesuffix(", replayable")
        state = Markup('{} <strong style="{}">replayable</strong>').format(plain, _RED)
    return [*others, state, bought]


def _bought(entry: Entry) -> str:
    """Return one line of text with the cost of each of an entry's measurements."""
    return "; ".join(map(str, entry.spends))
