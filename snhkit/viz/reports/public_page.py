"""An HTML page of a release for readers who were never told about it."""

import base64
import math
import os
import pathlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
import shapely
from markupsafe import Markup
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke

from snhkit.defaults import DEFAULT_LEVEL
from snhkit.districts.boxes import estimates_text
from snhkit.districts.districts import Districts, DistrictsLike, LocalDistricts
from snhkit.errors import InputError, printable
from snhkit.files import write_whole
from snhkit.geometry import Region
from snhkit.markup import count_texts, number
from snhkit.methods import METHODS, key_of, title_of
from snhkit.privacy import written
from snhkit.release import Release
from snhkit.release.intervals import meaning
from snhkit.release.polygon_model import PolygonModel
from snhkit.release.strata import StratifiedRelease
from snhkit.viz.figures.plots import surface_figure
from snhkit.viz.maps.districts import answers, density
from snhkit.viz.maps.surface import ColourScale, Surface, pictures
from snhkit.viz.reports.counts import Counts, ground, rings
from snhkit.viz.reports.page import picture
from snhkit.viz.reports.rendering import packed, rendered, script

_LONGEST = 300  # characters of a text in an imprint
_MOST_CELLS = 1_000  # along a side, where the counts of a page are computed for it
_TOO_FEW = (
    "Where an interval reaches down to 0, the number does not show that anybody was there, and "
    "only the upper end is given."
)
_NO_INTERVAL = "Small numbers may be noise only."
_SURE = 10.0  # the largest epsilon on the scale
_LEAST = 0.01
_SMOOTH_M = 250.0  # pictures average over squares of this side, in which cells' noise is small
_SEEN = 5.0  # noise scales that a square's count needs to be coloured


@dataclass(frozen=True)
class Imprint:
    """What a publisher says of a page; the title is required, and nothing comes from a file."""

    title: str
    subject: str = ""  # what one record is, such as "start of a taxi trip"
    owner: str = ""
    period: str = ""  # when the records were collected
    contact: str = ""

    def __post_init__(self) -> None:
        for part in fields(self):
            text = printable(" ".join(str(getattr(self, part.name)).split()))
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


def save_page(
    release: Release | StratifiedRelease,
    path: str | os.PathLike[str],
    *,
    title: str,
    districts: DistrictsLike | None = None,
    label: Hashable | None = None,
    subject: str = "",
    owner: str = "",
    period: str = "",
    contact: str = "",
) -> pathlib.Path:
    """Write an HTML page for the publication of a release; the page needs no other files.

    A reader finds what was counted, what may be concluded, a map on which boxes are counted by the
    page itself, the districts, the meaning of epsilon, and the release as a download. For maps by
    hour, weekday or kind, all of this is of their sum; the maps are shown side by side and can be
    played, and a line has the count of the box in each.

    Parameters
    ----------
    release : Release or StratifiedRelease
        What is published; the page costs no epsilon.
    path : str or path
        The file to write; a file that exists is replaced.
    title : str
        What was counted, where and when. No text of the page comes from a file of records.
    districts : GeoDataFrame, GeoSeries, path or Districts, optional
        Polygons in any CRS, whose counts the page lists.
    label : hashable, optional
        The column with the districts' names; by default, the index values are the names.
    subject, owner, period, contact : str, optional
        What one record is, who publishes the page, when records were collected, whom to ask.

    Returns
    -------
    pathlib.Path
        The file that was written.

    Raises
    ------
    InputError
        If the release must not be published, the title is empty, a text is too long, the districts
        are invalid, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.UniformGrid(), epsilon=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     snh.save_page(release, f"{folder}/trips.html", title="Trips in Fargo, 2026").name
    'trips.html'
    """
    imprint = Imprint(title, subject, owner, period, contact)
    written_of = page_writer(release.total().region, districts, label, imprint)
    return write_whole(path, written_of(release))


def page_writer(
    region: Region, districts: DistrictsLike | None, label: Hashable | None, imprint: Imprint
) -> Callable[[Release | StratifiedRelease], str]:
    """Return ``public_html`` for releases of a region, whose districts are read now."""
    shown = None if districts is None else Districts.of(districts, label).inside(region)
    return lambda made: public_html(made, shown, imprint)


def public_html(
    made: Release | StratifiedRelease, districts: LocalDistricts | None, imprint: Imprint
) -> str:
    """Return the page that ``save_page`` writes; InputError if it must not be published."""
    release = made.total()
    if warning := release.card().get("Warning"):
        raise InputError(f"This release must not be published: {warning}")
    frame = None if districts is None else answers(release, districts)
    rows = [] if districts is None or frame is None else _rows(districts, frame)
    epsilon = float(release.unit.neighbours_epsilon(release.epsilon, release.delta, release.rho))
    said = meaning(release) if frame is None else frame.attrs["intervals"]
    table = "" if frame is None else estimates_text(frame, ".csv")
    seen = _seen(release)
    return rendered(
        "public.html.j2",
        title=imprint.title,
        imprint=imprint.lines,
        unit=release.unit.sentence,
        counted=release.unit.counted,
        counting=release.unit.counting,
        epsilon=written(release.epsilon),
        sure=f"{100 / (1 + math.exp(-epsilon)):.3g} %",
        place=100 * _on_scale(epsilon),
        districts=rows,
        level=f"{100 * DEFAULT_LEVEL:g} %",
        example=_example(rows),
        about_intervals=f"{said} {_NO_INTERVAL if 'not known' in said else _TOO_FEW}",
        smooth=f"{_SMOOTH_M:g}",
        least=number(max(_least(release), 1)),
        still=_still(seen, release.region, districts),
        blank=not np.isfinite(seen.counts).any(),
        facts=_facts(release),
        strata=_frames(made) if isinstance(made, StratifiedRelease) else None,
        checksum=release.checksum,
        file=base64.b64encode(release.to_bytes()).decode("ascii"),
        table=base64.b64encode(table.encode()).decode("ascii"),
        **_drawn(made, districts),
    )


def _least(release: Release) -> float:
    """Return the count of a square that is more than noise, in records."""
    return _SEEN / release.record_epsilon


def _seen(release: Release) -> Surface:
    """Return the counts that have a colour in print; the others, which may be noise, are NaN."""
    if isinstance(release.model, PolygonModel):  # a district has little noise, and one colour
        surface, least = Surface.drawn(release), 0.0
    else:
        surface = Surface.drawn(release, min(_SMOOTH_M, release.region.side_m))
        least = _least(release)
    return Surface(surface.grid, np.where(surface.counts > least, surface.counts, np.nan))


def _still(seen: Surface, region: Region, districts: LocalDistricts | None) -> Markup:
    """Return the map with coasts, names and districts as a picture, for print and no scripts."""
    figure = surface_figure({"": seen}, colours="OrRd")
    around = ground(region)
    axis, side_km = figure.axes[0], region.side_m / 1000
    shapes = _outlines(districts)
    axis.set_facecolor("#d4e2ea")  # the sea, as in city.css
    for shape, fill, layer in (
        *((one, "#f4f3ef", -1) for one in around["land"]),
        *((one, "none", 1) for one in shapes),
    ):
        path = Path.make_compound_path(*(Path(np.reshape(ring, (-1, 2)) / 1000) for ring in shape))
        axis.add_patch(PathPatch(path, fc=fill, ec="#595959", lw=0.6, zorder=layer))
    for x, y, name in around["names"]:
        text = axis.text(x / 1000, y / 1000, name, ha="center", parse_math=False)
        text.set_path_effects([withStroke(linewidth=2, foreground="#fff")])
    axis.set(xlim=(0, side_km), ylim=(0, side_km))
    return picture(figure, "Where records were counted: the darker, the more.")


def _frames(made: StratifiedRelease) -> dict[str, Any]:
    """Return pictures of all strata on one colour scale, their labels, and all side by side."""
    surfaces = {label: Surface.drawn(release) for label, release in made.items()}
    drawn, scale = pictures(surfaces)
    figure = surface_figure(surfaces, columns=6)
    return {
        "name": made.by.name.replace("_", " and "),
        "labels": list(surfaces),
        "pictures": list(drawn.values()),
        "top": f"{scale.top:g} {scale.unit}",
        "still": picture(figure, f"Where records were counted, by {made.by.name}."),
    }


def _on_scale(epsilon: float) -> float:
    """Return the place of epsilon on a logarithmic scale from 0.01 to 10, from 0 to 1."""
    share = math.log(max(epsilon, 1e-9) / _LEAST) / math.log(_SURE / _LEAST)
    return min(max(share, 0.0), 1.0)


@dataclass(frozen=True)
class _Row:
    """A district on a page: its texts, and the ends of its bar as shares of the widest."""

    name: str
    count: str
    interval: str
    density: str
    low: float
    high: float
    size: float


def _rows(districts: LocalDistricts, frame: pd.DataFrame) -> list[_Row]:
    """Return the districts, the largest count first; those that are not counted come last."""
    told = frame[["count", "low", "high"]].to_numpy(float)
    top = max(float(np.nan_to_num(told).max(initial=1)), 1.0)
    rows = []
    per_km2 = density(districts, frame["count"])
    for k, (name, share) in enumerate(zip(districts.titles, districts.share, strict=True)):
        count, low, high = map(float, told[k])
        texts = _reported(count, per_km2[k], low, high, share)
        first, last = (max(count, 0.0) if math.isnan(end) else end for end in (low, high))
        size = count if share > 0 else -math.inf
        rows.append(_Row(name, *texts, 100 * first / top, 100 * last / top, size))
    return sorted(rows, key=lambda row: -row.size)


def _reported(
    count: float, density: float, low: float, high: float, share: float
) -> tuple[str, str, str]:
    """Return count, interval and density as texts; only what the interval supports is given."""
    if share <= 0:
        return "not counted", "", ""
    if not np.isfinite(low):
        return number(count), "not known", number(density)
    if low <= 0:
        return f"below about {number(high)}", count_texts(0, 0, high)[1], ""
    return *count_texts(count, low, high), number(density)


def _example(rows: list[_Row]) -> dict[str, _Row | None]:
    """Return districts for examples: one with a clear count, one with too few, two that overlap."""
    clear = [row for row in rows if row.interval and row.low > 0]
    few = [row for row in rows if row.count.startswith("below")]
    alike = [(one, other) for one, other in pairwise(clear) if one.low < other.high]
    one, other = alike[0] if alike else (None, None)
    return {
        "known": clear[0] if clear else None,
        "few": few[0] if few else None,
        "one": one,
        "other": other,
    }


def _facts(release: Release) -> dict[str, str]:
    """Return what experts want to know of a release, in words."""
    card, key = release.card(), key_of(release)
    named = title_of(release) if key is None else f"{METHODS[key].title}. {METHODS[key].about}"
    total = sum(float(spend.epsilon) for spend in release.spends) or 1.0
    parts = [
        f"{spend.what} ({float(spend.epsilon) / total:.0%})" if spend.epsilon else spend.what
        for spend in release.spends
    ]
    return {
        "Method": named,
        "Privacy": card["Privacy"],
        "Epsilon was spent on": "; ".join(parts),
        "Region": card["Region"],
    }


def _counts(release: Release) -> Counts:
    """Return the counts from which a page answers boxes, rounded if there are others in them."""
    counts = Counts.of(release.model)
    return counts or Counts.rounded(release.model, _MOST_CELLS, 1 / (4 * release.record_epsilon))


def _drawn(made: Release | StratifiedRelease, districts: LocalDistricts | None) -> dict[str, str]:
    """Return the data and the scripts of the map; empty texts if boxes cannot be answered."""
    release = made.total()
    parts = list(made.values()) if isinstance(made, StratifiedRelease) else []
    if any(isinstance(one.model, PolygonModel) for one in (release, *parts)):
        return {"data": "", "js": "", "css": script(b"", "city", "public")["css"]}
    region, arrays = release.region, {}
    told = []
    for k, one in enumerate([release, *parts]):
        described, more = _counts(one).described(f"counts{k}", region.side_m)
        told.append(described)
        arrays |= more
    surface = Surface.drawn(release)
    i, j = np.unravel_index(int(surface.counts.argmax()), surface.counts.shape)
    side = min(500.0, region.side_m)
    corner = (np.array([i, j]) + 0.5) * surface.grid.cell_m - side / 2
    x, y = np.clip(np.rint(corner), 0, region.side_m - side).tolist()
    shapes = _outlines(districts)
    header = {
        "side": region.side_m,
        "layer": told[0],
        "strata": told[1:],
        "top": ColourScale.shared([surface]).top,
        "smooth": _SMOOTH_M,
        "least": _least(release),
        "box": [x, y, side, side],
        "outlines": shapes,
        **ground(region),
    }
    return script(packed(header, arrays), "counts", "city", "frames", "public")


def _outlines(districts: LocalDistricts | None) -> list[list[list[int]]]:
    """Return the rings of each district, simplified to 5 metres."""
    return [] if districts is None else list(map(rings, shapely.simplify(districts.shapes, 5)))
