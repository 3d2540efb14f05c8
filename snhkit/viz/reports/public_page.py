"""An HTML page of a release that may be published: a map, counts of districts, and the card."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

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

__all__ = ["Imprint", "public_html"]

_LEVEL = "90 %"
_LONGEST = 300  # characters of a text in an imprint
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


@dataclass(frozen=True)
class Imprint:
    """What a publisher says of a page; the title is required, and nothing comes from a file.

    Parameters
    ----------
    title : str
        The heading, such as "Taxi trips in San Francisco".
    subject : str
        What one record is, such as "start of a taxi trip".
    owner, period, contact : str
        Who publishes the page, when the records were collected, and whom readers may ask.

    Raises
    ------
    InputError
        If there is no title, or a text is longer than 300 characters.

    Examples
    --------
    >>> Imprint("Taxi trips", period="May 2026").lines
    {'Period': 'May 2026'}
    """

    title: str
    subject: str = ""
    owner: str = ""
    period: str = ""
    contact: str = ""

    def __post_init__(self) -> None:
        for part in fields(self):
            text = " ".join(str(getattr(self, part.name)).split())
            if len(text) > _LONGEST:
                raise InputError(f"{part.name}: at most {_LONGEST} characters, not {len(text)}.")
            object.__setattr__(self, part.name, text)
        if not self.title:
            raise InputError("A page needs a title: write what was counted, where and when.")

    @classmethod
    def typed(cls, facts: Mapping[str, Any]) -> Self:
        """Return the imprint that a form holds; unknown fields are ignored."""
        known = {part.name: str(facts.get(part.name, "")) for part in fields(cls)}
        return cls(**known)

    @property
    def lines(self) -> dict[str, str]:
        """The texts that were given besides the title, by their headings."""
        heads = {"subject": "One record", "owner": "Published by", "period": "Period",
                 "contact": "Contact"}  # fmt: skip
        return {head: text for name, head in heads.items() if (text := getattr(self, name))}


def public_html(release: "Release", districts: Districts | None, imprint: Imprint) -> str:
    """Return an HTML page for the publication of a release; the page needs no other files.

    Parameters
    ----------
    release : Release
        The release. The page shows nothing else that depends on private records.
    districts : Districts, optional
        Polygons to list with their counts and intervals.
    imprint : Imprint
        Title, subject, owner, period and contact, as the publisher gives them.

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
    >>> public_html(release, None, Imprint("Fargo"))[:15]
    '<!doctype html>'
    """
    if warning := release.card().get("Warning"):
        raise InputError(f"This release must not be published: {warning}")
    epsilon = written(release.epsilon)
    if release.delta:
        epsilon += f" at delta {written(release.delta)}"
    how = _HOW_TO_READ.format(unit=release.unit.sentence, epsilon=epsilon)
    how = f"{how} {release.unit.counting}".strip()
    name = f"{release.method}, epsilon {epsilon}"
    parts = [
        section("How to read this page", paragraph(how)),
        section("Released counts on the map", maps({name: release})),
    ]
    if districts is not None:
        parts.append(section("Districts", *_districts(release, districts)))
    card = wide(Markup(release._repr_html_()), "ledger")  # noqa: S704 - escaped already
    parts += [
        section("What was released, and at what price", card),
        section("What was not measured", paragraph(_NOT_MEASURED)),
    ]
    about = " · ".join(f"{head}: {text}" for head, text in imprint.lines.items())
    return page(imprint.title, about, [], parts)


def _districts(release: "Release", districts: Districts) -> list[Markup]:
    """Return the map and the table of districts, and a paragraph on their intervals."""
    counts, bounds = districts.answers(release)
    rows = [
        [label, *_reported(count, density, interval, share)]
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


def _reported(
    count: float, density: float, interval: NDArray[np.float64], share: float
) -> tuple[str, str, str]:
    """Return density, count and interval as texts; only what the interval supports is given."""
    if share <= 0:
        return "", "not counted", ""
    low, high = interval
    if not np.isfinite(low):
        return f"{density:,.0f}", f"{count + 0:,.0f}", "not known"
    if low <= 0:
        return "", f"below about {high:,.0f}", f"0 to {high:,.0f}"
    return f"{density:,.0f}", f"{count:,.0f}", f"{low:,.0f} to {high:,.0f}"
