"""The files that the explorer exports: releases, counts of boxes, reports and Python code."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anywidget
import pandas as pd
import traitlets

from snhkit.dataset import PrivateDataset
from snhkit.districts.boxes import estimates_text
from snhkit.districts.districts import LocalDistricts
from snhkit.errors import InputError, SnhkitError
from snhkit.experiment.code import code, from_files, from_synthetic_city
from snhkit.geometry import RangeQueries
from snhkit.release import Release
from snhkit.release.estimates import estimates
from snhkit.release.strata import StratifiedRelease
from snhkit.viz.reports.answers_report import answers_html
from snhkit.viz.reports.public_page import Imprint, public_html
from snhkit.widgets.session import UNTITLED, Session

_HERE = Path(__file__).parent


@dataclass(frozen=True, eq=False, repr=False)
class OnScreen:
    """What the explorer shows and may export, which includes no true counts."""

    title: str
    about: str
    dataset: PrivateDataset
    releases: Mapping[str, Release]
    degrees: Sequence[Sequence[float]]
    source: str  # code that defines ``records`` and ``public``; it may name files
    published_source: str  # the same with placeholders instead of the owner's files
    districts: LocalDistricts | None = None

    @classmethod
    def of(
        cls,
        session: Session,
        place: tuple[str, int],
        drawn: Sequence[Sequence[float]],
        view: Sequence[str] = (),
    ) -> "OnScreen":
        """Return what may be exported of a session and of the boxes drawn on its map.

        ``view`` names the releases that come first. Boxes may lie beyond 180 degrees, since the map
        may have been scrolled around the world.
        """
        data, region = session.dataset, session.region
        if session.invented:
            published = from_synthetic_city(*place)
        else:
            divided = any(one.by for one in session.built.values())
            needed = {"user": data.unit.kind != "record", "time": divided}
            people = [(role, role) for role, wanted in needed.items() if wanted]
            public = None if session.public is None else "public.csv"
            published = from_files(region, "records.csv", people, public)
        source = session.source or published
        turns = [360 * round((region.lon - west) / 360) for _, west, _, _ in drawn]
        degrees = [
            (south, round(west + turn, 9), north, round(east + turn, 9)) if turn else box
            for box, turn in zip(drawn, turns, strict=True)
            for south, west, north, east in [box]
        ]
        built = session.releases
        first = {name: built[name] for name in view if name in built}
        return cls(
            session.title, session.about, data, first | built, degrees, source, published,
            session.districts,
        )  # fmt: skip

    @property
    def boxes(self) -> RangeQueries | None:
        """The boxes, in metres from the region's lower-left corner; None if there are none."""
        if not self.degrees:
            return None
        south, west, north, east = zip(*self.degrees, strict=True)
        return RangeQueries.from_degrees(self.dataset.region, south, west, north, east)

    @property
    def code(self) -> str:
        """Python code that builds the releases again and counts the boxes, for the owner."""
        return code(self.source, self.dataset, self.releases, self.degrees)

    @property
    def published_code(self) -> str:
        """The same code, without paths of the owner's machine."""
        releases, ledger = self.releases, "records.ledger"
        return code(self.published_source, self.dataset, releases, self.degrees, ledger=ledger)

    @property
    def publishable(self) -> dict[str, Release]:
        """The releases that may be published, by name: those whose card has no warning."""
        return {name: r for name, r in self.releases.items() if "Warning" not in r.card()}

    def file(
        self, kind: str, release: str = "", imprint: Imprint | None = None
    ) -> tuple[str, str, bytes]:
        """Return the name, the MIME type and the content of a file to export.

        ``kind`` is "release", "page", "geojson", "csv", "report" or "code". InputError says what is
        missing, or that a release must not be published.
        """
        stem = _slug(self.title)
        if kind == "code":
            return f"{stem}.py", "text/x-python", self.code.encode()
        if not self.releases:
            raise InputError("There is no release yet: build a method first.")
        if kind in ("release", "page"):
            if release not in self.publishable:
                raise InputError(
                    f"{release!r} must not be published, or does not exist. Releases that may be "
                    f"published: {', '.join(self.publishable) or 'none'}."
                )
            made, name = self.publishable[release], f"{stem}-{_slug(release)}"
            if kind == "release":
                return f"{name}.snh", "application/octet-stream", made.to_bytes()
            if imprint is None:
                raise InputError("A page needs a title: write what was counted, where and when.")
            page = public_html(StratifiedRelease.within(made) or made, self.districts, imprint)
            return f"{name}.html", "text/html", page.encode()
        if kind == "report":
            ledger = self.dataset.ledger
            texts = {"title": self.title, "about": self.about, "code": self.published_code}
            page = answers_html(self.releases, self.boxes, ledger, **texts)
            return f"{stem}.html", "text/html", page.encode()
        if not self.degrees:
            raise InputError("There is no box yet: draw one on the map.")
        mime = {"csv": "text/csv", "geojson": "application/geo+json"}[kind]
        boxes = pd.DataFrame(self.degrees, columns=["south", "west", "north", "east"])
        boxes.insert(0, "box", range(1, len(boxes) + 1))
        text = estimates_text(estimates(self.releases, boxes), f".{kind}")
        return f"{stem}-boxes.{kind}", mime, text.encode()


class ExportPanel(anywidget.AnyWidget):
    """A row of buttons, each of which makes a file that the browser saves."""

    _esm = _HERE / "export_panel.js"
    _css = _HERE / "export_panel.css"
    releases = traitlets.List(traitlets.Unicode()).tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)

    def __init__(self, on_screen: Callable[[], OnScreen]) -> None:
        super().__init__()
        self._on_screen = on_screen
        self.on_msg(self._answer)
        self.refresh()

    def refresh(self) -> None:
        """Update the releases that may be published, and the title that is offered for a page."""
        seen = self._on_screen()
        self.releases = list(seen.publishable)
        self.title = "" if seen.title == UNTITLED else seen.title

    def _answer(self, _: Any, asked: Any, __: Any) -> None:
        try:
            facts = asked.get("imprint")
            imprint = None if facts is None else Imprint.typed(facts)
            name, mime, data = self._on_screen().file(
                asked["kind"], asked.get("release", ""), imprint
            )
        except SnhkitError as refusal:
            self.send({"kind": "refusal", "text": str(refusal)})
            return
        except Exception as failure:
            self.send(
                {
                    "kind": "refusal",
                    "text": f"The file could not be made: {type(failure).__name__}. The log of the "
                    "notebook shows the error.",
                }
            )
            raise
        self.send({"kind": asked["kind"], "name": name, "mime": mime}, buffers=[data])


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "snhkit"
