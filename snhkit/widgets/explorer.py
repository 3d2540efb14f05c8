"""The explorer: a widget that builds private releases and shows their counts on a map."""

import asyncio
import html
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import folium
import ipywidgets as w
import numpy as np

from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import RangeQueries, Region
from snhkit.release import Release
from snhkit.widgets import samples
from snhkit.widgets.box_entry import BoxEntry
from snhkit.widgets.build_desk import BuildDesk
from snhkit.widgets.controls import Controls
from snhkit.widgets.draw_map import DrawMap
from snhkit.widgets.export_panel import ExportPanel, OnScreen
from snhkit.widgets.layers import Layers
from snhkit.widgets.layout import BANNER, SHIPPED, Body, Drawers, StoryPanel
from snhkit.widgets.open_panel import OpenPanel
from snhkit.widgets.own_file import OwnFile
from snhkit.widgets.plots import Plots
from snhkit.widgets.session import Built, Session
from snhkit.widgets.strata import StrataSlider
from snhkit.widgets.tables import answers_table, cards, districts_table, ledger_panel
from snhkit.widgets.verdict import best_first, built_line, verdict
from snhkit.widgets.wording import message

__all__ = ["Explorer"]

_CSS = (Path(__file__).parent / "explorer.css").read_text(encoding="utf-8")
_REST_S = 0.1  # from a change of the boxes to all but their cards, longer than a step of a drag
_FIRST_BOXES, _MORE_BOXES = 12, 100  # squares drawn after the first build, and by ``sample``

_Answers = TypeVar("_Answers")


class Explorer(w.VBox):
    """The widget that ``explore`` returns, for notebooks and for use from code.

    ``map.boxes`` is the list of the boxes on the map, in degrees. ``session_of`` returns the
    session of a city and a number of records; with ``tells``, the story of epsilon is shown first.
    """

    _framed = True  # the story is in a frame of this widget

    def __init__(
        self,
        controls: Controls,
        session_of: Callable[[str, int], Session],
        map_of: Callable[[Region | None], folium.Map],
        height: int | None,
        *,
        opens_files: bool = False,
        tells: bool = False,
    ) -> None:
        self._lock = threading.RLock()  # messages of the front end may arrive while a cell runs
        self._controls, self._session_of, self._map_of = controls, session_of, map_of
        self._session = session_of(*controls.place)
        self._sessions = {controls.place: self._session}
        self._showing, self._later = False, None
        self.map = DrawMap(map_of(self._session.region), height=0)
        self.map.add_class("snhkit-map")
        self._desk = BuildDesk(controls, lambda: self._session, self._keep, self._show_all)
        # A visitor's browser can send messages to hidden widgets, so forbidden ones do not exist.
        self._opener = OpenPanel(lambda: map_of(None), self.show_file) if opens_files else None
        self._layers = Layers(self._show_layers)
        self._strata = StrataSlider(self._show_layers)
        self._export = ExportPanel(
            lambda: OnScreen.of(
                self._session,
                controls.place,
                self.map.boxes,
                best_first(self._session, controls.sizes_m),
            )
        )
        self._entry = BoxEntry(self.map, lambda: self._session.region, self.sample)
        parts = ("title", "banner", "built", "verdict", "table", "districts", "ledger")
        self._said = {name: w.HTML() for name in parts}
        self._plots, self._found = Plots(), {}
        self.every = w.Checkbox(
            description="All releases",
            tooltip="Show the counts of all releases, not only of the one on the map",
            indent=False,
            layout={"width": "auto"},
        )
        self._drawers = Drawers(
            {
                "Figures": self._plots,
                "Save and publish": self._export,
                "Budget": self._said["ledger"],
            }
        )
        opener = [] if self._opener is None else [
            Drawers({"Open a file of your own": self._opener})
        ]  # fmt: skip
        self._body = Body(
            self._said,
            side=[*opener, controls],
            desk=self._desk,
            stage=[self._layers, self.map, self._strata, self._entry],
            every=self.every,
            drawers=self._drawers,
        )
        style = w.HTML(f"<style>{_CSS}</style>", layout={"display": "none"})
        tells = tells and controls.city.value == SHIPPED
        self._story = StoryPanel(self.play, framed=self._framed) if tells else None
        if self._story is not None:
            self._body.layout.display = "none"
        super().__init__([style, *([self._story] if self._story else []), self._body])
        self.add_class("snhkit-explorer")
        if height is None:
            self.add_class("snhkit-whole")
        else:
            self.layout.height = f"{height}px"
        self._listen()
        self._show_all()

    def _listen(self) -> None:
        controls = self._controls
        self.map.observe(self._boxes_changed, "boxes")
        self._plots.top.observe(self._draw, "value")
        self._plots.choice.observe(self._draw, "value")
        self._drawers.buttons["Figures"].observe(self._draw, "value")
        self.every.observe(self._show_tables, "value")
        controls.teaching.observe(self._show_all, "value")
        for choice in (controls.city, controls.n):
            choice.observe(self._another_city, "value")
        for choice in (controls.unit, controls.most):
            choice.observe(self._another_unit, "value")
        for price in (controls.epsilon, *controls.ticks.values()):
            price.observe(self._show_controls, "value")
        for side in (controls.low, controls.high):
            side.observe(self._another_size, "value")

    @property
    def dataset(self) -> PrivateDataset:
        """The records with their ledger."""
        return self._session.dataset

    @property
    def releases(self) -> dict[str, Release]:
        """All releases by name, such as "UG, ε = 0.2"."""
        return self._session.releases

    @property
    def boxes(self) -> RangeQueries | None:
        """The boxes on the map, in metres from the region's lower-left corner; None if none."""
        return samples.in_metres(self._session.region, self.map.boxes)

    @property
    def building(self) -> bool:
        """True while a build is running."""
        return self._desk.running

    def __repr__(self) -> str:
        return f"Explorer({self._session.title}): to show it, end a notebook cell with it."

    def build(self, *methods: str, again: bool = False) -> None:
        """Build a release by each method, at the chosen epsilon, and return when all are built.

        Parameters
        ----------
        *methods : str
            Short names of the methods to build; by default, the ticked methods.
        again : bool
            Whether to build existing releases once more, which spends their epsilon once more.

        Raises
        ------
        InputError
            If no method is ticked, the smallest box size exceeds the largest, a release exists
            already and ``again`` is False, or another build is running. Nothing is spent.
        BudgetExceeded
            If the methods together would cost more than the budget has left. Nothing is spent.
        Cancelled
            If a person pressed Cancel. Epsilon that was spent stays spent.
        """
        self._desk.run(methods, again=again)

    def play(self) -> None:
        """Show the controls, the map and the ledger instead of the story of epsilon."""
        if self._story is not None:
            self._story.close()
            self.children = [child for child in self.children if child is not self._story]
            self._story = None
            self._body.layout.display = None

    def cancel(self) -> None:
        """Cancel the running build; epsilon that was spent stays spent."""
        self._desk.stop()

    def show_file(self, file: OwnFile, session: Session) -> None:
        """Show the session of a file, and offer the file in the menu of cities."""
        key = f"file:{file.path}"
        for n in [size for _, size in self._controls.n.options]:
            self._sessions[key, n] = session
        self.play()
        self._controls.offer_file(file.name, key)
        self._another_city(None)

    def sample(self, count: int = _MORE_BOXES) -> None:
        """Replace all boxes by random squares around public points or cells of a release.

        Parameters
        ----------
        count : int
            Number of squares.

        Raises
        ------
        InputError
            If there is neither public point nor release, or the sizes do not ascend or fit.
        """
        self.map.boxes = samples.squares(self._session, count, self._controls.sizes_m)

    def _remember(self) -> None:
        """Do nothing; the subclass ``App`` saves its state here."""

    def _keep(self, session: Session, built: Built) -> None:
        with self._lock:
            self.play()
            first = not session.built
            session.keep(built)
            if first and session is self._session and not self.map.boxes:
                self._look_closer()
            self._show_all()

    def _look_closer(self) -> None:
        """Zoom to where the newest release counts most records, and place a few squares there."""
        try:
            window = samples.window(self._session)
            self.map.boxes = samples.squares(
                self._session, _FIRST_BOXES, self._controls.sizes_m, window
            )
        except InputError:  # the chosen sizes are not possible in this region
            return
        self.map.view = list(samples.in_degrees(window)[0])

    def _another_city(self, _: object) -> None:
        self.play()
        place = self._controls.place
        self._desk.tell("Making the synthetic city …")
        if place not in self._sessions:
            self._sessions[place] = self._session_of(*place)
        before, self._session = self._session.region, self._sessions[place]
        if self._session.region != before:
            self.map.show(self._map_of(self._session.region))
        self._desk.tell("")
        if self._session.built and not self.map.boxes:
            self._look_closer()
        self._show_all()

    def _another_unit(self, _: object) -> None:
        if self._showing:
            return
        try:
            self._session = self._session.under(self._controls.unit_chosen)
            self._sessions[self._controls.place] = self._session
        except SnhkitError as refusal:
            self._desk.tell(str(refusal), error=True)
        self._show_controls()

    def _another_size(self, _: object) -> None:
        self._show_controls(_)
        self._show_verdict()
        self._show_tables()
        self._draw()

    @property
    def _teaching(self) -> bool:
        return bool(self._controls.teaching.value) and self._session.invented

    def _show_all(self, _: object = None) -> None:
        with self._lock:
            session = self._session
            title = html.escape(session.title)
            about = html.escape(f"{session.about} {session.whereabouts}".strip())
            self._said[
                "title"
            ].value = f'<h1>{title}</h1><p class="snhkit-soft" title="{about}">{about}</p>'
            self._remember()  # before a person sees the rest and leaves the page
            self._said["banner"].value = BANNER if self._teaching else ""
            if not self._teaching:  # the truth goes at once, before anything is computed
                self._said["verdict"].value = ""
            self._layers.offer(session, truth=self._teaching)
            divided = any(one.by for one in session.built.values())
            self._plots.offer(truth=self._teaching, strata=divided)
            self._show_answers()
            self._draw()
            self._show_layers()
            self._said["ledger"].value = ledger_panel(self.dataset.ledger)
            self._show_controls()
            self._show_verdict()

    def _show_controls(self, change: object = None) -> None:
        with self._lock:
            self._showing = True
            try:
                self._controls.show(self._session, busy=self.building)
                if change is None:
                    self._desk.show()
                else:
                    self._desk.forget()
            finally:
                self._showing = False

    def _show_layers(self) -> None:
        with self._lock:
            self._strata.offer(self._layers.by(self._session))
            layers = self._layers.shown(self._session, self._strata.chosen)
            self.map.layers = layers
            self._body.set_panes(len(layers))
            self._show_tables()

    def _show_tables(self, _: object = None) -> None:
        """Show the counts of boxes and districts, by the release on the map or by all."""
        with self._lock:
            boxes, districts, session = self.boxes, self._session.districts, self._session
            unit, truth = self.dataset.unit, None
            if self._teaching:
                truth = np.zeros(0, int) if boxes is None else session.truth(boxes)
            self.every.layout.display = "" if len(session.built) > 1 else "none"
            self._said["table"].value = answers_table(
                boxes,
                {name: one.frame() for name, one in self._of_the_map(self._found).items()},
                unit=unit,
                truth=truth,
                sizes_m=self._controls.sizes_m,
            )
            self._said["districts"].layout.display = None if districts else "none"
            if districts is not None:
                truth = session.true_districts if self._teaching else None
                told = self._of_the_map(session.district_answers)
                self._said["districts"].value = districts_table(
                    districts.titles, told, unit=unit, truth=truth
                )

    def _of_the_map(self, found: Mapping[str, _Answers]) -> Mapping[str, _Answers]:
        """Return the answers of the first release on the maps, or of all if a person wants them."""
        if self.every.value or not found:
            return found
        first = next((name for name in self._layers.names if name in found), list(found)[-1])
        return {first: found[first]}

    def _show_verdict(self) -> None:
        with self._lock:
            session, sizes_m = self._session, self._controls.sizes_m
            self._said["built"].value = built_line(session)
            self._said["verdict"].value = verdict(session, sizes_m, truth=self._teaching)
            self._export.refresh()

    def _boxes_changed(self, _: object) -> None:
        self.play()
        kept, refused = samples.inside(self._session.region, self.map.boxes)
        if refused:
            self._entry.refuse(refused)
            self.map.boxes = kept  # this assignment calls ``_boxes_changed`` again
            return
        self._show_answers()
        if self._later is not None:
            self._later.cancel()
        try:
            self._later = asyncio.get_running_loop().call_later(_REST_S, self._at_rest)
        except RuntimeError:
            self._at_rest()

    def _at_rest(self) -> None:
        """Show the table and the figure and save the state, once a box no longer moves."""
        self._show_tables()
        self._draw()
        self._remember()

    def _show_answers(self) -> None:
        with self._lock:
            boxes = self.boxes
            truth = None
            if self._teaching:
                truth = np.zeros(0, int) if boxes is None else self._session.truth(boxes)
            self._found = found = {} if boxes is None else self._session.estimates(boxes)
            days = {} if boxes is None else self._session.days(boxes, found, truth=self._teaching)
            told = {name: one.with_bounds() for name, one in found.items()}
            self.map.cards = cards(boxes, told, self.dataset.unit, truth, days)

    def _draw(self, _: object = None) -> None:
        if not self._drawers.buttons["Figures"].value:  # nobody sees them
            return
        with self._lock:
            try:
                self._plots.draw(
                    self._session, self.boxes, self._controls.sizes_m, truth=self._teaching
                )
            except InputError as error:
                self._plots.picture.value = message(str(error), error=True)
