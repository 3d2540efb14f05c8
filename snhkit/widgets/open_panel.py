"""The form that opens a file of private records in a declared region, a square on the map."""

import asyncio
from collections.abc import Callable, Sequence

import ipywidgets as w

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import Region
from snhkit.widgets.own_file import OwnFile, declared
from snhkit.widgets.session import Session
from snhkit.widgets.wording import message

__all__ = ["OpenPanel"]

_FIELDS = {
    "path": ("File", "trips.csv", "Path of a file of private records on this machine"),
    "center": ("Centre", "lat, lon in degrees", "Latitude and longitude of the square's centre"),
    "side_km": ("Side, km", "such as 13.2", "Side of the square in kilometres"),
    "user": ("People", "column of ids", "Column that tells whose record it is, such as rider_id"),
    "most": ("Records ≤", "of each person", "Records kept of each person, chosen at random"),
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
    "budget": ("Budget ε", "for a new ledger", "The total epsilon that may ever be spent"),
    "public": ("Public", "optional file", "Public points that show where queries are expected"),
    "districts": ("Districts", "optional file", "Polygons to count, such as wards.geojson"),
    "label": ("Label", "optional column", "Column with the names of the districts"),
    "title": ("Title", "of what you publish", "Title of pages and files; never the file's name"),
}

_LEFT_OUT = "The file is open. Rows outside the square or without a usable position were left out."


class OpenPanel(w.VBox):
    """Text fields for a file of private records and its declared region, and an Open button.

    The region is a public square, never computed from the file: a person types its centre and side,
    and the map outlines it.
    """

    def __init__(
        self,
        outline: Callable[[Sequence[float]], object],
        opened: Callable[[OwnFile, Session], object],
    ) -> None:
        self._outline, self._opened = outline, opened
        self.fields = {
            name: w.Text(
                description=label,
                placeholder=hint,
                tooltip=tip,
                style={"description_width": "64px"},
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
        self.button = w.Button(description="Open", tooltip="Read the file and open its ledger")
        self.message = w.HTML()
        super().__init__(
            [
                w.HTML(
                    '<p class="snhkit-soft">The square is public: choose it on a map, not from the '
                    "records. A ledger beside the file stores the epsilon that is spent.</p>"
                ),
                *self.fields.values(),
                self.alone,
                self.button,
                self.message,
            ]
        )
        self.add_class("snhkit-open")
        for name in ("center", "side_km"):
            self.fields[name].observe(self._draw, "value")
        for field in (*self.fields.values(), self.alone):
            field.observe(self._silence, "value")
        self.button.on_click(self._clicked)

    def _silence(self, _: object) -> None:
        self.message.value = ""

    def _draw(self, _: object) -> None:
        try:
            lat, lon, side_m = declared(self.fields["center"].value, self.fields["side_km"].value)
        except InputError:  # the text is not complete yet
            self._outline([])
        else:
            self._outline(Region.around(lat=lat, lon=lon, side_m=side_m).bounds)

    def _clicked(self, _: object) -> None:
        try:
            texts = {name: field.value for name, field in self.fields.items()}
            file = OwnFile.typed(texts, alone=bool(self.alone.value))
        except SnhkitError as refusal:
            self._refuse(refusal)
            return
        self.message.value = message(f"Reading {file.name} …")
        self.button.disabled = True
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(self._read(file))
        else:
            self._task = loop.create_task(self._read(file))

    async def _read(self, file: OwnFile) -> None:
        try:
            session = await asyncio.to_thread(file.session, report=lambda _: None)
        except SnhkitError as refusal:
            self._refuse(refusal)
        else:
            self._outline([])
            self.message.value = message(f"{_LEFT_OUT} {session.dataset.unit.counting}".strip())
            self._opened(file, session)
        finally:
            self.button.disabled = False

    def _refuse(self, refusal: SnhkitError) -> None:
        self.message.value = message(str(refusal), error=True)
