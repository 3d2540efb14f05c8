"""The form that opens a file of private records in a declared region, a square on the map."""

import asyncio
import html
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

import folium
import ipywidgets as w

from snhkit.defaults import DEFAULT_EPSILON
from snhkit.errors import InputError, SnhkitError
from snhkit.geometry.region import MAX_SIDE_M, Region
from snhkit.markup import html_table
from snhkit.metrics import SIZE_BANDS_M, band_name
from snhkit.planning.recommend import prospects, recommend
from snhkit.privacy import PrivacyUnit
from snhkit.questions import OTHERS, QUESTIONS
from snhkit.widgets.draw_map import DrawMap
from snhkit.widgets.own_file import OwnFile, declared, whole_number
from snhkit.widgets.session import Session
from snhkit.widgets.teaching import preview
from snhkit.widgets.wording import message

_FIELDS = {
    "path": ("File", "trips.csv", "Path of a file of private records on this machine"),
    "lat": ("Latitude", "column, if not found", "Column of latitudes, such as start_lat"),
    "lon": ("Longitude", "column, if not found", "Column of longitudes, such as start_lng"),
    "title": ("Title", "of what you publish", "Title of pages and files; never the file's name"),
    "center": (
        "Centre",
        "lat, lon in degrees",
        "Latitude and longitude of the square's centre, or a file with a city's public border",
    ),
    "side_km": ("Side, km", "such as 13.2", "Side of the square in kilometres"),
    "user": ("People", "column of ids", "Column that tells whose record it is, such as rider_id"),
    "most": ("At most", "records of each person", "Records kept of each person, chosen at random"),
    "bound_epsilon": (
        "Or buy, ε",
        "optional",
        "Epsilon that buys a smaller number, which keeps all records of 95 % of people",
    ),
    "time": (
        "Times",
        "optional column",
        "Column of times: maps by hour or weekday are then offered",
    ),
    "tz": (
        "Zone",
        "such as Europe/Brussels",
        "Time zone of hours and days, and of times without one",
    ),
    "kind": ("Hides", "user, or user-day", "All records of a person, or those of each day or week"),
    "about": (
        "Roughly",
        "records, as is publicly known",
        "For expected errors; nothing is counted",
    ),
    "budget": ("Budget ε", "for a new ledger", "The total epsilon that may ever be spent"),
    "ledger": ("Ledger", "optional file", "By default, beside the file; its name and .ledger"),
    "districts": ("Districts", "optional file", "Polygons to count, such as wards.geojson"),
    "label": ("Label", "optional column", "Column with the names of the districts"),
    "public": ("Public", "optional file", "Public points that show where queries are expected"),
}
_STEPS = {
    "file": ("path", "lat", "lon", "time", "tz", "title"),
    "place": ("center", "side_km", "drawing"),
    "people": ("units", "user", "kind", "alone", "why", "most", "bound_epsilon"),
    "price": ("others", "about", "errors", "preview", "budget", "ledger"),
    "publish": ("districts", "label", "proposal", "public"),
}
_DRAWING = """<p class="snhkit-soft">Or click the map until it is close enough, then click the
square's centre, or draw it; drag it, or its corners.</p>"""
_PERSON = '<circle cx="12" cy="8" r="4"/><path d="M5 26v-8q0-4 7-4t7 4v8z"/>'
_DOTS = "".join(f'<circle cx="{x}" cy="{y}" r="3"/>' for x in (30, 41) for y in (8, 20))
_PICTURES = (
    ("One record", "Nobody appears twice: leave People empty.", '<circle cx="24" cy="15" r="4"/>'),
    ("One person", "With all records: name the column of people.", _PERSON + _DOTS),
    (
        "One person in a day or week",
        "Name columns of people and times; Hides: user-day or user-week.",
        f'{_PERSON}{_DOTS}<path d="M25 2h10v24H25zM36 2h10v24H36z" fill="none" stroke="#d55e00"/>',
    ),
    (
        "One household",
        "As one person, with a column of households.",
        f'<path d="M2 14L24 1L46 14V28H2z" fill="none" stroke="currentColor"/>'
        f'<g transform="translate(4 8) scale(.7)">{_PERSON}</g>'
        f'<g transform="translate(24 8) scale(.7)">{_PERSON}</g>',
    ),
)
_UNITS = "<p>What is hidden?</p><ul class='snhkit-units'>{}</ul>".format(
    "".join(
        f'<li><svg viewBox="0 0 48 30" aria-hidden="true" fill="currentColor">{drawn}</svg>'
        f"<span><b>{name}</b> {said}</span></li>"
        for name, said, drawn in _PICTURES
    )
)
_OTHERS = (
    '<p class="snhkit-soft">{}<a href="{}" target="_blank" rel="noreferrer">{}</a></p>'.format(
        OTHERS[0], OTHERS[1], OTHERS[1].partition("//")[2]
    )
)
_LEFT_OUT = "The file is open. Rows outside the square or without a usable position were left out."


def _explained(title: str, text: str) -> str:
    return f'<h3>{title}</h3><p class="snhkit-soft">{text}</p>'


class OpenPanel(w.VBox):
    """Questions on a file of private records, one after another, and an Open button at their end.

    The region is a public square, never computed from the file: a person draws it on a map of the
    earth, which ``earth`` makes, or types its centre and side.
    """

    def __init__(
        self,
        earth: Callable[[], folium.Map],
        opened: Callable[[OwnFile, Session], object],
    ) -> None:
        self._earth, self._opened = earth, opened
        # It is sent to the browser only if a person comes to its question.
        self.map: DrawMap | None = None
        self._following = False
        self.fields = {
            name: w.Text(
                description=label,
                placeholder=hint,
                tooltip=tip,
                style={"description_width": "70px"},
                layout={"width": "auto"},
            )
            for name, (label, hint, tip) in _FIELDS.items()
        }
        self.alone = w.Checkbox(
            description="Each record is of another person",
            tooltip="Nobody appears twice, so that one record is all there is of a person",
            indent=False,
            layout={"width": "auto"},
        )
        self.button = w.Button(
            description="Open", tooltip="Read the file and open its ledger", button_style="primary"
        )
        self.back = w.Button(description="Back", tooltip="The question before")
        self.next = w.Button(description="Next", tooltip="The next question")
        self.message, self.errors, self.preview, self.command = (w.HTML() for _ in range(4))
        self.proposal = w.HTML()
        self.invent = w.Button(
            description="Preview", tooltip="Show invented records and their releases", disabled=True
        )
        parts: dict[str, w.Widget] = {
            **self.fields,
            "drawing": w.HTML(_DRAWING),
            "units": w.HTML(_UNITS),
            "alone": self.alone,
            "why": w.HTML(_explained(*QUESTIONS["most"])),
            "others": w.HTML(_OTHERS),
            "errors": self.errors,
            "proposal": self.proposal,
            "preview": w.VBox([self.invent, self.preview]),
        }
        self.steps = [
            w.VBox(
                [
                    w.HTML(_explained(*QUESTIONS[asked])),
                    *(parts[name] for name in names),
                ]
            )
            for asked, names in _STEPS.items()
        ]
        buttons = w.HBox([self.back, self.next, self.button])
        super().__init__([*self.steps, buttons, self.message, self.command])
        self.add_class("snhkit-open")
        for name in ("center", "side_km"):
            self.fields[name].observe(self._follow, "value")
        for name in ("about", "most"):
            self.fields[name].observe(self._expect, "value")
        for field in (*self.fields.values(), self.alone):
            field.observe(self._silence, "value")
        self.button.on_click(self._clicked)
        self.back.on_click(lambda _: self._turn(self._step - 1))
        self.next.on_click(self._go_on)
        self.invent.on_click(lambda _: self._aside(self._imagine()))
        self._turn(0)

    def _turn(self, step: int) -> None:
        self._step, last = step, len(self.steps) - 1
        for k, one in enumerate(self.steps):
            one.layout.display = "" if k == step else "none"
        for button, wanted in ((self.back, step), (self.next, step < last)):
            button.layout.display = "" if wanted else "none"
        self.button.layout.display = "" if step == last else "none"
        self._tell_command()
        if step == 1 and self.map is None:
            self.map = DrawMap(self._earth(), square=True, height=300)
            self.map.observe(self._follow, "boxes")
            self.steps[step].children = [*self.steps[step].children, self.map]
            self._follow({"owner": None})

    def _go_on(self, _: object) -> None:
        """Show the next question, if the answers so far can be used."""
        texts = self._texts()
        try:
            if self._step == 0:
                found = OwnFile.people_of(texts)
                if found is not None and not texts["user"]:
                    self.fields["user"].value = found
            elif self._step == 1:
                declared(texts["center"], texts["side_km"])
            elif self._step == 2:
                OwnFile.people(texts, alone=bool(self.alone.value))
        except SnhkitError as refusal:
            self._refuse(refusal)
        else:
            self._turn(self._step + 1)

    def _expect(self, _: object) -> None:
        """Show the expected errors for some values of epsilon, once a rough number is there."""
        texts = self._texts()
        try:
            n = whole_number("Roughly", texts["about"])
            most = whole_number("Records of each", texts["most"])
        except InputError:  # the text is not complete yet
            n = most = None
        self.errors.value = self.proposal.value = ""
        self.invent.disabled = not n
        if not n:
            return
        terms: dict[str, Any] = {"unit": "user", "max_per_user": most} if most else {}
        self.errors.value = str(
            html_table(
                ["ε", *map(band_name, SIZE_BANDS_M)],
                [[epsilon, *errors] for epsilon, errors in prospects(n, **terms)],
                caption="Expected errors of squares, estimated from public data",
            )
        )
        with suppress(InputError):  # too large a number
            told = html.escape(recommend(n, DEFAULT_EPSILON, **terms).reason)
            said = f"Proposed for boxes at ε = {DEFAULT_EPSILON:g}: {told}"
            self.proposal.value = f'<p class="snhkit-soft">{said}</p>'

    def _texts(self) -> dict[str, str]:
        return {name: field.value for name, field in self.fields.items()}

    def _tell_command(self) -> None:
        """Show the command that does what was answered so far, once file and square are known."""
        try:
            file = OwnFile.typed(self._texts(), alone=bool(self.alone.value))
        except SnhkitError:
            self.command.value = ""
        else:
            self._tell(file)

    def _tell(self, file: OwnFile) -> None:
        alone = " --unit record" if self.alone.value and not file.max_per_user else ""
        command = html.escape(file.command + alone)
        self.command.value = f"<p>The same on the command line:</p><pre>{command}</pre>"

    async def _imagine(self) -> None:
        """Show releases of invented records: as many, in the same square, with the same unit."""
        try:
            texts = self._texts()
            square = Region.around(*declared(texts["center"], texts["side_km"]))
            _, most = OwnFile.people(texts, alone=bool(self.alone.value))
            unit = PrivacyUnit("user" if most else "record", most)
            n = whole_number("Roughly", texts["about"]) or 1
            self.preview.value = message("Inventing records …")
            self.preview.value = await asyncio.to_thread(preview, square, n, unit)
        except SnhkitError as refusal:
            self.preview.value = ""
            self._refuse(refusal)

    def _silence(self, _: object) -> None:
        self.message.value = ""

    def _follow(self, change: dict[str, Any]) -> None:
        """Draw a square that was typed, or write one that was drawn into the fields."""
        if self._following or self.map is None:
            return
        self._following = True
        try:
            self._drawn(self.map) if change["owner"] is self.map else self._typed(self.map)
        finally:
            self._following = False

    def _typed(self, on: DrawMap) -> None:
        try:
            lat, lon, side_m = declared(self.fields["center"].value, self.fields["side_km"].value)
        except InputError:  # the text is not complete yet
            on.boxes = []
            return
        on.boxes = [list(Region.around(lat, lon, side_m).bounds)]
        on.view = list(Region.around(lat, lon, min(2 * side_m, MAX_SIDE_M)).bounds)

    def _drawn(self, on: DrawMap) -> None:
        said, texts = "", ("", "")
        try:
            for south, west, north, east in on.boxes:
                square = Region.from_bounds(west, south, east, north)
                texts = f"{square.lat:.4f}, {square.lon:.4f}", f"{square.side_m / 1000:.2f}"
        except InputError as refusal:
            said = message(str(refusal), error=True)
        self.fields["center"].value, self.fields["side_km"].value = texts
        self.message.value = said

    def _clicked(self, _: object) -> None:
        try:
            file = OwnFile.typed(self._texts(), alone=bool(self.alone.value))
        except SnhkitError as refusal:
            self._refuse(refusal)
            return
        self.message.value = message(f"Reading {file.name} …")
        self.button.disabled = True
        self._aside(self._read(file))

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(work)
        else:
            self._task = loop.create_task(work)

    async def _read(self, file: OwnFile) -> None:
        try:
            session = await asyncio.to_thread(file.session, report=lambda _: None)
        except SnhkitError as refusal:
            self._refuse(refusal)
        else:
            most = session.dataset.unit.max_per_user
            file = replace(file, max_per_user=most, bound_epsilon=None)  # it is bought once
            self._turn(len(self.steps))  # no question is left
            self.message.value = message(f"{_LEFT_OUT} {session.dataset.unit.counting}".strip())
            self._tell(file)
            self._opened(file, session)
        finally:
            self.button.disabled = False

    def _refuse(self, refusal: SnhkitError) -> None:
        said = str(refusal)
        for name in ("lat", "lon"):
            said = said.replace(f"{name}=...", _FIELDS[name][0])
        self.message.value = message(said, error=True)
