"""An HTML page of a release that may be published: a map, counts of districts, and the card."""

from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.privacy import written
from snhkit.release.intervals import unmeasured
from snhkit.viz.maps.districts import Districts
from snhkit.viz.reports.page import map_page, maps, page, paragraph, section, table, wide

if TYPE_CHECKING:
    from snhkit.release import Release

__all__ = ["public_html"]

_LEVEL = "90 %"
_HOW_TO_READ = (
    "Noise was added to every count, to hide {unit}. Counts are estimates: they can be too large, "
    "too small, or below zero where nobody was. Epsilon, {epsilon}, measures how well the noise "
    "hides: the smaller, the better."
)
_INTERVAL = (
    f"The interval contains the true count in about {_LEVEL} of cases. The interval allows for the "
    "noise and for records that are spread unevenly inside cells. The intervals are estimates from "
    "public data of cities, not guarantees. If an interval reaches down to 0, the count does not "
    "show that anybody was there, and the table gives no count."
)
_NO_INTERVAL = "Small counts may be noise only."
_NOT_MEASURED = (
    "The errors of the counts were not measured, since measuring them would reveal something about "
    "the records. Nothing on this page was computed from the records, except from the measurements "
    'that are listed above under "Paid for". Who is missing from the records, and why, was not '
    "measured either. Counts are numbers of records, not of people, and do not cover places or "
    "times outside the file."
)


def public_html(
    release: "Release", districts: Districts | None = None, *, title: str, about: str = ""
) -> str:
    """Return an HTML page for the publication of a release; the page needs no other files.

    Parameters
    ----------
    release : Release
        The release. The page shows nothing else that depends on private records.
    districts : Districts, optional
        Polygons to list with their counts and intervals.
    title : str
        The page's heading.
    about : str
        A sentence on the origin of the records, written by the publisher.

    Returns
    -------
    str
        HTML without references to other files or addresses.

    Raises
    ------
    InputError
        If the release must not be published, because its noise came from a seed, or because its
        method is for teaching only.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.UniformGrid(), epsilon=0.5)
    >>> public_html(release, title="Fargo")[:15]
    '<!doctype html>'
    """
    if warning := release.card().get("Warning"):
        raise InputError(f"This release must not be published: {warning}")
    epsilon = written(release.epsilon)
    if release.delta:
        epsilon += f" at delta {written(release.delta)}"
    told = _HOW_TO_READ.format(unit=release.unit.sentence, epsilon=epsilon)
    name = f"{release.method}, epsilon {epsilon}"
    parts = [
        section("How to read this page", paragraph(told)),
        section("Released counts on the map", maps({name: release})),
    ]
    if districts is not None:
        parts.append(section("Districts", *_districts(release, districts)))
    card = wide(Markup(release._repr_html_()), "ledger")  # noqa: S704 - escaped already
    parts += [
        section("What was released, and at what price", card),
        section("What was not measured", paragraph(_NOT_MEASURED)),
    ]
    return page(title, about, [], parts)


def _districts(release: "Release", districts: Districts) -> list[Markup]:
    """Return the map and the table of districts, and a paragraph on their intervals."""
    counts, bounds = districts.answers(release)
    rows = [
        [label, _density(density, share), *_told(count, interval, share)]
        for label, density, share, count, interval in zip(
            districts.titles,
            districts.density(counts),
            districts.share,
            counts,
            bounds,
            strict=True,
        )
    ]
    shown = table(["District", "per km²", "Records", f"{_LEVEL} interval"], rows)
    unknown = unmeasured(release)
    return [
        map_page(districts.map(release)),
        shown,
        paragraph(f"{unknown} {_NO_INTERVAL}" if unknown else _INTERVAL),
    ]


def _density(density: float, share: float) -> str:
    return "" if share <= 0 else f"{density:,.0f}"


def _told(count: float, interval: NDArray[np.float64], share: float) -> tuple[str, str]:
    """Return a count and its interval as texts, without the count if the interval contains 0."""
    if share <= 0:
        return "not counted", ""
    low, high = interval
    if not np.isfinite(low):
        return f"{count + 0:,.0f}", "not known"
    if low <= 0:
        return "too few to tell", f"0 to {high:,.0f}"
    return f"{count:,.0f}", f"{low:,.0f} to {high:,.0f}"
