"""An HTML page with the released counts of boxes, which shows released values only."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from snhkit.geometry import RangeQueries
from snhkit.markup import count_texts
from snhkit.privacy import Ledger
from snhkit.release import Release
from snhkit.viz.reports.page import (
    maps,
    page,
    paragraph,
    program,
    section,
    shown_as_here,
    table,
    titled,
)


def answers_html(
    releases: Mapping[str, Release],
    boxes: RangeQueries | None,
    ledger: Ledger,
    *,
    title: str,
    about: str,
    code: str = "",
) -> str:
    """Return a page of counts, map, cards, ledger and, if given, ``code`` that repeats them."""
    warnings = {name: release.card().get("Warning") for name, release in releases.items()}
    counted = "; ".join(dict.fromkeys(release.unit.counted for release in releases.values()))
    parts = [
        section(f"Counts of each box: {counted}", *_answers(releases, boxes)),
        section("On the map", maps(releases, boxes)),
        section("The releases", *(titled(name, shown_as_here(r)) for name, r in releases.items())),
        section("What was spent", shown_as_here(ledger)),
    ]
    if code:
        parts.append(section("The same in Python", program(code)))
    notes = [f"{name}: {warning}" for name, warning in warnings.items() if warning]
    return page(title, about, notes, parts)


def _answers(releases: Mapping[str, Release], boxes: RangeQueries | None) -> list[Markup]:
    """Return a table of each release's answers with intervals, and a note on these."""
    if boxes is None or not len(boxes):
        return [paragraph("No box was drawn.")]
    columns = [
        name if "ε = " in name else f"{name}, {release.price}" for name, release in releases.items()
    ]
    frames = [release.estimate(boxes) for release in releases.values()]
    rows = [
        [
            k + 1,
            f"{boxes.width[k]:,.0f} × {boxes.height[k]:,.0f}",
            *(_count(frame.iloc[k]) for frame in frames),
        ]
        for k in range(len(boxes))
    ]
    counting = (release.unit.counting for release in releases.values())
    said = dict.fromkeys([*counting, *(frame.attrs["intervals"] for frame in frames)])
    return [table(["Box", "Metres", *columns], rows), paragraph(" ".join(filter(None, said)))]


def _count(row: Any) -> str:
    """Return a count as text, with its interval in brackets."""
    count, low, high = (float(row[of]) for of in ("count", "low", "high"))
    told, ends = count_texts(count, low, high)
    return f"{told} ({ends or 'interval not known'})"
